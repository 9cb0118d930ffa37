//! The rules of a server's tools, fetched when first needed and kept for a time of their own.
//!
//! "Rules are not lists": most servers say `ttlMs` 0, and no call may wait for a list each time. One fetch serves all
//! who wait for it. Must never let one credential's private list speak for another.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::omission::Omission;
use super::schemas::Schemas;
use crate::agreement::Plan;
use crate::protocol::ToolRules;

/// After a failed fetch the rules count as not to be had for this long.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// Rules that cannot be refreshed serve for this many lifetimes.
const STALE_LIFETIMES: u32 = 10;
/// A client that provokes mismatches causes at most one fetch in this time.
const REFETCH_FLOOR: Duration = Duration::from_secs(1);
/// What servers say (-32020) causes at most one fetch in this time.
const REVALIDATE_FLOOR: Duration = Duration::from_secs(5);
/// Callers whose private rules are kept, by server, and for how long after they last called.
const PRIVATE_VARIANTS: u64 = 256;
const PRIVATE_IDLE: Duration = Duration::from_secs(600);

/// Identifies the credentials that a caller sends to a server: a keyed hash, never the credentials themselves.
pub type Caller = u128;

/// The rules of all tools of one server, as its lists said.
#[derive(Clone, Debug)]
pub struct RuleSet {
    pub tools: Tools,
    /// How long the list itself claimed to be fresh.
    pub list_ttl: Duration,
    pub is_public: bool,
    pub fetched: Instant,
    /// Digest of the capabilities of the client that the list was for.
    pub capabilities: u128,
}

/// The tools by name. Lists that say the same share one of these, however many callers have them.
pub type Tools = Arc<ByName>;

pub type ByName = HashMap<String, Rule>;

/// What is known of a tool of this name.
#[derive(Clone, Debug)]
pub enum Rule {
    Lawful(Arc<Tool>),
    /// It is in no list of ours, so it must not be called.
    LeftOut(Omission),
    /// Lists for different clients demand different headers.
    Contradicted,
}

/// What a tool demands of its calls.
#[derive(Debug)]
pub struct Tool {
    pub rules: ToolRules,
    pub plan: Arc<Plan>,
    /// Where arguments or results are validated.
    pub schemas: Option<Arc<Schemas>>,
}

/// One server's rules, in as many variants as its answers have scopes.
#[derive(Debug)]
pub struct Index {
    ttl: Duration,
    /// From lists that may be shown to all, whoever asked for them.
    shared: Variant,
    anonymous: Arc<Variant>,
    private: moka::sync::Cache<Caller, Arc<Variant>>,
    tools: Mutex<HashMap<u64, Weak<ByName>>>,
    hasher: RandomState,
}

/// A fetch of a server's rules, begun only when it is needed; `None` if it failed. Boxed: it is large and rare.
pub type Fetch<'f> = BoxFuture<'f, Option<RuleSet>>;

/// What may make a request's rules be fetched again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It disagrees with them: worth a fetch only if the list does not vouch for them any more.
    Disagrees,
    /// They do not know its tool.
    Unlisted,
}

/// The rules as one caller sees them.
#[derive(Debug, Default)]
struct Variant {
    /// Of all lists below, as one.
    set: ArcSwapOption<RuleSet>,
    /// One for each set of client capabilities.
    lists: Mutex<Vec<Arc<RuleSet>>>,
    flight: tokio::sync::Mutex<()>,
    times: Mutex<Times>,
}

#[derive(Debug, Default)]
struct Times {
    failed: Option<Instant>,
    refetched: Option<Instant>,
}

impl RuleSet {
    fn age(&self) -> Duration {
        self.fetched.elapsed()
    }
}

impl Index {
    pub fn new(ttl: Duration) -> Self {
        let private = moka::sync::Cache::builder().max_capacity(PRIVATE_VARIANTS).time_to_idle(PRIVATE_IDLE).build();
        Self {
            ttl,
            shared: Variant::default(),
            anonymous: Arc::default(),
            private,
            tools: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// The rules, if they can be had: those at hand while they are young enough, otherwise fetched, once for all who wait.
    /// Old ones are refreshed in the background by a fetch that `refresh` starts.
    pub async fn rules<'f>(
        &self,
        caller: Option<Caller>,
        fetch: impl FnOnce() -> Fetch<'f>,
        refresh: impl FnOnce(),
    ) -> Option<Arc<RuleSet>> {
        if let Some(set) = self.at_hand(caller) {
            return Some(set);
        }
        let variant = self.variant(caller);
        let old = variant.set.load_full().filter(|set| set.age() <= self.ttl * STALE_LIFETIMES);
        if old.is_some() {
            if !variant.failed_lately() {
                refresh();
            }
            return old;
        }
        self.settled(&variant, fetch, |set| set.age() <= self.ttl).await
    }

    /// The background's part of [`Index::rules`]: does nothing if a fetch is under way or was just done.
    pub async fn refresh(&self, caller: Option<Caller>, fetch: Fetch<'_>) {
        let variant = self.variant(caller);
        let Ok(_flight) = variant.flight.try_lock() else { return };
        if variant.set.load().as_ref().is_none_or(|set| set.age() > self.ttl) {
            self.settle(&variant, fetch.await);
        }
    }

    /// Rules younger than `seen`. `None`: they are as young as they need be, they were fetched again just now, or they
    /// cannot be had.
    pub async fn refetch<'f>(
        &self,
        caller: Option<Caller>,
        seen: &RuleSet,
        doubt: Doubt,
        fetch: impl FnOnce() -> Fetch<'f>,
    ) -> Option<Arc<RuleSet>> {
        if doubt == Doubt::Disagrees && seen.age() <= seen.list_ttl {
            return None;
        }
        let variant = self.variant(caller);
        let is_newer = |set: &RuleSet| set.fetched > seen.fetched;
        if let Some(set) = variant.set.load_full().filter(|set| is_newer(set)) {
            return Some(set);
        }
        if !variant.may_refetch(REFETCH_FLOOR) {
            return None;
        }
        self.settled(&variant, fetch, is_newer).await.filter(|set| is_newer(set))
    }

    /// A server says that our view of its tools is old: whether that should cause a fetch now. One floor for all callers,
    /// so that nobody can provoke more with many credentials.
    pub fn should_revalidate(&self) -> bool {
        self.shared.may_refetch(REVALIDATE_FLOOR)
    }

    /// Takes in what a list says that was fetched for its own sake.
    pub fn learn(&self, caller: Option<Caller>, set: RuleSet) {
        self.settle(&self.variant(caller), Some(set));
    }

    /// The one copy of the tools of a list that says this; `build` makes it if there is none.
    pub fn intern(&self, said: &impl Hash, build: impl FnOnce() -> ByName) -> Tools {
        let fingerprint = self.hasher.hash_one(said);
        let mut known = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, tools| tools.strong_count() > 0);
        if let Some(tools) = known.get(&fingerprint).and_then(Weak::upgrade) {
            return tools;
        }
        let tools = Arc::new(build());
        known.insert(fingerprint, Arc::downgrade(&tools));
        tools
    }

    /// Young rules: the caller's own before those that are shown to all.
    fn at_hand(&self, caller: Option<Caller>) -> Option<Arc<RuleSet>> {
        let is_young = |set: &Arc<RuleSet>| set.age() <= self.ttl;
        let own = match caller {
            None => self.anonymous.set.load_full(),
            Some(caller) => self.private.get(&caller).and_then(|variant| variant.set.load_full()),
        };
        own.filter(is_young).or_else(|| self.shared.set.load_full().filter(is_young))
    }

    fn variant(&self, caller: Option<Caller>) -> Arc<Variant> {
        match caller {
            None => Arc::clone(&self.anonymous),
            Some(caller) => self.private.get_with(caller, Arc::default),
        }
    }

    async fn settled<'f>(
        &self,
        variant: &Variant,
        fetch: impl FnOnce() -> Fetch<'f>,
        is_good: impl Fn(&RuleSet) -> bool,
    ) -> Option<Arc<RuleSet>> {
        if variant.failed_lately() {
            return None;
        }
        let _flight = variant.flight.lock().await;
        let set = variant.set.load_full();
        if set.as_deref().is_some_and(&is_good) {
            return set;
        }
        // Whoever waited behind a failed fetch must not repeat it.
        if variant.failed_lately() {
            return None;
        }
        self.settle(variant, fetch().await)
    }

    fn settle(&self, variant: &Variant, fetched: Option<RuleSet>) -> Option<Arc<RuleSet>> {
        variant.note_failure(fetched.is_none());
        let set = Arc::new(fetched?);
        let horizon = self.ttl * STALE_LIFETIMES;
        if set.is_public {
            self.shared.add(Arc::clone(&set), horizon);
        }
        Some(variant.add(set, horizon))
    }
}

impl Variant {
    /// Takes in a list in the place of the last one for the same capabilities; gives what all of them say.
    fn add(&self, set: Arc<RuleSet>, horizon: Duration) -> Arc<RuleSet> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|list| list.capabilities != set.capabilities && list.age() <= horizon);
        lists.push(Arc::clone(&set));
        let says_the_same = |list: &Arc<RuleSet>| Arc::ptr_eq(&list.tools, &set.tools);
        let united = if lists.iter().all(says_the_same) {
            set
        } else {
            let tools = Arc::new(unite(&lists));
            Arc::new(RuleSet { tools, ..RuleSet::clone(&set) })
        };
        self.set.store(Some(Arc::clone(&united)));
        united
    }

    fn note_failure(&self, failed: bool) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.failed = failed.then(Instant::now);
    }

    fn failed_lately(&self) -> bool {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.failed.is_some_and(|at| at.elapsed() < FAILED_FOR)
    }

    fn may_refetch(&self, floor: Duration) -> bool {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let may = times.refetched.is_none_or(|at| at.elapsed() >= floor);
        if may {
            times.refetched = Some(Instant::now());
        }
        may
    }
}

/// What several lists say; where they contradict each other nothing is known.
fn unite(lists: &[Arc<RuleSet>]) -> ByName {
    let mut all = ByName::new();
    for (name, rule) in lists.iter().flat_map(|list| list.tools.iter()) {
        match all.get_mut(name) {
            None => drop(all.insert(name.clone(), rule.clone())),
            Some(known) if known.agrees(rule) => {}
            Some(known) => *known = Rule::Contradicted,
        }
    }
    all
}

impl Rule {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lawful(one), Self::Lawful(other)) => one.rules == other.rules,
            (Self::LeftOut(_), Self::LeftOut(_)) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn set(list_ttl: u64, is_public: bool) -> RuleSet {
        let list_ttl = Duration::from_secs(list_ttl);
        RuleSet { tools: Tools::default(), list_ttl, is_public, fetched: Instant::now(), capabilities: 0 }
    }

    fn ready(set: Option<RuleSet>) -> Fetch<'static> {
        Box::pin(std::future::ready(set))
    }

    fn never() -> Fetch<'static> {
        panic!("nothing was to be fetched")
    }

    fn index() -> Index {
        Index::new(Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn one_fetch_serves_all_who_wait() {
        let (index, fetches) = (index(), AtomicUsize::new(0));
        let fetch = || -> Fetch<'_> {
            Box::pin(async {
                fetches.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some(set(0, true))
            })
        };
        let waiting = (0..100).map(|_| index.rules(None, fetch, || ()));
        let answers = futures::future::join_all(waiting).await;
        assert!(answers.iter().all(Option::is_some));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_remembered_and_then_tried_again() {
        let (index, fetches) = (index(), AtomicUsize::new(0));
        let fail = || -> Fetch<'_> {
            Box::pin(async {
                fetches.fetch_add(1, Ordering::SeqCst);
                None
            })
        };
        let waiting = (0..10).map(|_| index.rules(None, fail, || ()));
        assert!(futures::future::join_all(waiting).await.iter().all(Option::is_none));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        tokio::time::advance(FAILED_FOR).await;
        assert!(index.rules(None, fail, || ()).await.is_none());
        assert_eq!(fetches.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn old_rules_serve_while_they_are_refreshed_but_not_for_ever() {
        let (index, refreshes) = (index(), AtomicUsize::new(0));
        let old = index.rules(None, || ready(Some(set(0, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        let refresh = || {
            refreshes.fetch_add(1, Ordering::SeqCst);
        };
        let served = index.rules(None, never, refresh).await.unwrap();
        assert!(Arc::ptr_eq(&old, &served));
        assert_eq!(refreshes.load(Ordering::SeqCst), 1);
        index.refresh(None, ready(Some(set(0, true)))).await;
        let new = index.rules(None, never, refresh).await.unwrap();
        assert!(!Arc::ptr_eq(&old, &new));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert!(index.rules(None, || ready(None), refresh).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_disagreement_fetches_again_once_and_not_more_than_once_a_second() {
        let index = index();
        let seen = index.rules(None, || ready(Some(set(0, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
        let newer = index.refetch(None, &seen, Doubt::Disagrees, || ready(Some(set(0, true)))).await.unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
        assert!(index.refetch(None, &newer, Doubt::Disagrees, never).await.is_none());
        // Whoever disagreed with the first gets the second without a fetch.
        assert!(index.refetch(None, &seen, Doubt::Disagrees, never).await.is_some());
        tokio::time::advance(REFETCH_FLOOR).await;
        assert!(index.refetch(None, &newer, Doubt::Disagrees, || ready(Some(set(0, true)))).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn rules_as_young_as_their_list_allows_are_not_fetched_again() {
        let index = index();
        let seen = index.rules(None, || ready(Some(set(30, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(index.refetch(None, &seen, Doubt::Disagrees, never).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_unlisted_tool_is_looked_for_whatever_the_list_vouches_for() {
        let index = index();
        let seen = index.rules(None, || ready(Some(set(3600, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
        let newer = index.refetch(None, &seen, Doubt::Unlisted, || ready(Some(set(3600, true)))).await;
        assert!(newer.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn private_rules_speak_for_their_caller_alone() {
        let index = index();
        assert!(index.rules(Some(1), || ready(Some(set(0, false))), || ()).await.is_some());
        assert!(index.rules(Some(2), || ready(None), || ()).await.is_none());
        assert!(index.rules(None, || ready(None), || ()).await.is_none());
        assert!(index.rules(Some(1), never, || ()).await.is_some());
        assert!(index.rules(Some(3), || ready(Some(set(0, true))), || ()).await.is_some());
        assert!(index.rules(Some(4), never, || ()).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_becomes_private_is_kept_for_its_caller_only() {
        let index = index();
        index.rules(Some(1), || ready(Some(set(0, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        index.refresh(Some(1), ready(Some(set(0, false)))).await;
        let own = index.rules(Some(1), never, || ()).await.unwrap();
        assert!(!own.is_public);
        let of_all = index.rules(None, || ready(Some(set(0, true))), || ()).await.unwrap();
        assert!(of_all.is_public, "the anonymous caller asks for itself");
    }

    #[test]
    fn lists_that_say_the_same_are_kept_once() {
        let index = index();
        let first = index.intern(&7, HashMap::new);
        assert!(Arc::ptr_eq(&first, &index.intern(&7, || unreachable!())));
        assert!(!Arc::ptr_eq(&first, &index.intern(&8, HashMap::new)));
        drop(first);
        let again = std::cell::Cell::new(false);
        index.intern(&7, || {
            again.set(true);
            HashMap::new()
        });
        assert!(again.get(), "what nobody uses is forgotten");
    }
}
