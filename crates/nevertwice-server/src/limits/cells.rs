//! Which cells of a table a caller counts in.

use std::hash::{BuildHasher as _, Hash, RandomState};

/// Cells in a row of a table; a power of two.
pub(super) const CELLS: usize = 1 << 16;

/// A caller, as a table knows it: where it counts in each of the two rows.
///
/// Two callers may share a cell of one row, and then the other row tells them apart; that they share both is as good as
/// never: among a hundred busy callers about two in a billion others share both their cells with one of them. The seed is
/// drawn at every start, so nobody can look for a name that shares the cells of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cells(pub(super) [usize; 2]);

/// The seed of all tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Seed(RandomState);

impl Seed {
    /// A number for a caller, which nobody outside knows.
    pub(super) fn number(&self, caller: impl Hash) -> u64 {
        self.0.hash_one(caller)
    }

    /// Where a caller counts.
    pub(super) fn cells(&self, caller: impl Hash) -> Cells {
        let number = self.number(caller);
        let row = |bits: u64| usize::try_from(bits % CELLS as u64).unwrap_or(0);
        Cells([row(number), row(number >> 32)])
    }
}
