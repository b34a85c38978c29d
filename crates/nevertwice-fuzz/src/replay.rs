//! The runner that needs no fuzzer: the committed inputs, and seeded mutations of them.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::mutate::Mutator;
use crate::target::{Target, Verdict};

/// How much of an input that broke something is shown.
const SHOWN_BYTES_MAX: usize = 16 << 10;

/// What became of the inputs of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Inputs that were read.
    pub accepted: u64,
    /// Inputs that were refused.
    pub refused: u64,
}

/// Runs a target on its inputs as they are, then on so many mutations of them.
///
/// # Panics
/// If a property does not hold. The input is shown before, as hexadecimal digits.
#[must_use]
pub fn replay(target: &Target, inputs: &[Vec<u8>], seed: u64, mutations: u64) -> Tally {
    let mut tally = Tally::default();
    for (number, input) in inputs.iter().enumerate() {
        tally.add(guarded(target, input, &format!("input {number}")));
    }
    for number in 0..mutations {
        // Each mutation has a seed of its own, so that one can be made again without those before it.
        let input = Mutator::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number), target.words).mutate(inputs);
        tally.add(guarded(target, &input, &format!("seed {seed}, mutation {number}")));
    }
    tally
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Accepted => self.accepted += 1,
            Verdict::Refused => self.refused += 1,
        }
    }
}

fn guarded(target: &Target, input: &[u8], what: &str) -> Verdict {
    match catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        Ok(verdict) => verdict,
        Err(panic) => {
            let mut hex = String::new();
            for byte in input.iter().take(SHOWN_BYTES_MAX) {
                let _ = write!(hex, "{byte:02x}");
            }
            eprintln!("target {}, {what}, {} bytes: {hex}", target.name, input.len());
            resume_unwind(panic)
        }
    }
}
