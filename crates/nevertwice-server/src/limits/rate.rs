//! How often: a bucket for each caller that fills at a rate and holds a burst (the generic cell rate algorithm).
//!
//! A bucket is one number, the instant at which it will be full again. It is kept in two cells, and the earlier one counts: a
//! cell that is shared with a busy caller shows an instant that is too late, and the other one does not.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::cells::{CELLS, Cells};

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// How many a second, in the long run; at least 1.
    pub(crate) per_second: u32,
    /// How many at once, after a pause; at least 1.
    pub(crate) burst: u32,
}

/// How long until the next one is let in, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait(pub(super) u64);

/// The buckets of all callers.
pub(super) struct RateTable {
    rows: [Box<[AtomicU64]>; 2],
    /// What one costs, in nanoseconds.
    cost: u64,
    /// By how much the bucket may be emptied before another one has to wait, in nanoseconds.
    tolerance: u64,
}

impl RateTable {
    pub(super) fn new(rate: Rate) -> Self {
        let cost = 1_000_000_000 / u64::from(rate.per_second.max(1));
        let row = || (0..CELLS).map(|_| AtomicU64::new(0)).collect();
        Self { rows: [row(), row()], cost, tolerance: cost * u64::from(rate.burst.saturating_sub(1)) }
    }

    /// Takes `count` out of the caller's bucket, if anything is in it; what is taken beyond that has to be waited for by
    /// whoever comes next. `now` is in nanoseconds since any instant.
    pub(super) fn take(&self, Cells([first, second]): Cells, count: u32, now: u64) -> Result<(), Wait> {
        let [ours, other] = &self.rows;
        let (Some(first), Some(second)) = (ours.get(first), other.get(second)) else { return Ok(()) };
        loop {
            let (one, two) = (first.load(Acquire), second.load(Acquire));
            let (earlier, seen, later) = if one <= two { (first, one, second) } else { (second, two, first) };
            let full_at = seen.max(now);
            if let Some(wait) = (full_at - now).checked_sub(self.tolerance).filter(|wait| *wait > 0) {
                return Err(Wait(wait));
            }
            let next = full_at.saturating_add(self.cost.saturating_mul(u64::from(count)));
            // The later cell first, and what is taken counts with the earlier one: in the other order somebody could come between, find
            // the later cell behind, and take the same once more from there.
            later.fetch_max(next, Relaxed);
            // If somebody else was here meanwhile, it is looked at again.
            if earlier.compare_exchange_weak(seen, next, Release, Relaxed).is_ok() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::cells::Seed;

    const SECOND: u64 = 1_000_000_000;

    /// How many of so many are let in at an instant.
    fn let_in(table: &RateTable, cells: Cells, asked: usize, now: u64) -> usize {
        (0..asked).filter(|_| table.take(cells, 1, now).is_ok()).count()
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let table = RateTable::new(Rate { per_second: 10, burst: 5 });
        let cells = Seed::default().cells("ann");
        let start = 7 * SECOND;
        assert_eq!(let_in(&table, cells, 20, start), 5);
        assert_eq!(table.take(cells, 1, start), Err(Wait(SECOND / 10)));
        assert_eq!(table.take(cells, 1, start + SECOND / 10 - 1), Err(Wait(1)));
        assert_eq!(let_in(&table, cells, 20, start + SECOND / 10), 1);
        assert_eq!(let_in(&table, cells, 20, start + SECOND / 10 + SECOND / 2), 5, "no more than the burst");
        assert_eq!(let_in(&table, cells, 20, start + 100 * SECOND), 5);
        let over_time: usize = (0..1_000).map(|step| let_in(&table, cells, 3, start + 200 * SECOND + step * SECOND / 100)).sum();
        assert_eq!(over_time, 5 + 99, "ten seconds at ten a second");
    }

    #[test]
    fn many_at_once_are_waited_for_afterwards() {
        let table = RateTable::new(Rate { per_second: 10, burst: 5 });
        let cells = Seed::default().cells("ann");
        assert_eq!(table.take(cells, 100, SECOND), Ok(()));
        assert_eq!(table.take(cells, 1, SECOND), Err(Wait(10 * SECOND - 4 * SECOND / 10)));
        assert_eq!(table.take(cells, 1, 11 * SECOND), Ok(()));
    }

    #[test]
    fn callers_without_number_take_nothing_from_one_who_keeps_to_the_rate() {
        let table = RateTable::new(Rate { per_second: 100, burst: 100 });
        let seed = Seed::default();
        let ann = seed.cells("ann");
        for second in 1..=20 {
            for number in 0..20_000 {
                let _ = table.take(seed.cells(("stranger", second, number)), 1, second * SECOND);
            }
            assert_eq!(let_in(&table, ann, 50, second * SECOND), 50);
        }
    }

    #[test]
    fn at_once_from_many_threads_is_no_way_around_it() {
        let table = RateTable::new(Rate { per_second: 1, burst: 1_000 });
        let cells = Seed::default().cells("ann");
        let let_in: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| let_in(&table, cells, 1_000, SECOND))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends well")).sum()
        });
        assert_eq!(let_in, 1_000);
    }
}
