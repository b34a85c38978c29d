//! Planted bugs, by which the simulator shows that it finds such ones. Compiled only with the feature `mutants`, which nothing that
//! is shipped turns on, and inert until one is planted.

/// A bug that can be planted in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A release does not look who owns the booking.
    ReleaseWithoutOwner,
    /// A purge frees intents when half of their retention is over.
    EarlyPurge,
}
