//! How many at once: requests under way, for each caller.
//!
//! They are counted in two cells, and the smaller count is the caller's: it is never too small, and too large only where both
//! cells are shared with others who have requests under way.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::cells::{CELLS, Cells};

/// The requests under way of all callers.
pub(super) struct InFlightTable {
    rows: [Box<[AtomicU32]>; 2],
    max: u32,
}

/// One request under way, until it is dropped.
pub(super) struct InFlight<'a> {
    table: &'a InFlightTable,
    cells: Cells,
}

impl InFlightTable {
    /// At most so many for each caller.
    pub(super) fn new(max: u32) -> Self {
        let row = || (0..CELLS).map(|_| AtomicU32::new(0)).collect();
        Self { rows: [row(), row()], max }
    }

    /// Counts one more, if the caller has fewer than may be.
    pub(super) fn enter(&self, cells: Cells) -> Option<InFlight<'_>> {
        let under_way = self.each(cells).map(|cell| cell.fetch_add(1, Relaxed)).min().unwrap_or(0);
        // Dropped, it is not counted any more.
        let entered = InFlight { table: self, cells };
        (under_way < self.max).then_some(entered)
    }

    pub(super) const fn max(&self) -> u32 {
        self.max
    }

    fn each(&self, Cells(places): Cells) -> impl Iterator<Item = &AtomicU32> {
        self.rows.iter().zip(places).filter_map(|(row, place)| row.get(place))
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        for cell in self.table.each(self.cells) {
            cell.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::cells::Seed;

    #[test]
    fn so_many_at_once_and_again_when_they_are_done() {
        let (table, seed) = (InFlightTable::new(3), Seed::default());
        let ann = seed.cells("ann");
        let mut entered: Vec<_> = (0..3).map(|_| table.enter(ann).expect("there is room")).collect();
        assert!(table.enter(ann).is_none() && table.enter(ann).is_none());
        assert!(table.enter(seed.cells("bob")).is_some());
        entered.pop();
        entered.push(table.enter(ann).expect("there is room again"));
        assert!(table.enter(ann).is_none());
        drop(entered);
        assert!(table.each(ann).all(|cell| cell.load(Relaxed) == 0));
    }

    #[test]
    fn callers_without_number_take_no_place_of_another() {
        let (table, seed) = (InFlightTable::new(4), Seed::default());
        let strangers: Vec<_> = (0..20_000).filter_map(|number| table.enter(seed.cells(("stranger", number)))).collect();
        assert!(strangers.len() > 19_900, "{}", strangers.len());
        let others = (0..1_000).filter(|number| table.enter(seed.cells(("other", *number))).is_some()).count();
        assert!(others >= 999, "{others}");
    }
}
