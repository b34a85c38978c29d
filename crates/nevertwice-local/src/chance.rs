//! The only place of this crate that draws numbers at random.

use std::io;

use crate::error::IoFailure;
use crate::states::Seed;

/// Where numbers come from that strangers must not guess: the seeds of hash tables, whose keys are theirs, and the number of a
/// new journal. No decision, entry or state hash depends on them.
pub trait Chance: Send + Sync + 'static {
    /// The next number.
    ///
    /// # Errors
    /// If the system has none.
    fn draw(&self) -> io::Result<u64>;
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn draw(&self) -> io::Result<u64> {
        getrandom::u64().map_err(|error| io::Error::other(error.to_string()))
    }
}

/// Draws the seed of the hash tables.
pub(crate) fn draw_seed(chance: &dyn Chance) -> Result<Seed, IoFailure> {
    let draw = || chance.draw().map_err(IoFailure::of("drawing a seed for", ""));
    Ok((draw()?, draw()?))
}
