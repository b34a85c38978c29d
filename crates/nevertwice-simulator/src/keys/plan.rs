//! What a seed draws.

use nevertwice_api::Level;
use nevertwice_core::model::Random;
use nevertwice_local::KeyStoreOptions;
use nevertwice_local::journal::JournalOptions;

/// More than the answers of all keys take, with all that lies in files between them.
const ROOMY_BYTES: u64 = 1 << 20;

/// When the clock begins.
pub(crate) const START_MS: i64 = 1_790_000_000_000;

/// What a seed does, and what goes wrong in it.
#[derive(Clone, Debug)]
pub struct KeysPlan {
    /// The seed.
    pub seed: u64,
    /// How many commands are decided, at least, before it becomes quiet.
    pub commands: u64,
    /// How many keys there are.
    pub(crate) keys: u64,
    /// How many contenders.
    pub(crate) contenders: usize,
    /// How large answers get.
    pub(crate) answer_bytes_max: u64,
    pub(crate) lease_ms: i64,
    pub(crate) retention_ms: i64,
    /// How often each of these happens, in thousandths of steps.
    pub(crate) often: Often,
    /// The setting of the store.
    pub(crate) store: KeyStoreOptions,
}

/// How often something happens, in thousandths of steps.
#[derive(Clone, Debug)]
pub(crate) struct Often {
    pub(crate) crash: u64,
    pub(crate) stop: u64,
    pub(crate) failed_call: u64,
    pub(crate) full_disk: u64,
    pub(crate) snapshot: u64,
    pub(crate) sweep: u64,
    pub(crate) leap: u64,
    pub(crate) step_back: u64,
    /// In thousandths of answers.
    pub(crate) lost_answer: u64,
}

impl KeysPlan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: u64, commands: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6b65_7973);
        let random = &mut random;
        let keys = 1 + random.below(8);
        // Every fourth seed has room for fewer keys than there are.
        let records_max = if random.chance(250) { 1 + random.below(keys) } else { 10_000 };
        let store = KeyStoreOptions {
            level: if random.chance(200) { Level::Decided } else { Level::Journaled },
            records_max,
            answers_bytes_max: if random.chance(300) { 8_192 + random.below(60_000) } else { ROOMY_BYTES },
            answer_bytes_max: 8_192,
            queue_max: 64,
            group_items_max: 1 + random.below(8) as usize,
            snapshot_bytes: if random.chance(500) { 2_000 + random.below(20_000) } else { 0 },
            journal: JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 },
            ..KeyStoreOptions::default()
        };
        let often = Often {
            crash: drawn(random, 800, 40),
            stop: drawn(random, 500, 5),
            failed_call: drawn(random, 500, 8),
            full_disk: drawn(random, 300, 4),
            snapshot: drawn(random, 700, 10),
            sweep: drawn(random, 700, 30),
            leap: drawn(random, 800, 30),
            step_back: drawn(random, 500, 20),
            lost_answer: drawn(random, 700, 200),
        };
        Self {
            seed,
            commands,
            keys,
            contenders: 1 + random.below(12) as usize,
            answer_bytes_max: 1 + random.below(4_000),
            lease_ms: random.between(0, 2_000),
            retention_ms: random.between(3_000, 60_000),
            often,
            store,
        }
    }

    /// Whether a claim may be refused because there are as many keys or bytes as may be.
    pub(crate) const fn is_tight(&self) -> bool {
        self.store.records_max < self.keys || self.store.answers_bytes_max < ROOMY_BYTES
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub(crate) fn with(mut self, mutant: nevertwice_local::Mutant) -> Self {
        self.store.mutant = Some(mutant);
        self
    }
}

/// How often, in seeds that have it at all: `per_mille` of a thousand have.
fn drawn(random: &mut Random, per_mille: u64, most: u64) -> u64 {
    if random.chance(per_mille) { 1 + random.below(most) } else { 0 }
}
