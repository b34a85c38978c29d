//! What a seed draws before anything happens: how the world is made, what goes wrong in it, and how often.

use nevertwice_core::model::{Random, WorkloadOptions};
use nevertwice_local::LocalOptions;
use nevertwice_local::journal::JournalOptions;

use crate::failover::Failover;

/// The instant that a right clock shows at the beginning, in milliseconds since 1970.
pub(crate) const START_MS: i64 = 1_780_000_000_000;

/// What a seed draws.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// How many decisions are told before the quiet phase begins.
    pub decisions: u64,
    pub(crate) workload: WorkloadOptions,
    pub(crate) backend: LocalOptions,
    pub(crate) server: Server,
    pub(crate) network: Network,
    pub(crate) clients: Clients,
    pub(crate) process: Process,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) steward: Steward,
    pub(crate) gateway: Gateway,
    pub(crate) desk: Option<Desk>,
    pub(crate) failovers: Vec<Failover>,
}

/// How the server is configured.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) answer_deadline_ms: u64,
    pub(crate) grace_ms: i64,
    pub(crate) requests_max: u32,
}

/// What becomes of messages, in thousandths.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) reply_lost: u64,
    pub(crate) reply_doubled: u64,
    pub(crate) hang_up: u64,
    pub(crate) slow: u64,
    /// How long a message takes.
    pub(crate) delay_us: i64,
    /// How long a slow one takes, at most.
    pub(crate) slow_us: i64,
}

/// Who asks, and how.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    /// Intents that are open at a time.
    pub(crate) open_max: usize,
    /// How long a client waits before it asks again.
    pub(crate) patience_ms: i64,
    /// Of a thousand commands that HTTP can express, how many go over it.
    pub(crate) http: u64,
    /// Of a thousand orders over HTTP, how many go in batches.
    pub(crate) batched: u64,
    /// Of a thousand things asked, how many are reads.
    pub(crate) reads: u64,
    /// Of a thousand refused clients, how many ask once more when their intent has expired, to be sure.
    pub(crate) sure: u64,
    /// Of a thousand commands, how many are given up within a second.
    pub(crate) hurried: u64,
    /// Of a thousand things asked, how many ask for a level of their own.
    pub(crate) levels: u64,
    /// The longest gap between two things asked, by phase; a phase draws one of them.
    pub(crate) gaps_us: Vec<i64>,
}

/// When the process ends, mean intervals; none: never.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) crash_ms: Option<i64>,
    pub(crate) stop_ms: Option<i64>,
    /// Of a thousand crashes, how many come in the middle of a call to the disk.
    pub(crate) in_call: u64,
    /// Of a thousand crashes, how many take the power with them.
    pub(crate) power: u64,
    /// Of a thousand starts, how many die on the way.
    pub(crate) in_recovery: u64,
    /// How long the process is gone, at most.
    pub(crate) down_ms: i64,
}

/// What goes wrong with the disk: mean intervals; none: never.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) fail_ms: Option<i64>,
    pub(crate) full_ms: Option<i64>,
    /// How long it stays full, at most.
    pub(crate) full_for_ms: i64,
    /// Of a thousand ends of the process, how many leave a flipped bit.
    pub(crate) flips: u64,
    /// How long a sync takes, mostly.
    pub(crate) sync_us: i64,
    /// Of a thousand syncs, how many are slow.
    pub(crate) slow: u64,
    pub(crate) slow_us: i64,
}

/// What the clock does.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The mean interval between two steps; none: it is always right.
    pub(crate) step_ms: Option<i64>,
    /// How far a step goes, at most.
    pub(crate) step_max_ms: i64,
}

/// When the steward sweeps.
#[derive(Clone, Debug)]
pub(crate) struct Steward {
    /// The mean interval; none: not before the quiet phase.
    pub(crate) every_ms: Option<i64>,
}

/// How the payment gateway behaves.
#[derive(Clone, Debug)]
pub(crate) struct Gateway {
    /// Of a thousand calls, how many fail.
    pub(crate) fails: u64,
    /// How long a call takes, at most.
    pub(crate) delay_ms: i64,
}

/// A sale over HTTP, with people and payments.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    /// Of a thousand things asked, how many are asked here.
    pub(crate) share: u64,
    pub(crate) candidates: u64,
    pub(crate) seats: i64,
    pub(crate) hold_ms: i64,
    pub(crate) retention_ms: i64,
    /// Of a thousand bookings with a page for their payment, how many are paid there.
    pub(crate) paid: u64,
    /// Of a thousand, how many are given up.
    pub(crate) released: u64,
}

impl Plan {
    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with(mut self, mutant: nevertwice_local::Mutant) -> Self {
        self.backend.mutant = Some(mutant);
        self.failovers.iter_mut().for_each(|failover| failover.backend.mutant = Some(mutant));
        self
    }

    /// The plan of a seed, with so many decisions.
    #[must_use]
    pub fn of(seed: u64, decisions: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5ee_d0f_a11);
        let random = &mut random;
        let retention_ms = *random.pick(&[2_000, 8_000, 30_000, 120_000]).expect("the list is not empty");
        let hold_ms = random.between(200, 4_000).min(retention_ms / 2);
        Self {
            seed,
            decisions: decisions + random.below(decisions / 8 + 1),
            workload: workload(random, retention_ms, hold_ms),
            backend: backend(random),
            server: Server {
                answer_deadline_ms: u64::try_from(random.between(100, 1_000)).unwrap_or(100),
                grace_ms: random.between(0, 2_000),
                requests_max: if random.chance(200) { 8 } else { 20_000 },
            },
            network: network(random),
            clients: clients(random),
            process: process(random),
            disk: disk(random),
            clock: Clock {
                step_ms: every(random, 200, 20_000),
                step_max_ms: *random.pick(&[50, 1_000, hold_ms * 2, retention_ms]).expect("the list is not empty"),
            },
            steward: Steward { every_ms: every(random, hold_ms / 8 + 20, hold_ms * 4) },
            gateway: Gateway { fails: rate(random, 200), delay_ms: random.between(0, 400) },
            desk: random.chance(750).then(|| desk(random, hold_ms, retention_ms)),
            failovers: Failover::of(seed),
        }
    }
}

/// A rate in thousandths: none at all in three cases of ten, else of any order of magnitude up to `max`.
fn rate(random: &mut Random, max: u64) -> u64 {
    if random.chance(300) {
        return 0;
    }
    let max = max >> random.below(6);
    1 + random.below(max.max(1))
}

/// A mean interval, or never.
fn every(random: &mut Random, min_ms: i64, max_ms: i64) -> Option<i64> {
    (!random.chance(250)).then(|| random.between(min_ms, max_ms) >> random.below(3)).map(|ms| ms.max(10))
}

fn workload(random: &mut Random, retention_ms: i64, hold_ms: i64) -> WorkloadOptions {
    let markets = u32::try_from(random.between(0, 3)).unwrap_or(1);
    // Something has to be asked.
    let sales = u32::try_from(random.between(i64::from(markets == 0), 2)).unwrap_or(1);
    WorkloadOptions {
        markets,
        sales,
        accounts: usize::try_from(random.between(2, 40)).unwrap_or(12),
        instruments: usize::try_from(random.between(1, 12)).unwrap_or(6),
        candidates: usize::try_from(random.between(5, 120)).unwrap_or(60),
        seats: random.between(1, 80),
        hot_per_mille: random.below(1_001),
        repeat_per_mille: random.below(400),
        start_ms: START_MS,
        step_ms_max: 0,
        retention_ms,
        hold_ms,
        window_ms: random.between(10_000, 200_000),
        wild_clock: false,
    }
}

fn backend(random: &mut Random) -> LocalOptions {
    LocalOptions {
        queue_max: if random.chance(200) { 24 } else { 4_096 },
        group_items_max: *random.pick(&[8, 64, 4_096]).expect("the list is not empty"),
        snapshot_bytes: *random.pick(&[0, 15_000, 60_000, 250_000]).expect("the list is not empty"),
        journal: JournalOptions {
            segment_bytes: *random.pick(&[64 << 10, 128 << 10, 512 << 10]).expect("the list is not empty"),
            segments_ahead: 0,
        },
        ..LocalOptions::default()
    }
}

fn network(random: &mut Random) -> Network {
    Network {
        lost: rate(random, 150),
        doubled: rate(random, 150),
        reply_lost: rate(random, 200),
        reply_doubled: rate(random, 100),
        hang_up: rate(random, 100),
        slow: rate(random, 100),
        delay_us: random.between(20, 4_000),
        slow_us: random.between(10_000, 3_000_000),
    }
}

fn clients(random: &mut Random) -> Clients {
    let gaps = [30, 300, 3_000, 12_000, 25_000];
    let phases = random.between(1, 4);
    Clients {
        open_max: usize::try_from(random.between(4, 300)).unwrap_or(100),
        patience_ms: random.between(20, 1_500),
        http: random.below(1_001),
        batched: rate(random, 600),
        reads: rate(random, 150),
        sure: random.below(1_001),
        hurried: rate(random, 500),
        levels: rate(random, 100),
        gaps_us: (0..phases).filter_map(|_| random.pick(&gaps).copied()).collect(),
    }
}

fn process(random: &mut Random) -> Process {
    Process {
        crash_ms: every(random, 3_000, 30_000),
        stop_ms: every(random, 8_000, 60_000),
        in_call: random.below(1_001),
        power: random.below(1_001),
        in_recovery: rate(random, 500),
        down_ms: random.between(10, 2_000),
    }
}

fn disk(random: &mut Random) -> Disk {
    Disk {
        fail_ms: every(random, 10_000, 60_000),
        full_ms: every(random, 10_000, 60_000),
        full_for_ms: random.between(50, 3_000),
        flips: rate(random, 400),
        sync_us: random.between(30, 2_000),
        slow: rate(random, 60),
        slow_us: random.between(5_000, 1_500_000),
    }
}

fn desk(random: &mut Random, hold_ms: i64, retention_ms: i64) -> Desk {
    Desk {
        share: random.between(20, 500).unsigned_abs(),
        candidates: random.between(5, 200).unsigned_abs(),
        seats: random.between(1, 100),
        hold_ms,
        retention_ms,
        paid: random.below(1_001),
        released: random.below(600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_follows_from_its_seed_and_plans_differ() {
        assert_eq!(format!("{:?}", Plan::of(7, 1_000)), format!("{:?}", Plan::of(7, 1_000)));
        assert_ne!(format!("{:?}", Plan::of(7, 1_000)), format!("{:?}", Plan::of(8, 1_000)));
    }

    #[test]
    fn every_fault_is_absent_in_some_plans_and_there_in_others() {
        type Drawn = fn(&Plan) -> bool;
        let plans: Vec<Plan> = (0..200).map(|seed| Plan::of(seed, 1_000)).collect();
        let faults: [(&str, Drawn); 11] = [
            ("a standby", |plan| !plan.failovers.is_empty()),
            ("lost requests", |plan| plan.network.lost > 0),
            ("doubled requests", |plan| plan.network.doubled > 0),
            ("lost replies", |plan| plan.network.reply_lost > 0),
            ("hang-ups", |plan| plan.network.hang_up > 0),
            ("crashes", |plan| plan.process.crash_ms.is_some()),
            ("failed calls", |plan| plan.disk.fail_ms.is_some()),
            ("full disks", |plan| plan.disk.full_ms.is_some()),
            ("flipped bits", |plan| plan.disk.flips > 0),
            ("clock steps", |plan| plan.clock.step_ms.is_some()),
            ("a steward", |plan| plan.steward.every_ms.is_some()),
        ];
        for (name, has) in faults {
            let with = plans.iter().filter(|plan| has(plan)).count();
            assert!((20..190).contains(&with), "{name}: {with} of 200");
        }
    }
}
