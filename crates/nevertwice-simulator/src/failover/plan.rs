//! What a seed draws for the loss of a primary.

use nevertwice_core::model::{Random, WorkloadOptions};
use nevertwice_local::LocalOptions;
use nevertwice_local::journal::JournalOptions;

use crate::plan::START_MS;

/// How many primaries are lost in a seed that has a standby: each in a scene of its own.
const SCENES: usize = 5;

/// What a seed draws. Shares are in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Failover {
    pub(crate) seed: u64,
    /// How many commands are answered before the primary is lost.
    pub(crate) answers: u64,
    pub(crate) workload: WorkloadOptions,
    pub(crate) backend: LocalOptions,
    /// Of the commands, how many ask for `replicated`.
    pub(crate) replicated: u64,
    /// Of the questions of the standby, how many do not arrive, and of the answers.
    pub(crate) lost: u64,
    pub(crate) answer_lost: u64,
    /// How often the standby asks, in each turn: seldom is a lag.
    pub(crate) asks: u64,
    /// How often it is cut off, in each turn, and for how many turns at most.
    pub(crate) cut_off: u64,
    pub(crate) cut_off_turns: u64,
    /// How often each side dies, in each turn.
    pub(crate) primary_dies: u64,
    pub(crate) standby_dies: u64,
    /// Of the deaths, how many come in the middle of a call to the disk, and how many take the power with them.
    pub(crate) in_call: u64,
    pub(crate) power: u64,
    /// How often what waits for the standby is given up, in each turn.
    pub(crate) gives_up: u64,
}

impl Failover {
    /// The scenes of a seed; none in a seed that has no standby.
    pub(crate) fn of(seed: u64) -> Vec<Self> {
        let mut random = Random::new(seed ^ 0x057a_4db1);
        let scenes = if random.chance(600) { SCENES } else { 0 };
        (0..scenes).map(|_| Self::draw(&mut random)).collect()
    }

    fn draw(random: &mut Random) -> Self {
        Self {
            seed: random.number(),
            answers: random.below(500) + 100,
            workload: WorkloadOptions {
                markets: 1,
                sales: 1,
                accounts: 8,
                instruments: 4,
                candidates: 20,
                seats: 12,
                repeat_per_mille: random.below(300),
                start_ms: START_MS,
                step_ms_max: 0,
                retention_ms: 86_400_000,
                wild_clock: false,
                ..WorkloadOptions::default()
            },
            backend: LocalOptions {
                replicas_min: 1,
                snapshot_bytes: if random.chance(500) { 12_000 } else { 0 },
                journal: JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 },
                ..LocalOptions::default()
            },
            replicated: random.between(100, 1_000).unsigned_abs(),
            lost: random.below(300),
            answer_lost: random.below(300),
            asks: random.between(30, 900).unsigned_abs(),
            cut_off: random.below(8),
            cut_off_turns: random.below(400),
            primary_dies: random.below(6),
            standby_dies: random.below(12),
            in_call: random.below(1_001),
            power: random.below(1_001),
            gives_up: random.below(8),
        }
    }
}
