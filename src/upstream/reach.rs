//! Whether an endpoint can be reached, as far as connections to it have shown.
//!
//! One that nobody connected yet, or that failed, is tried now and then, by one at a time; requests go elsewhere while there
//! is an elsewhere. Told the time; without I/O.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// After the first failure an endpoint is left alone for this long; after each further one for twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What connections have shown. All times are milliseconds since a beginning that the caller chose.
#[derive(Debug, Default)]
pub struct Reach {
    /// [`WELL`], or when it may be tried next.
    state: AtomicU64,
    /// In a row.
    failures: AtomicU32,
}

/// The last connection stood.
const WELL: u64 = u64::MAX;

impl Reach {
    pub fn is_well(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WELL
    }

    /// Whether the caller is the one who tries it now; nobody else does before `limit` has passed.
    pub fn claim(&self, now: u64, limit: Duration) -> bool {
        let due = self.state.load(Ordering::Relaxed);
        let next = now.saturating_add(millis(limit)).min(WELL - 1);
        due <= now && self.state.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// A connection stands. Whether it did not before, after failures.
    pub fn connected(&self) -> bool {
        if self.is_well() {
            return false;
        }
        self.state.store(WELL, Ordering::Relaxed);
        self.failures.swap(0, Ordering::Relaxed) > 0
    }

    /// No connection could be made. Whether that is news.
    pub fn failed(&self, now: u64) -> bool {
        let before = self.failures.fetch_add(1, Ordering::Relaxed);
        let pause = FIRST_PAUSE.saturating_mul(1 << before.min(16)).min(LONGEST_PAUSE);
        self.state.store(now.saturating_add(millis(pause)).min(WELL - 1), Ordering::Relaxed);
        before == 0
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    #[test]
    fn a_new_one_is_tried_by_one_at_a_time_until_it_is_well() {
        let reach = Reach::default();
        assert!(!reach.is_well());
        assert!(reach.claim(0, LIMIT));
        assert!(!reach.claim(0, LIMIT) && !reach.claim(1_999, LIMIT));
        assert!(reach.claim(2_000, LIMIT), "whoever tried it is gone");
        assert!(!reach.connected(), "it had never failed");
        assert!(reach.is_well() && !reach.claim(10_000, LIMIT));
    }

    #[test]
    fn one_that_failed_is_left_alone_for_longer_each_time_and_well_again_at_once() {
        let reach = Reach::default();
        let mut now = 0;
        for (failure, pause) in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].into_iter().enumerate() {
            assert_eq!(reach.failed(now), failure == 0);
            assert!(!reach.claim(now + pause - 1, LIMIT), "{pause}");
            now += pause;
            assert!(reach.claim(now, LIMIT), "{pause}");
        }
        assert!(reach.connected());
        assert!(!reach.connected());
        assert!(reach.failed(now) && !reach.is_well());
        assert!(reach.claim(now + 500, LIMIT));
    }
}
