//! The rules of a server's tools, fetched when first needed and kept for a time of their own.
//!
//! "Rules are not lists": most servers say `ttlMs` 0, and no call may wait for a list each time. One fetch serves all
//! who wait for it. Must never let one credential's private list speak for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::rules::Unlawful;
use crate::agreement::Plan;

/// After a failed fetch the rules count as not to be had for this long.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// Rules that cannot be refreshed serve for this many lifetimes.
const STALE_LIFETIMES: u32 = 10;
/// A client that provokes mismatches causes at most one fetch in this time.
const REFETCH_FLOOR: Duration = Duration::from_secs(1);
/// What servers say (-32020) causes at most one fetch in this time.
const REVALIDATE_FLOOR: Duration = Duration::from_secs(5);
/// Callers whose private rules are kept, by server.
const PRIVATE_VARIANTS: u64 = 1024;

/// Identifies the credentials that a caller sends to a server: a keyed hash, never the credentials themselves.
pub type Caller = u128;

/// The rules of all tools of one server, as one list said.
#[derive(Debug)]
pub struct RuleSet {
    pub tools: HashMap<String, Result<Arc<Plan>, Unlawful>>,
    /// How long the list itself claimed to be fresh.
    pub list_ttl: Duration,
    pub is_public: bool,
    pub fetched: Instant,
}

/// One server's rules, in as many variants as its answers have scopes.
#[derive(Debug)]
pub struct Index {
    ttl: Duration,
    shared: Arc<Variant>,
    private: moka::sync::Cache<Caller, Arc<Variant>>,
}

/// A fetch of a server's rules, begun only when it is needed; `None` if it failed. Boxed: it is large and rare.
pub type Fetch<'f> = BoxFuture<'f, Option<RuleSet>>;

/// The rules as one caller, or everybody, sees them.
#[derive(Debug, Default)]
pub struct Variant {
    set: ArcSwapOption<RuleSet>,
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
        Self { ttl, shared: Arc::default(), private: moka::sync::Cache::new(PRIVATE_VARIANTS) }
    }

    /// The variant that speaks for this caller; `None` is everybody (no credentials go to the server).
    pub fn variant(&self, caller: Option<Caller>) -> Arc<Variant> {
        match caller {
            Some(caller) if !self.shared.serves_all() => self.private.get_with(caller, Arc::default),
            _ => Arc::clone(&self.shared),
        }
    }

    /// Keeps a list that was fetched with credentials but may be shown to all.
    pub fn share(&self, set: &Arc<RuleSet>) {
        if set.is_public {
            self.shared.set.store(Some(Arc::clone(set)));
        }
    }

    /// The rules, if they can be had: those at hand while they are young enough, otherwise fetched, once for all who wait.
    /// Old ones are refreshed in the background by a fetch that `refresh` starts.
    pub async fn rules<'f>(
        &self,
        variant: &Variant,
        fetch: impl FnOnce() -> Fetch<'f>,
        refresh: impl FnOnce(),
    ) -> Option<Arc<RuleSet>> {
        if let Some(set) = variant.set.load_full() {
            if set.age() <= self.ttl {
                return Some(set);
            }
            if set.age() <= self.ttl * STALE_LIFETIMES {
                if !variant.failed_lately() {
                    refresh();
                }
                return Some(set);
            }
        }
        variant.fetch(fetch, |set| set.is_some_and(|set| set.age() <= self.ttl)).await
    }

    /// The background's part of [`Index::rules`]: does nothing if a fetch is under way or was just done.
    pub async fn refresh(&self, variant: &Variant, fetch: Fetch<'_>) {
        let Ok(_flight) = variant.flight.try_lock() else { return };
        if variant.set.load().as_ref().is_none_or(|set| set.age() > self.ttl) {
            variant.settle(fetch.await);
        }
    }
}

impl Variant {
    fn serves_all(&self) -> bool {
        self.set.load().as_ref().is_some_and(|set| set.is_public)
    }

    /// Rules younger than `seen`, fetched again because a request disagreed with them. `None`: they are as young as the
    /// list itself allows, they were fetched again just now, or they cannot be had.
    pub async fn refetch<'f>(&self, seen: &RuleSet, fetch: impl FnOnce() -> Fetch<'f>) -> Option<Arc<RuleSet>> {
        if seen.age() <= seen.list_ttl {
            return None;
        }
        let is_newer = |set: Option<&RuleSet>| set.is_some_and(|set| set.fetched > seen.fetched);
        if let Some(set) = self.set.load_full().filter(|set| is_newer(Some(set))) {
            return Some(set);
        }
        if !self.may_refetch(REFETCH_FLOOR) {
            return None;
        }
        self.fetch(fetch, is_newer).await.filter(|set| is_newer(Some(set)))
    }

    /// A server says that our view of its tools is old: whether that should cause a fetch now.
    pub fn should_revalidate(&self) -> bool {
        self.may_refetch(REVALIDATE_FLOOR)
    }

    /// Forgets how old the rules are not: the next [`Index::refresh`] fetches.
    pub async fn revalidate(&self, fetch: Fetch<'_>) {
        let Ok(_flight) = self.flight.try_lock() else { return };
        self.settle(fetch.await);
    }

    async fn fetch<'f>(
        &self,
        fetch: impl FnOnce() -> Fetch<'f>,
        is_good: impl Fn(Option<&RuleSet>) -> bool,
    ) -> Option<Arc<RuleSet>> {
        if self.failed_lately() {
            return None;
        }
        let _flight = self.flight.lock().await;
        let set = self.set.load_full();
        if is_good(set.as_deref()) {
            return set;
        }
        // Whoever waited behind a failed fetch must not repeat it.
        if self.failed_lately() {
            return None;
        }
        self.settle(fetch().await)
    }

    fn settle(&self, fetched: Option<RuleSet>) -> Option<Arc<RuleSet>> {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.failed = fetched.is_none().then(Instant::now);
        let set = fetched.map(Arc::new);
        if let Some(set) = &set {
            self.set.store(Some(Arc::clone(set)));
        }
        set
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn set(list_ttl: u64, is_public: bool) -> RuleSet {
        RuleSet { tools: HashMap::new(), list_ttl: Duration::from_secs(list_ttl), is_public, fetched: Instant::now() }
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
        let variant = index.variant(None);
        let fetch = || -> Fetch<'_> {
            Box::pin(async {
                fetches.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some(set(0, true))
            })
        };
        let waiting = (0..100).map(|_| index.rules(&variant, fetch, || ()));
        let answers = futures::future::join_all(waiting).await;
        assert!(answers.iter().all(Option::is_some));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_remembered_and_then_tried_again() {
        let (index, fetches) = (index(), AtomicUsize::new(0));
        let variant = index.variant(None);
        let fail = || -> Fetch<'_> {
            Box::pin(async {
                fetches.fetch_add(1, Ordering::SeqCst);
                None
            })
        };
        let waiting = (0..10).map(|_| index.rules(&variant, fail, || ()));
        assert!(futures::future::join_all(waiting).await.iter().all(Option::is_none));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        tokio::time::advance(FAILED_FOR).await;
        assert!(index.rules(&variant, fail, || ()).await.is_none());
        assert_eq!(fetches.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn old_rules_serve_while_they_are_refreshed_but_not_for_ever() {
        let (index, refreshes) = (index(), AtomicUsize::new(0));
        let variant = index.variant(None);
        let old = index.rules(&variant, || ready(Some(set(0, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        let refresh = || {
            refreshes.fetch_add(1, Ordering::SeqCst);
        };
        let served = index.rules(&variant, never, refresh).await.unwrap();
        assert!(Arc::ptr_eq(&old, &served));
        assert_eq!(refreshes.load(Ordering::SeqCst), 1);
        index.refresh(&variant, ready(Some(set(0, true)))).await;
        let new = index.rules(&variant, never, refresh).await.unwrap();
        assert!(!Arc::ptr_eq(&old, &new));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert!(index.rules(&variant, || ready(None), refresh).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_disagreement_fetches_again_once_and_not_more_than_once_a_second() {
        let index = index();
        let variant = index.variant(None);
        let seen = index.rules(&variant, || ready(Some(set(0, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
        let newer = variant.refetch(&seen, || ready(Some(set(0, true)))).await.unwrap();
        tokio::time::advance(Duration::from_millis(10)).await;
        assert!(variant.refetch(&newer, never).await.is_none());
        // Whoever disagreed with the first gets the second without a fetch.
        assert!(variant.refetch(&seen, never).await.is_some());
        tokio::time::advance(REFETCH_FLOOR).await;
        assert!(variant.refetch(&newer, || ready(Some(set(0, true)))).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn rules_as_young_as_their_list_allows_are_not_fetched_again() {
        let index = index();
        let variant = index.variant(None);
        let seen = index.rules(&variant, || ready(Some(set(30, true))), || ()).await.unwrap();
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(variant.refetch(&seen, never).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn private_rules_speak_for_their_caller_alone() {
        let index = index();
        let first = index.variant(Some(1));
        let set_of_first = index.rules(&first, || ready(Some(set(0, false))), || ()).await.unwrap();
        index.share(&set_of_first);
        assert!(index.rules(&index.variant(Some(2)), || ready(None), || ()).await.is_none());
        assert!(index.rules(&index.variant(Some(1)), never, || ()).await.is_some());
        index.share(&Arc::new(set(0, true)));
        assert!(index.rules(&index.variant(Some(2)), never, || ()).await.is_some());
    }
}
