//! Numbers drawn from the seed where the product draws them at random.

use std::io;
use std::sync::{Mutex, PoisonError};

use nevertwice_core::model::Random;
use nevertwice_local::chance::Chance;

/// The chance of one seed.
pub(crate) struct SeededChance(Mutex<Random>);

impl SeededChance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Random::new(seed)))
    }
}

impl Chance for SeededChance {
    fn draw(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).number())
    }
}
