//! Numbers that follow from a seed: SplitMix64 (Steele, Lea and Flood, 2014). Not for secrets.

/// A source of numbers that follow from its seed alone, on every machine alike.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The source of that seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number; each of 2^64 comes once in a period.
    pub const fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `count - 1`; 0 if `count` is 0. The bias of taking a remainder is far below what a test can see.
    pub const fn below(&mut self, count: u64) -> u64 {
        match self.number().checked_rem(count) {
            Some(number) => number,
            None => 0,
        }
    }

    /// A number from `min` to `max`, both included; `min` if they are the wrong way round.
    pub const fn between(&mut self, min: i64, max: i64) -> i64 {
        if min >= max {
            return min;
        }
        let count = max.wrapping_sub(min).wrapping_add(1) as u64;
        if count == 0 {
            return self.number() as i64;
        }
        min.wrapping_add(self.below(count) as i64)
    }

    /// True in `per_mille` of a thousand cases.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// One of the items; `None` if there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(usize::try_from(self.below(items.len() as u64)).ok()?)
    }
}
