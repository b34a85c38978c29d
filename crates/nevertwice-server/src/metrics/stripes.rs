//! Counters that no two threads share.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many threads count without another's memory. More than that share, which is slower and still right.
const STRIPES: usize = 8;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static NUMBER: usize = THREADS.fetch_add(1, Relaxed) % STRIPES;
}

/// The same counters several times. Each thread counts in its own, and whoever reads adds them up: a counter that all threads write
/// goes from processor to processor with every request, which costs more than the counting.
pub(super) struct Stripes<T>(Box<[T]>);

impl<T: Default> Default for Stripes<T> {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| T::default()).collect())
    }
}

impl<T> Stripes<T> {
    /// This thread's.
    pub(super) fn mine(&self) -> &T {
        &self.0[NUMBER.with(|number| *number)]
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}
