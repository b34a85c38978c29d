//! Seeded randomness: the same seed gives the same plan, on every machine and in every version.
//!
//! The generator is SplitMix64. It is small, passes the usual batteries for its size, and its stream is fixed by this
//! file alone, so a plan printed with `--seed` can be repeated years later. It is **not** for secrets.

/// A seeded generator of numbers. Cheap to create, cheap to fork.
#[derive(Debug, Clone)]
pub struct Seed {
    state: u64,
}

impl Seed {
    /// A generator whose stream depends on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator for one purpose, independent of how far any other one has been read.
    ///
    /// `label` names the purpose and `index` the worker, so that adding a consumer does not shift everybody else's draws.
    pub fn fork(&self, label: &str, index: u64) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in label.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut child = Self { state: self.state ^ hash ^ index.wrapping_mul(0x9e6c_63d0_876a_9a47) };
        child.next();
        child
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "an endless stream of plain numbers, not an iterator of options")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`; 0 for a bound of 0.
    ///
    /// The multiply-shift method: its bias is under `bound / 2^64`, which no plan of ours can show.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number in `low..=high`; `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// An index into something of length `len`; 0 for an empty one.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// True with a probability of `per_mille` in a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of the items, or none if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.index(items.len()))
    }
}
