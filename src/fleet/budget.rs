//! What one process takes on at once: connections, requests in flight, bytes waiting to be judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus::IntGauge;

/// A bounded number of things, counted by what holds them.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: usize,
    gauge: IntGauge,
}

/// A share of a budget; given back when dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    amount: usize,
}

impl Budget {
    pub fn new(limit: usize, gauge: IntGauge) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit, gauge })
    }

    /// Takes `amount`, or `None` if that would go past the limit.
    pub fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let mut share = Share { budget: Arc::clone(self), amount: 0 };
        share.grow(amount).then_some(share)
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }
}

impl Share {
    /// Takes `more` of the same budget; false, and nothing taken, past the limit.
    pub fn grow(&mut self, more: usize) -> bool {
        let taken = self.budget.used.fetch_add(more, Ordering::AcqRel).saturating_add(more);
        if taken > self.budget.limit {
            self.budget.used.fetch_sub(more, Ordering::AcqRel);
            return false;
        }
        self.amount += more;
        self.budget.gauge.add(i64::try_from(more).unwrap_or(i64::MAX));
        true
    }
}

impl Share {
    /// Takes or gives back until `amount` is held; false, and nothing changed, past the limit.
    pub fn resize(&mut self, amount: usize) -> bool {
        if amount >= self.amount {
            return self.grow(amount - self.amount);
        }
        let less = self.amount - amount;
        self.amount = amount;
        self.budget.used.fetch_sub(less, Ordering::AcqRel);
        self.budget.gauge.sub(i64::try_from(less).unwrap_or(i64::MAX));
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.amount, Ordering::AcqRel);
        self.budget.gauge.sub(i64::try_from(self.amount).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_given_out_to_its_limit_and_comes_back() {
        let budget = Budget::new(10, IntGauge::new("x", "x").unwrap());
        let mut first = budget.take(6).unwrap();
        assert!(budget.take(5).is_none());
        assert!(!first.grow(5));
        assert!(first.grow(4));
        assert_eq!((budget.used(), budget.gauge.get()), (10, 10));
        assert!(!first.resize(11));
        assert!(first.resize(3));
        assert_eq!((budget.used(), budget.gauge.get()), (3, 3));
        drop(first);
        assert_eq!((budget.used(), budget.gauge.get()), (0, 0));
        assert!(budget.take(10).is_some());
    }
}
