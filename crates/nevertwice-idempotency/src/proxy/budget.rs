//! Bytes that many hold together, up to a bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bound on bytes, shared by all clones.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Bytes>);

#[derive(Debug)]
struct Bytes {
    used: AtomicU64,
    max: u64,
}

impl Budget {
    pub(super) fn new(max: u64) -> Self {
        Self(Arc::new(Bytes { used: AtomicU64::new(0), max }))
    }

    /// A share of nothing yet.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }

    /// Bytes that are held.
    pub(super) fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }
}

/// What one holds of a budget; it goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    bytes: u64,
}

impl Share {
    /// Makes the share as large as that, unless the budget has not so much left: then it stays what it was.
    #[must_use]
    pub(super) fn grow_to(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let taken = |used: u64| used.checked_add(more).filter(|used| *used <= self.budget.0.max);
        let is_taken = self.budget.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        if is_taken {
            self.bytes += more;
        }
        is_taken
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_their_budget_and_go_back() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.grow_to(6) && one.grow_to(3) && other.grow_to(4));
        assert!(!other.grow_to(5), "only 10 are there");
        assert_eq!(budget.used(), 10);
        drop(one);
        assert!(other.grow_to(10) && !other.grow_to(u64::MAX));
        drop(other);
        assert_eq!(budget.used(), 0);
    }
}
