//! Whose turn it is, what time it is, and with which intent.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::market::MarketChoice;
use super::names::{fingerprint_of, key, name, principal};
use super::options::{BEYOND_TIME_MS, WorkloadOptions};
use super::sale::SaleChoice;
use crate::model::Random;
use crate::model::twin::Twin;
use crate::{Action, Command, Decision, Intent, ShardId};

/// How many commands each shard keeps for repetition.
const ASKED_MAX: usize = 256;

/// Who asks: principals of the workload.
const PRINCIPALS: u64 = 8;

/// One step of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number, from 0.
    pub number: u64,
    /// Whom it goes to.
    pub shard: ShardId,
    /// What is asked.
    pub command: Command,
    /// What the clock shows; it may show less than at the step before.
    pub at_ms: i64,
}

/// A seeded workload over several shards.
///
/// The next step follows from the seed and from the decisions told so far; a caller that keeps decisions to itself gets steps
/// that ever fewer shards accept.
///
/// ```
/// use nevertwice_core::{State, model::{Auditor, Workload, WorkloadOptions}};
///
/// let mut workload = Workload::new(7, WorkloadOptions { markets: 1, sales: 0, ..WorkloadOptions::default() });
/// let shard = workload.shards()[0].clone();
/// let (mut state, mut auditor) = (State::new(shard.clone(), 1, (0, 0)), Auditor::new(shard));
/// for _ in 0..50 {
///     let step = workload.next_step();
///     let decision = state.decide(&step.command, step.at_ms);
///     if let nevertwice_core::Decision::Accepted(entry) = &decision {
///         state.apply(entry).expect("an accepted entry fits");
///     }
///     auditor.check(&state, &step.command, step.at_ms, &decision).expect("every invariant holds");
///     workload.observe(&step, &decision);
/// }
/// ```
pub struct Workload {
    random: Random,
    options: WorkloadOptions,
    lanes: Vec<Lane>,
    shards: Vec<ShardId>,
    now_ms: i64,
    steps: u64,
    // The next number that no key, fingerprint, account or instrument was made from.
    fresh: u64,
}

/// One shard, as far as its decisions were told.
struct Lane {
    shard: ShardId,
    twin: Twin,
    at_ms: i64,
    number: u64,
    planned: VecDeque<Planned>,
    asked: VecDeque<Command>,
    accepted: VecDeque<Command>,
}

/// Something to ask soon, where it matters at an instant of its own.
pub(super) struct Planned {
    pub(super) action: Action,
    pub(super) at_ms: Option<i64>,
}

impl From<Action> for Planned {
    fn from(action: Action) -> Self {
        Self { action, at_ms: None }
    }
}

impl Workload {
    /// The workload of that seed. Its markets are named `m-0`, `m-1`, ..., its sales `s-0`, `s-1`, ...
    #[must_use]
    pub fn new(seed: u64, options: WorkloadOptions) -> Self {
        let mut lanes = Vec::new();
        for number in 0..u64::from(options.markets) {
            lanes.push(Lane::new(ShardId::market(name('m', number)), number));
        }
        for number in 0..u64::from(options.sales) {
            lanes.push(Lane::new(ShardId::sale(name('s', number)), number));
        }
        let shards = lanes.iter().map(|lane| lane.shard.clone()).collect();
        Self { random: Random::new(seed), now_ms: options.start_ms, options, lanes, shards, steps: 0, fresh: 0 }
    }

    /// All shards that steps go to.
    #[must_use]
    pub fn shards(&self) -> &[ShardId] {
        &self.shards
    }

    /// What the clock shows from now on, for whoever has a clock of his own; it may show less than before.
    pub const fn set_now(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// How the workload is mixed from now on. Its shards stay, and so do the terms under which they were opened.
    #[must_use]
    pub const fn options_mut(&mut self) -> &mut WorkloadOptions {
        &mut self.options
    }

    /// The next step. A workload without shards has none, and panics here.
    ///
    /// # Panics
    /// If the options named no market and no sale.
    pub fn next_step(&mut self) -> Step {
        self.move_clock();
        let Self { random, options, lanes, now_ms, steps, fresh, .. } = self;
        let place = usize::try_from(random.below(lanes.len() as u64)).unwrap_or(0);
        let lane = lanes.get_mut(place).expect("a workload has at least one shard");
        let repeats = random.chance(options.repeat_per_mille) && lane.planned.is_empty();
        let repeated = if repeats { lane.repeat(random, fresh) } else { None };
        let (command, at_ms) = match repeated {
            Some(command) => (command, *now_ms),
            None => lane.ask(random, options, *now_ms, fresh),
        };
        // What a plan lets happen at an instant to come is what the clock shows from then on.
        *now_ms = if at_ms == BEYOND_TIME_MS { *now_ms } else { at_ms.max(*now_ms) };
        let step = Step { number: *steps, shard: lane.shard.clone(), command, at_ms };
        *steps = steps.saturating_add(1);
        step
    }

    /// Tells what became of a step.
    pub fn observe(&mut self, step: &Step, decision: &Decision) {
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.shard == step.shard) else { return };
        if let Decision::Accepted(entry) = decision {
            // Whether the entry is right is for an auditor to say: a workload goes on with what it was told.
            let _ = lane.twin.follow(&lane.shard, entry);
            lane.at_ms = entry.at_ms;
            keep(&mut lane.accepted, &step.command);
        }
        keep(&mut lane.asked, &step.command);
    }

    fn move_clock(&mut self) {
        let Self { random, options, now_ms, .. } = self;
        if options.step_ms_max == 0 && !options.wild_clock {
            return;
        }
        let forward = random.between(0, options.step_ms_max);
        let moved = match random.below(1_000) {
            0..4 if options.wild_clock => random.between(1, options.hold_ms).saturating_neg(),
            4..7 if options.wild_clock => options.hold_ms,
            7 if options.wild_clock => options.retention_ms,
            // Several steps in one millisecond.
            8..250 => 0,
            _ => forward,
        };
        *now_ms = now_ms.saturating_add(moved);
    }
}

impl Lane {
    const fn new(shard: ShardId, number: u64) -> Self {
        Self { shard, twin: Twin::Unopened, at_ms: 0, number, planned: VecDeque::new(), asked: VecDeque::new(), accepted: VecDeque::new() }
    }

    /// An earlier command: the last one, the oldest, or any; as it was, or with its key put to another use.
    fn repeat(&self, random: &mut Random, fresh: &mut u64) -> Option<Command> {
        let from = if random.chance(700) { &self.accepted } else { &self.asked };
        let place = match random.below(10) {
            0..4 => from.len().saturating_sub(1),
            4 => 0,
            _ => usize::try_from(random.below(from.len() as u64)).unwrap_or(0),
        };
        let mut command = from.get(place)?.clone();
        match random.below(12) {
            0 => command.intent.fingerprint = fingerprint_of(next(fresh)),
            1 => {
                // The key for something that others asked: a mistake of the caller's.
                let other = usize::try_from(random.below(self.asked.len() as u64)).unwrap_or(0);
                command.action = self.asked.get(other)?.action.clone();
                command.intent.fingerprint = fingerprint_of(next(fresh));
            }
            // The same key of somebody else is another intent.
            2 => command.intent.principal = principal(random.below(PRINCIPALS)),
            _ => {}
        }
        Some(command)
    }

    fn ask(&mut self, random: &mut Random, options: &WorkloadOptions, now_ms: i64, fresh: &mut u64) -> (Command, i64) {
        if self.planned.is_empty() {
            let market = self.shard.kind == crate::ShardKind::Market;
            // A command may meet a shard that is not open, or is of the other kind.
            let astray = random.chance(8);
            // The first command comes before the shard is open.
            let early = self.asked.is_empty();
            let planned = match &self.twin {
                Twin::Market(twin) if !astray => MarketChoice { random, options, market: twin, number: self.number, fresh }.next(),
                Twin::Sale(twin) if !astray => {
                    SaleChoice { random, options, sale: twin, shard: &self.shard, now_ms: now_ms.max(self.at_ms), fresh }.next()
                }
                _ if market != astray => MarketChoice::opening(random, options, self.number, fresh, early),
                _ => SaleChoice::opening(random, options, self.number, fresh, early),
            };
            self.planned.extend(planned);
        }
        let planned = self.planned.pop_front().expect("a choice is at least one action");
        let mut at_ms = planned.at_ms.unwrap_or(now_ms);
        if options.wild_clock && random.chance(2) {
            at_ms = BEYOND_TIME_MS;
        }
        let expires_at = self.choose_expiry(random, options, at_ms);
        let number = next(fresh);
        let intent =
            Intent { principal: principal(random.below(PRINCIPALS)), key: key(number), fingerprint: fingerprint_of(number), expires_at };
        (Command::new(intent, planned.action), at_ms)
    }

    /// Mostly none, or soon; sometimes at an edge.
    fn choose_expiry(&self, random: &mut Random, options: &WorkloadOptions, at_ms: i64) -> Option<i64> {
        let at_ms = at_ms.max(self.at_ms);
        let last = at_ms.saturating_add(options.retention_ms);
        match random.below(100) {
            0..41 => None,
            41 => Some(at_ms),
            42 => Some(at_ms.saturating_sub(1)),
            43..46 => Some(at_ms.saturating_add(1)),
            46..50 => Some(last),
            50 => Some(last.saturating_add(1)),
            51 => Some(random.between(i64::MIN, i64::MAX)),
            _ => Some(at_ms.saturating_add(random.between(1, options.retention_ms))),
        }
    }
}

fn keep(commands: &mut VecDeque<Command>, command: &Command) {
    if commands.len() >= ASKED_MAX {
        commands.pop_front();
    }
    commands.push_back(command.clone());
}

pub(super) const fn next(fresh: &mut u64) -> u64 {
    let number = *fresh;
    *fresh = fresh.saturating_add(1);
    number
}
