//! By which rules a call is judged: what is known of its tool, and whether that is young enough to answer from.
//!
//! "Rules are not lists": most servers say `ttlMs` 0, and no call may wait for a list each time, so what lists say of
//! their tools has a lifetime of its own. One state machine, told the time, without I/O: [`Rules::plan_for`] and
//! [`Rules::plan_after_doubt`] give what holds, or ask that the list be fetched first; [`Rules::learn`] and
//! [`Rules::fail`] tell it what came of a fetch, and [`Rules::settle`] and [`Rules::settle_after_doubt`] give what holds
//! then. Must never let one credential's private list speak for another.
//!
//! ```text
//!            none ──────────────► AskFirst            (for 5 s after a failure: as if nothing were to be had)
//!            young ─────────────► a plan
//!            older than the ttl ► a plan, and the list is fetched meanwhile
//!            older than 10 ttl ─► AskFirst
//! the tool is not listed ───────► AskFirst            (once a second, or with a fetch that is under way)
//! the call disagrees, or sends a parameter that is not declared:
//!            the list vouches ──► nothing younger     (it is younger than its own ttlMs)
//!            otherwise ─────────► AskFirst            (once a second, or with a fetch that is under way)
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::time::Instant;

use super::freshness::Freshness;
use super::offer::Fetched;
use super::omission::Omission;
use super::schemas::Schemas;
use crate::agreement::Plan;
use crate::protocol::{NamedBy, Scope, ToolRules};

/// After a failed fetch the rules count as not to be had for this long.
const FAILED_FOR: Duration = Duration::from_secs(5);
/// Rules that cannot be refreshed serve for this many lifetimes.
const STALE_LIFETIMES: u32 = 10;
/// A client that provokes mismatches causes at most one fetch in this time.
const REFETCH_FLOOR: Duration = Duration::from_secs(1);
/// What servers say (-32020) causes at most one fetch in this time.
const REVALIDATE_FLOOR: Duration = Duration::from_secs(5);
/// Callers whose private rules are kept, by server; past it, those that called last.
const PRIVATE_VARIANTS: u64 = 256;

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

/// What the configuration says of a server's calls.
#[derive(Debug)]
pub struct Demands {
    /// How long rules are relied on.
    pub ttl: Duration,
    /// The parameters that it declares for all tools; `None` if it declares none.
    pub declared: Option<Arc<Plan>>,
    /// Parameters choose the pool: a call of which nothing is known has nowhere to go.
    pub is_routed: bool,
    /// Arguments are checked: a call of which nothing is known cannot be.
    pub is_validated: bool,
}

/// A call, as far as its rules depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// As the server calls the tool.
    pub tool: &'c str,
    /// `None` where no credentials go to the server.
    pub caller: Option<Caller>,
}

/// What is to be done with a call.
#[derive(Debug)]
pub enum Ruling {
    Settled(Settled),
    /// The same, by rules that are old: fetch the list meanwhile, for the next call.
    SettledForNow(Settled),
    /// Fetch the list for this caller, then settle; a fetch that is under way will do.
    AskFirst,
}

/// What holds for a call.
#[derive(Debug)]
pub enum Settled {
    Plan(Judging),
    /// No list has the tool, or it is one that must not be called.
    NoSuchTool,
    /// Nothing is known of the server's tools, and its calls must not go unproven.
    NotToBeHad,
}

/// By what a call is judged.
#[derive(Debug)]
pub struct Judging {
    pub plan: Arc<Plan>,
    pub schemas: Option<Arc<Schemas>>,
    /// The rules that the plan came from, if they could turn out to be old.
    pub rules: Option<Arc<RuleSet>>,
    /// Whether anything is known of the tool's parameters.
    pub is_proven: bool,
}

/// One server's rules, in as many variants as its answers have scopes.
#[derive(Debug)]
pub struct Rules {
    demands: Demands,
    /// From lists that may be shown to all, whoever asked for them.
    shared: Variant,
    anonymous: Arc<Variant>,
    private: moka::sync::Cache<Caller, Arc<Variant>>,
    /// When what servers say last caused a fetch.
    revalidated: Mutex<Option<Instant>>,
    tools: Mutex<HashMap<u64, Weak<ByName>>>,
    hasher: RandomState,
}

/// The rules as one caller sees them.
#[derive(Debug, Default)]
struct Variant {
    /// Of all lists below, as one.
    set: ArcSwapOption<RuleSet>,
    /// One for each set of client capabilities.
    lists: Mutex<Vec<Arc<RuleSet>>>,
    asking: Mutex<Asking>,
}

/// What became of fetches.
#[derive(Debug, Default)]
struct Asking {
    /// Somebody was told to fetch, and nothing came of it yet.
    is_under_way: bool,
    failed: Option<Instant>,
    /// When the last fetch was granted because of what a client sent.
    granted: Option<Instant>,
}

impl RuleSet {
    /// What a list of tools says of their calls, whoever asked for it; `capabilities` is the digest of the client's.
    pub fn of(fetched: &Fetched, capabilities: u128) -> Option<Self> {
        let tools = fetched.content.list()?.tools.clone()?;
        let Freshness { received, ttl, .. } = fetched.freshness;
        let is_public = fetched.scope() == Scope::Public;
        Some(Self { tools, list_ttl: ttl, is_public, fetched: received, capabilities })
    }

    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.fetched)
    }
}

impl Rules {
    pub fn new(demands: Demands) -> Self {
        Self {
            demands,
            shared: Variant::default(),
            anonymous: Arc::default(),
            private: moka::sync::Cache::new(PRIVATE_VARIANTS),
            revalidated: Mutex::default(),
            tools: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// What holds for a call, or that the list must be fetched to know.
    pub fn plan_for(&self, call: &Call<'_>, now: Instant) -> Ruling {
        if let Some(set) = self.young(call.caller, now) {
            return self.by(set, call, now);
        }
        let own = self.variant(call.caller);
        let failed = own.failed_lately(now);
        match own.set.load_full().filter(|set| set.age(now) <= self.horizon()) {
            Some(old) => match self.by(old, call, now) {
                Ruling::Settled(settled) if !failed => Ruling::SettledForNow(settled),
                other => other,
            },
            None if failed => Ruling::Settled(self.nothing_known()),
            None => {
                own.asking().is_under_way = true;
                Ruling::AskFirst
            }
        }
    }

    /// What holds for a call once the list was fetched for it, whatever came of that.
    pub fn settle(&self, call: &Call<'_>, now: Instant) -> Settled {
        let own = self.variant(call.caller);
        let failed = own.failed_lately(now);
        // What was fetched just now holds for this call, however short its lifetime.
        let set = own.set.load_full().filter(|set| !failed || set.age(now) <= self.horizon());
        match set.or_else(|| self.young(call.caller, now)) {
            Some(set) => self.of(set, call.tool),
            None => self.nothing_known(),
        }
    }

    /// What holds for a call that did not hold to these rules, if there may be younger ones: worth a fetch only if their
    /// list does not vouch for them any more.
    pub fn plan_after_doubt(&self, call: &Call<'_>, doubted: &RuleSet, now: Instant) -> Option<Ruling> {
        if let Some(settled) = self.settle_after_doubt(call, doubted) {
            return Some(Ruling::Settled(settled));
        }
        let may = doubted.age(now) > doubted.list_ttl && self.may_ask(call.caller, doubted, now);
        may.then_some(Ruling::AskFirst)
    }

    /// What holds by rules younger than these, if there are any.
    pub fn settle_after_doubt(&self, call: &Call<'_>, doubted: &RuleSet) -> Option<Settled> {
        let own = self.variant(call.caller).set.load_full();
        own.filter(|set| set.fetched > doubted.fetched).map(|set| self.of(set, call.tool))
    }

    /// Takes in what a list says, whoever asked for it and why.
    pub fn learn(&self, caller: Option<Caller>, set: RuleSet, now: Instant) {
        let (set, own) = (Arc::new(set), self.variant(caller));
        if set.is_public {
            self.shared.add(Arc::clone(&set), now, self.horizon());
        }
        own.add(set, now, self.horizon());
        self.shared.asking().is_under_way = false;
        let mut asking = own.asking();
        asking.is_under_way = false;
        asking.failed = None;
    }

    /// The list could not be had.
    pub fn fail(&self, caller: Option<Caller>, now: Instant) {
        self.shared.asking().is_under_way = false;
        let own = self.variant(caller);
        let mut asking = own.asking();
        asking.is_under_way = false;
        asking.failed = Some(now);
    }

    /// A server says (-32020) that our view of its tools is old: whether that should cause a fetch now. One floor for all
    /// callers, so that nobody can provoke more with many credentials.
    pub fn should_revalidate(&self, now: Instant) -> bool {
        let mut last = self.revalidated.lock().unwrap_or_else(PoisonError::into_inner);
        grant(&mut last, now, REVALIDATE_FLOOR)
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

    /// What a set says of a call's tool. One that is not listed may be new: it is looked for.
    fn by(&self, set: Arc<RuleSet>, call: &Call<'_>, now: Instant) -> Ruling {
        if !set.tools.contains_key(call.tool) && self.may_ask(call.caller, &set, now) {
            return Ruling::AskFirst;
        }
        Ruling::Settled(self.of(set, call.tool))
    }

    fn of(&self, set: Arc<RuleSet>, tool: &str) -> Settled {
        match set.tools.get(tool) {
            Some(Rule::Lawful(tool)) => Settled::Plan(Judging {
                plan: Arc::clone(&tool.plan),
                schemas: tool.schemas.clone(),
                rules: Some(set),
                is_proven: true,
            }),
            Some(Rule::LeftOut(_)) => Settled::NoSuchTool,
            Some(Rule::Contradicted) => self.nothing_known(),
            None => self.unlisted(set),
        }
    }

    /// Only what the configuration declares can be demanded of a tool that no list has. Where that is not enough, such a
    /// call has nowhere to go, or nothing to be checked against.
    fn unlisted(&self, set: Arc<RuleSet>) -> Settled {
        let Demands { declared, is_routed, is_validated, .. } = &self.demands;
        if *is_validated || (*is_routed && declared.is_none()) {
            return Settled::NoSuchTool;
        }
        let plan = declared.clone().unwrap_or_else(undemanding);
        Settled::Plan(Judging { plan, schemas: None, rules: Some(set), is_proven: true })
    }

    fn nothing_known(&self) -> Settled {
        let Demands { declared, is_routed, is_validated, .. } = &self.demands;
        let (plan, is_proven) = match declared {
            _ if *is_validated => return Settled::NotToBeHad,
            Some(declared) => (Arc::clone(declared), true),
            None if *is_routed => return Settled::NotToBeHad,
            None => (undemanding(), false),
        };
        Settled::Plan(Judging { plan, schemas: None, rules: None, is_proven })
    }

    /// Young rules: the caller's own before those that are shown to all.
    fn young(&self, caller: Option<Caller>, now: Instant) -> Option<Arc<RuleSet>> {
        let is_young = |set: &Arc<RuleSet>| set.age(now) <= self.demands.ttl;
        let own = match caller {
            None => self.anonymous.set.load_full(),
            Some(caller) => self.private.get(&caller).and_then(|variant| variant.set.load_full()),
        };
        own.filter(is_young).or_else(|| self.shared.set.load_full().filter(is_young))
    }

    /// Whether rules may be fetched again because of what a client sent. What all share has one floor for all, so that
    /// nobody can provoke more with many credentials; whoever comes while a fetch is under way waits for it.
    fn may_ask(&self, caller: Option<Caller>, seen: &RuleSet, now: Instant) -> bool {
        let own = self.variant(caller);
        if own.failed_lately(now) {
            return false;
        }
        let floor = if seen.is_public { &self.shared } else { &*own };
        floor.asking().join_or_grant(now, REFETCH_FLOOR)
    }

    fn variant(&self, caller: Option<Caller>) -> Arc<Variant> {
        match caller {
            None => Arc::clone(&self.anonymous),
            Some(caller) => self.private.get_with(caller, Arc::default),
        }
    }

    fn horizon(&self) -> Duration {
        self.demands.ttl * STALE_LIFETIMES
    }
}

impl Variant {
    /// Takes in a list in the place of the last one for the same capabilities.
    fn add(&self, set: Arc<RuleSet>, now: Instant, horizon: Duration) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|list| list.capabilities != set.capabilities && list.age(now) <= horizon);
        lists.push(Arc::clone(&set));
        let says_the_same = |list: &Arc<RuleSet>| Arc::ptr_eq(&list.tools, &set.tools);
        let united = if lists.iter().all(says_the_same) {
            set
        } else {
            Arc::new(RuleSet { tools: Arc::new(unite(&lists)), ..RuleSet::clone(&set) })
        };
        self.set.store(Some(united));
    }

    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed_lately(&self, now: Instant) -> bool {
        self.asking().failed.is_some_and(|at| now.saturating_duration_since(at) < FAILED_FOR)
    }
}

impl Asking {
    fn join_or_grant(&mut self, now: Instant, floor: Duration) -> bool {
        if !self.is_under_way {
            self.is_under_way = grant(&mut self.granted, now, floor);
        }
        self.is_under_way
    }
}

/// Whether something may happen that must not happen again before `floor` has passed.
fn grant(last: &mut Option<Instant>, now: Instant, floor: Duration) -> bool {
    let may = last.is_none_or(|at| now.saturating_duration_since(at) >= floor);
    if may {
        *last = Some(now);
    }
    may
}

/// The plan that looks at no parameter.
fn undemanding() -> Arc<Plan> {
    Plan::plain(Some(NamedBy::Name))
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
mod tests;
