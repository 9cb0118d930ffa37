//! One server's answers: fresh ones at once, others fetched once for all who wait.
//!
//! Knows to whom an answer may be given and until when ("server/utilities/caching"). Must never give what was fetched
//! with one caller's credentials to another, unless the server called it public.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use moka::sync;
use tokio::time::Instant;

use super::flights::{Flight, Flights};
use super::freshness::Freshness;
use super::offer::{Ask, Content, Failure, Fetched, Offer, Question};
use super::rules::Caller;
use super::store::{OfferKey, Store, Whose};
use super::variants::Admission;
use crate::protocol::Scope;

/// Failures that are remembered of one server.
const MAX_FAILURES: u64 = 1_000;
/// Topics of which something is known; which ones there are changes with the clients' capabilities.
const MAX_TOPICS: usize = 1_000;
/// How long a server that says it has no such method is believed.
const NOTHING_FOR: Duration = Duration::from_secs(60);

/// Fetches a server's answers. What it brings is bounded in time and bytes.
pub trait Source: Send + Sync + 'static {
    fn fetch(self: Arc<Self>, question: Question, ask: Ask) -> BoxFuture<'static, Result<Fetched, Failure>>;
}

/// How long answers may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    pub max_ttl: Duration,
    pub stale_if_error: Duration,
    pub partial_ttl: Duration,
    pub server: ServerKeeping,
}

/// What the operator says of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKeeping {
    On,
    /// Nothing is kept; who asks at the same moment still shares a fetch.
    Off,
    /// Said of answers for which the server claims no time at all.
    Assume {
        scope: Scope,
        ttl: Duration,
    },
}

/// An answer and how it was come by, or why there is none.
#[derive(Clone, Debug)]
pub enum Got {
    Offer(Arc<Offer>, How),
    Failed(Arc<Failure>),
}

/// How an answer was come by; later ones cost more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Hit,
    Coalesced,
    Miss,
    /// Past the cache.
    Bypass,
    /// Too old, but the server fails.
    Stale,
}

impl How {
    pub const ALL: [Self; 5] = [Self::Hit, Self::Coalesced, Self::Miss, Self::Bypass, Self::Stale];

    pub fn label(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Coalesced => "coalesced",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
            Self::Stale => "stale",
        }
    }
}

/// What one flight is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Topic {
    question: Question,
    variant: u128,
}

type FlightKey = (Topic, Option<Caller>);
type Outcome = Result<Arc<Offer>, Arc<Failure>>;

/// What is known of a topic besides its answers.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The scope of the last answer, whoever asked.
    scope: Option<Scope>,
    /// Whose flight others may wait for.
    leader: Option<Caller>,
}

/// One server's answers.
#[derive(Debug)]
pub struct Cache {
    id: u64,
    keeping: Keeping,
    store: Arc<Store>,
    flights: Flights<FlightKey, Outcome>,
    known: Mutex<HashMap<Topic, Known>>,
    failures: sync::Cache<FlightKey, (Instant, Arc<Failure>)>,
    generation: AtomicU64,
}

impl Cache {
    pub fn new(store: &Arc<Store>, keeping: Keeping) -> Arc<Self> {
        Arc::new(Self {
            id: store.new_cache(),
            keeping,
            store: Arc::clone(store),
            flights: Flights::default(),
            known: Mutex::default(),
            failures: sync::Cache::new(MAX_FAILURES),
            generation: AtomicU64::default(),
        })
    }

    pub fn keeping(&self) -> &Keeping {
        &self.keeping
    }

    /// The answer for `ask`.
    pub async fn get<S: Source>(
        self: &Arc<Self>,
        question: Question,
        ask: &Ask,
        admission: Admission,
        source: &Arc<S>,
    ) -> Got {
        match admission {
            Admission::Kept => self.get_kept(question, ask, source).await,
            Admission::Bypass => self.get_past_the_cache(question, ask, source).await,
            Admission::Refused => Got::Failed(Arc::new(Failure::Overloaded)),
        }
    }

    /// Fetches whatever is there; a flight that is under way will do. For the rules of tools, which have a lifetime of
    /// their own.
    pub async fn refetch<S: Source>(
        self: &Arc<Self>,
        question: Question,
        ask: &Ask,
        source: &Arc<S>,
    ) -> Option<Arc<Offer>> {
        if let Some(offer) = self.get_from_another(&key(question, ask)).await {
            return Some(offer);
        }
        self.start(question, ask, source).outcome().await?.ok()
    }

    /// The same for those who come later.
    pub fn refetch_in_background<S: Source>(self: &Arc<Self>, question: Question, ask: &Ask, source: &Arc<S>) {
        drop(self.start(question, ask, source));
    }

    /// Fetches in the background because the server is said to have changed. What others share becomes old only if it did.
    pub async fn revalidate<S: Source>(self: &Arc<Self>, question: Question, ask: &Ask, source: &Arc<S>) {
        let before = self.last(question, ask.variant.digest(), ask.caller);
        let after = self.refetch(question, ask, source).await;
        if let (Some(before), Some(after)) = (before, after)
            && !before.content.says_the_same(&after.content)
        {
            self.invalidate();
        }
    }

    /// Everything that is kept of this server is old from now on.
    pub fn invalidate(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.store.turn();
    }

    /// What is kept for this caller, however old; `variant` is the digest of the client's capabilities.
    pub fn last(&self, question: Question, variant: u128, caller: Option<Caller>) -> Option<Arc<Offer>> {
        let key = |whose| OfferKey { cache: self.id, question, variant, whose };
        let own = self.store.offers.get(&key(Whose::Only(caller)));
        own.or_else(|| self.store.offers.get(&key(Whose::Everyone)))
    }

    /// Why the server did not answer this caller the last time, if it did not.
    pub fn failure(&self, question: Question, ask: &Ask) -> Option<Arc<Failure>> {
        self.failures.get(&key(question, ask)).map(|(_, failure)| failure)
    }

    /// Everything that is kept of this server, for operators.
    pub fn all(&self) -> Vec<(OfferKey, Arc<Offer>)> {
        let kept = self.store.offers.iter().filter(|(key, _)| key.cache == self.id);
        kept.map(|(key, offer)| (*key, offer)).collect()
    }

    /// Whether an answer that is kept would be given out now.
    pub fn is_fresh(&self, offer: &Offer) -> bool {
        offer.is_fresh(self.generation(), self.now())
    }

    /// Whether an answer, or what was made of it, may be given out again at all.
    pub fn keeps(&self, offer: &Offer) -> bool {
        self.keeping.server != ServerKeeping::Off && !offer.is_hazardous
    }

    async fn get_kept<S: Source>(self: &Arc<Self>, question: Question, ask: &Ask, source: &Arc<S>) -> Got {
        if let Some(offer) = self.fresh(question, ask) {
            return Got::Offer(offer, How::Hit);
        }
        let key = key(question, ask);
        if let Some((at, failure)) = self.failures.get(&key) {
            let stale = self.stale(question, ask).filter(|_| !failure.is_unauthorized());
            let is_remembered = self.since(at) < self.keeping.partial_ttl;
            match stale {
                // Nobody waits for a server that failed the last time; whether it is back is found out meanwhile.
                Some(stale) => {
                    if !is_remembered {
                        drop(self.start(question, ask, source));
                    }
                    return Got::Offer(stale, How::Stale);
                }
                None if is_remembered => return Got::Failed(failure),
                None => {}
            }
        }
        if let Some(offer) = self.get_from_another(&key).await {
            return Got::Offer(offer, How::Coalesced);
        }
        let flight = self.start_unless_fresh(question, ask, source);
        let how = if matches!(flight, Flight::Started(_)) { How::Miss } else { How::Coalesced };
        match flight.outcome().await {
            Some(Ok(offer)) => Got::Offer(offer, how),
            Some(Err(failure)) => self.stale_or(question, ask, failure),
            None => {
                self.stale_or(question, ask, Arc::new(Failure::BrokeOff("the fetch ended in a fault of ours".into())))
            }
        }
    }

    async fn get_past_the_cache<S: Source>(&self, question: Question, ask: &Ask, source: &Arc<S>) -> Got {
        match Arc::clone(source).fetch(question, ask.clone()).await {
            Ok(fetched) => Got::Offer(Arc::new(self.offer(fetched, self.generation())), How::Bypass),
            Err(failure) => match self.nothing(ask, &failure) {
                Some(nothing) => Got::Offer(Arc::new(nothing), How::Bypass),
                None => Got::Failed(Arc::new(failure)),
            },
        }
    }

    fn fresh(&self, question: Question, ask: &Ask) -> Option<Arc<Offer>> {
        let (generation, now) = (self.generation(), self.now());
        let key = |whose| OfferKey { cache: self.id, question, variant: ask.variant.digest(), whose };
        let get = |whose| self.store.offers.get(&key(whose)).filter(|offer| offer.is_fresh(generation, now));
        get(Whose::Only(ask.caller)).or_else(|| get(Whose::Everyone))
    }

    /// What may serve while the server fails.
    fn stale(&self, question: Question, ask: &Ask) -> Option<Arc<Offer>> {
        self.last(question, ask.variant.digest(), ask.caller)
            .filter(|offer| self.since(offer.expires) <= self.keeping.stale_if_error)
    }

    fn stale_or(&self, question: Question, ask: &Ask, failure: Arc<Failure>) -> Got {
        match self.stale(question, ask) {
            Some(offer) if !failure.is_unauthorized() => Got::Offer(offer, How::Stale),
            _ => Got::Failed(failure),
        }
    }

    /// The answer to somebody else's question, if it will probably be for everyone and is.
    async fn get_from_another(&self, (topic, caller): &FlightKey) -> Option<Arc<Offer>> {
        let known = self.known().get(topic).copied()?;
        if known.scope != Some(Scope::Public) || known.leader == *caller {
            return None;
        }
        let offer = self.flights.find(&(*topic, known.leader))?.await?.ok()?;
        (offer.scope == Scope::Public).then_some(offer)
    }

    fn start_unless_fresh<S: Source>(
        self: &Arc<Self>,
        question: Question,
        ask: &Ask,
        source: &Arc<S>,
    ) -> Flight<Outcome> {
        let (cache, own, source) = (Arc::clone(self), ask.clone(), Arc::clone(source));
        self.join(question, ask, move || async move {
            // A flight may have ended between our look and our joining.
            match cache.fresh(question, &own) {
                Some(offer) => Ok(offer),
                None => cache.fetch(question, own, source).await,
            }
        })
    }

    fn start<S: Source>(self: &Arc<Self>, question: Question, ask: &Ask, source: &Arc<S>) -> Flight<Outcome> {
        let (cache, own, source) = (Arc::clone(self), ask.clone(), Arc::clone(source));
        self.join(question, ask, move || cache.fetch(question, own, source))
    }

    fn join<F>(&self, question: Question, ask: &Ask, flight: impl FnOnce() -> F) -> Flight<Outcome>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let key = key(question, ask);
        let flight = self.flights.join(&key, flight);
        if matches!(flight, Flight::Started(_)) {
            self.lead(&key);
        }
        flight
    }

    /// Others may wait for this flight, unless they wait for one already.
    fn lead(&self, (topic, caller): &FlightKey) {
        let mut known = self.known();
        if known.len() > MAX_TOPICS {
            known.clear();
        }
        let leading = known.entry(*topic).or_insert(Known { scope: None, leader: *caller });
        if self.flights.find(&(*topic, leading.leader)).is_none() {
            leading.leader = *caller;
        }
    }

    async fn fetch<S: Source>(self: Arc<Self>, question: Question, ask: Ask, source: Arc<S>) -> Outcome {
        let generation = self.generation();
        let fetched = source.fetch(question, ask.clone()).await;
        let offer = match fetched {
            Ok(fetched) => self.offer(fetched, generation),
            Err(failure) => match self.nothing(&ask, &failure) {
                Some(nothing) => nothing,
                None => return Err(self.fail(question, &ask, failure)),
            },
        };
        self.failures.invalidate(&key(question, &ask));
        Ok(self.keep(question, &ask, offer))
    }

    fn fail(&self, question: Question, ask: &Ask, failure: Failure) -> Arc<Failure> {
        if failure.is_unauthorized() {
            // What these credentials could see before, they can no more.
            let whose = Whose::Only(ask.caller);
            self.store.offers.invalidate(&OfferKey { cache: self.id, question, variant: ask.variant.digest(), whose });
        }
        let failure = Arc::new(failure);
        self.failures.insert(key(question, ask), (self.now(), Arc::clone(&failure)));
        failure
    }

    fn keep(&self, question: Question, ask: &Ask, mut offer: Offer) -> Arc<Offer> {
        let topic = Topic { question, variant: ask.variant.digest() };
        if let Some(known) = self.known().get_mut(&topic) {
            known.scope = Some(offer.scope);
        }
        if !self.keeps(&offer) {
            return Arc::new(offer);
        }
        if let Some(last) = self
            .last(question, ask.variant.digest(), ask.caller)
            .filter(|last| last.content.says_the_same(&offer.content))
        {
            offer.content = last.content.clone();
        }
        let offer = Arc::new(offer);
        let whose = if offer.scope == Scope::Public { Whose::Everyone } else { Whose::Only(ask.caller) };
        let key = OfferKey { cache: self.id, question, variant: topic.variant, whose };
        self.store.offers.insert(key, Arc::clone(&offer));
        offer
    }

    /// The answer with the time and scope that it is given here.
    fn offer(&self, fetched: Fetched, generation: u64) -> Offer {
        let (scope, is_hazardous) = (fetched.scope(), fetched.hazards.forbids_keeping());
        let Fetched { content, freshness: Freshness { received, ttl, .. }, .. } = fetched;
        let (ttl, scope) = match self.keeping.server {
            _ if is_hazardous => (Duration::ZERO, Scope::Private),
            ServerKeeping::Assume { scope, ttl: assumed } if ttl.is_zero() => (assumed, scope),
            _ => (ttl, scope),
        };
        // What was invalidated on its way answers those who wait for it, and nobody after them.
        let ttl = if self.generation() == generation { ttl.min(self.keeping.max_ttl) } else { Duration::ZERO };
        Offer { content, received, expires: received + ttl, scope, generation, is_hazardous }
    }

    /// A server without such a method offers nothing, for a while. For those without credentials that holds for all.
    fn nothing(&self, ask: &Ask, failure: &Failure) -> Option<Offer> {
        let scope = if ask.caller.is_none() { Scope::Public } else { Scope::Private };
        let now = self.now();
        failure.is_no_method().then(|| Offer {
            content: Content::Nothing,
            received: now,
            expires: now + NOTHING_FOR.min(self.keeping.max_ttl),
            scope,
            generation: self.generation(),
            is_hazardous: false,
        })
    }

    fn now(&self) -> Instant {
        self.store.clock()()
    }

    fn since(&self, at: Instant) -> Duration {
        self.now().saturating_duration_since(at)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Topic, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(question: Question, ask: &Ask) -> FlightKey {
    (Topic { question, variant: ask.variant.digest() }, ask.caller)
}

#[cfg(test)]
mod tests;
