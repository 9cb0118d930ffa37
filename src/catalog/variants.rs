//! Which sets of client capabilities have lists of their own.
//!
//! A server may answer a list by what its client can do, so the capabilities are part of a list's key. Clients choose
//! them freely: only a few sets are kept, the others are fetched past the cache and not often. Must never let a client
//! grow what is kept.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::Clock;

/// Sets that have lists of their own, at once.
pub const MAX_VARIANTS: usize = 16;
/// A set that nobody used for so long makes room for another.
const IDLE: Duration = Duration::from_secs(300);
/// Bytes of a set that is given a list of its own.
const MAX_CAPABILITIES: usize = 4096;
/// Answers past the cache, of all clients together.
const BYPASS_PER_SECOND: NonZeroU32 = NonZeroU32::new(5).unwrap();
const BYPASS_BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The capabilities of a client, in one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    digest: u128,
    capabilities: Arc<str>,
}

static NO_CAPABILITIES: LazyLock<Variant> = LazyLock::new(|| Variant::of(&Value::Object(serde_json::Map::new())));

impl Variant {
    /// Of a client without any: the gateway itself.
    pub fn own() -> Self {
        NO_CAPABILITIES.clone()
    }

    pub fn of(capabilities: &Value) -> Self {
        let mut text = String::new();
        write_canonical(capabilities, &mut text);
        let hash = Sha256::digest(text.as_bytes());
        let digest = hash.iter().take(16).fold(0, |digest: u128, byte| (digest << 8) | u128::from(*byte));
        Self { digest, capabilities: text.into() }
    }

    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// As JSON, in the one spelling.
    pub fn capabilities(&self) -> &str {
        &self.capabilities
    }
}

/// Members by name, no white space: what says the same is the same.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (index, element) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(element, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// What a set of capabilities gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Lists of its own in the cache.
    Kept,
    /// A list fetched for this request alone.
    Bypass,
    /// There were too many of those lately.
    Refused,
}

/// The sets that have lists of their own.
#[derive(Debug)]
pub struct Variants {
    kept: ArcSwap<Vec<Slot>>,
    changes: Mutex<()>,
    bypasses: RateLimiter<NotKeyed, InMemoryState, Since, NoOpMiddleware<Duration>>,
    since: Since,
}

#[derive(Clone, Debug)]
struct Slot {
    digest: u128,
    /// Milliseconds since the beginning.
    used: Arc<AtomicU64>,
}

/// The time since a beginning.
#[derive(Clone, Copy, Debug)]
struct Since {
    clock: Clock,
    began: Instant,
}

impl governor::clock::Clock for Since {
    type Instant = Duration;

    fn now(&self) -> Duration {
        (self.clock)().saturating_duration_since(self.began)
    }
}

impl Variants {
    pub fn new(clock: Clock) -> Self {
        let since = Since { clock, began: clock() };
        let quota = Quota::per_second(BYPASS_PER_SECOND).allow_burst(BYPASS_BURST);
        let bypasses = RateLimiter::direct_with_clock(quota, since);
        Self { kept: ArcSwap::default(), changes: Mutex::default(), bypasses, since }
    }

    pub fn admit(&self, variant: &Variant) -> Admission {
        if *variant == *NO_CAPABILITIES || self.touch(variant.digest) || self.take_slot(variant) {
            return Admission::Kept;
        }
        if self.bypasses.check().is_ok() { Admission::Bypass } else { Admission::Refused }
    }

    /// The sets that have lists, besides the empty one.
    pub fn digests(&self) -> Vec<u128> {
        self.kept.load().iter().map(|slot| slot.digest).collect()
    }

    fn touch(&self, digest: u128) -> bool {
        let kept = self.kept.load();
        let slot = kept.iter().find(|slot| slot.digest == digest);
        if let Some(slot) = slot {
            slot.used.store(self.now(), Ordering::Relaxed);
        }
        slot.is_some()
    }

    fn take_slot(&self, variant: &Variant) -> bool {
        if variant.capabilities.len() > MAX_CAPABILITIES {
            return false;
        }
        let _changing = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.touch(variant.digest) {
            return true;
        }
        let now = self.now();
        let is_used = |slot: &&Slot| now.saturating_sub(slot.used.load(Ordering::Relaxed)) < millis(IDLE);
        let mut slots: Vec<Slot> = self.kept.load().iter().filter(is_used).cloned().collect();
        // One place is the empty set's.
        if slots.len() + 1 >= MAX_VARIANTS {
            return false;
        }
        slots.push(Slot { digest: variant.digest, used: Arc::new(AtomicU64::new(now)) });
        self.kept.store(Arc::new(slots));
        true
    }

    fn now(&self) -> u64 {
        millis(governor::clock::Clock::now(&self.since))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variant(number: usize) -> Variant {
        Variant::of(&json!({ "extensions": { format!("x/{number}"): {} } }))
    }

    #[test]
    fn the_same_capabilities_have_one_spelling() {
        let one = serde_json::from_str(r#"{"b":{"y":[1,{"d":1,"c":2}],"x":"é"},"a":{}}"#).unwrap();
        let other = serde_json::from_str(r#" {"a" : { }, "b":{"x":"\u00e9","y":[1, {"c":2,"d":1}]}}"#).unwrap();
        assert_eq!(Variant::of(&one), Variant::of(&other));
        assert_eq!(Variant::of(&one).capabilities(), r#"{"a":{},"b":{"x":"é","y":[1,{"c":2,"d":1}]}}"#);
        assert_ne!(
            Variant::of(&one),
            Variant::of(&json!({ "a": {}, "b": { "x": "é", "y": [{ "c": 2, "d": 1 }, 1] } }))
        );
        assert_eq!(Variant::own(), Variant::of(&json!({})));
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_sets_are_kept_and_the_others_pass_by_but_not_often() {
        let variants = Variants::new(Instant::now);
        assert_eq!(variants.admit(&Variant::own()), Admission::Kept);
        for number in 1..MAX_VARIANTS {
            assert_eq!(variants.admit(&variant(number)), Admission::Kept);
        }
        let others: Vec<_> = (100..200).map(|number| variants.admit(&variant(number))).collect();
        assert!(!others.contains(&Admission::Kept));
        let bypassed = |all: &[Admission]| all.iter().filter(|admission| **admission == Admission::Bypass).count();
        assert_eq!(bypassed(&others), 20);
        tokio::time::advance(Duration::from_secs(1)).await;
        let others: Vec<_> = (100..200).map(|number| variants.admit(&variant(number))).collect();
        assert_eq!(bypassed(&others), 5);
        assert_eq!(variants.admit(&variant(3)), Admission::Kept);
        assert_eq!(variants.admit(&Variant::own()), Admission::Kept);
    }

    #[tokio::test(start_paused = true)]
    async fn a_set_that_nobody_uses_makes_room() {
        let variants = Variants::new(Instant::now);
        for number in 1..MAX_VARIANTS {
            variants.admit(&variant(number));
        }
        tokio::time::advance(IDLE / 2).await;
        variants.admit(&variant(1));
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(variants.admit(&variant(100)), Admission::Kept);
        assert_eq!(variants.digests().len(), 2);
        assert_eq!(variants.admit(&variant(1)), Admission::Kept);
    }

    #[test]
    fn a_large_set_passes_by() {
        let large = Variant::of(&json!({ "extensions": { "x": "y".repeat(MAX_CAPABILITIES) } }));
        assert_eq!(Variants::new(Instant::now).admit(&large), Admission::Bypass);
    }
}
