//! The world, and its loop.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use nevertwice_core::model::{Random, Workload};
use nevertwice_core::{IdempotencyKey, Principal, ShardId};
use tokio::time::Duration;

use super::counts::Counts;
use super::desk::DeskState;
use super::event::Event;
use super::intent::{Intent, Outcome, Visit};
use crate::failover::Scene;
use crate::finding::Finding;
use crate::follower::Follower;
use crate::gateway::Payment;
use crate::judge;
use crate::machine::Machine;
use crate::plan::{Network, Plan, START_MS};
use crate::queue::Queue;
use crate::record::Shared;
use crate::trace::Trace;

/// What the parts of the backend are about to do.
#[derive(Default)]
pub(super) struct Planned {
    pub(super) decide: bool,
    pub(super) snapshot: bool,
    /// The syncer has something in hand, or is about to take it.
    pub(super) sync: bool,
}

/// A source of numbers for each subject: more of one thing does not change another.
pub(super) struct Chances {
    pub(super) clients: Random,
    pub(super) network: Random,
    pub(super) parts: Random,
    pub(super) process: Random,
    pub(super) disk: Random,
    pub(super) clock: Random,
    pub(super) desk: Random,
}

impl Chances {
    fn of(seed: u64) -> Self {
        let source = |salt: u64| Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(salt << 40));
        Self {
            clients: source(1),
            network: source(2),
            parts: source(3),
            process: source(4),
            disk: source(5),
            clock: source(6),
            desk: source(7),
        }
    }
}

pub(super) type Mailbox = Arc<Mutex<Vec<(usize, Outcome)>>>;

/// The world of one seed.
pub struct World {
    pub(super) plan: Plan,
    pub(super) chances: Chances,
    pub(super) queue: Queue<Event>,
    pub(super) trace: Trace,
    pub(super) now_us: u64,
    /// How far the runtime's clock has been moved.
    moved_us: u64,
    pub(super) machine: Machine,
    pub(super) record: Shared,
    pub(super) follower: Follower,
    pub(super) workload: Workload,
    pub(super) intents: Vec<Intent>,
    pub(super) visits: Vec<Visit>,
    /// The visits that the process works on.
    pub(super) inside: BTreeSet<usize>,
    /// Whose step made an entry.
    pub(super) by_key: HashMap<(ShardId, Principal, IdempotencyKey), usize>,
    pub(super) batch: Vec<usize>,
    pub(super) open: usize,
    pub(super) mailbox: Mailbox,
    pub(super) sweepers: super::backend::Sweepers,
    pub(super) planned: Planned,
    pub(super) network: Network,
    pub(super) gap_us: i64,
    /// How far the clock is from the right time.
    pub(super) offset_ms: i64,
    pub(super) desk: Option<DeskState>,
    /// Since when it is quiet.
    pub(super) quiet_us: Option<u64>,
    pub(super) is_over: bool,
    pub(super) counts: Counts,
}

/// How long a world lasts at most. Most last minutes; one that lasts so long has stopped asking or answering.
const LIFE_US_MAX: u64 = 20_000_000_000;

impl World {
    /// Runs the world of a plan to its end, and judges it. The trace is returned in either case.
    pub fn run(plan: &Plan, trace: Trace) -> (Result<Counts, Finding>, Trace) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime without threads and sockets can be made");
        let mut world = Self::new(plan, trace);
        let ended = runtime.block_on(tokio::task::coop::unconstrained(world.live()));
        let judged = ended.and_then(|()| judge::judge(&mut world)).and_then(|()| world.lose_primaries());
        if let Err(finding) = &judged {
            world.trace.line(world.now_us, || format!("FOUND: {finding}"));
        }
        world.tally();
        (judged.map(|()| world.counts.clone()), world.trace)
    }

    /// The second chapter of a seed that has one.
    fn lose_primaries(&mut self) -> Result<(), Finding> {
        for failover in &self.plan.failovers {
            let tally = Scene::play(failover, &mut self.trace)?;
            self.counts.promotions += tally.promotions;
            self.counts.replicated += tally.replicated;
            self.counts.standby_deaths += tally.standby_deaths;
            self.counts.lacking += tally.lacking;
        }
        Ok(())
    }

    fn new(plan: &Plan, trace: Trace) -> Self {
        let record = Shared::default();
        Self {
            chances: Chances::of(plan.seed),
            queue: Queue::new(),
            trace,
            now_us: 0,
            moved_us: 0,
            machine: Machine::new(plan, record.clone()),
            record,
            follower: Follower::default(),
            workload: Workload::new(plan.seed, plan.workload.clone()),
            intents: Vec::new(),
            visits: Vec::new(),
            inside: BTreeSet::new(),
            by_key: HashMap::new(),
            batch: Vec::new(),
            open: 0,
            mailbox: Mailbox::default(),
            sweepers: super::backend::Sweepers::default(),
            planned: Planned::default(),
            network: plan.network.clone(),
            gap_us: plan.clients.gaps_us.first().copied().unwrap_or(3_000),
            offset_ms: 0,
            desk: plan.desk.as_ref().map(|desk| DeskState::new(desk.clone())),
            quiet_us: None,
            is_over: false,
            counts: Counts::default(),
            plan: plan.clone(),
        }
    }

    async fn live(&mut self) -> Result<(), Finding> {
        self.begin();
        while !self.is_over {
            let Some((at_us, event)) = self.queue.next() else { return Err(Finding::new("nothing will ever happen any more")) };
            if at_us > LIFE_US_MAX {
                return Err(Finding::new(format!("it has not come to its end after {} s", LIFE_US_MAX / 1_000_000)));
            }
            self.move_to(at_us).await;
            self.happen(event)?;
            if !self.inside.is_empty() || self.sweepers.are_out() {
                tokio::task::yield_now().await;
            }
            self.hear_process()?;
        }
        self.finish().await
    }

    /// Moves the time, and lets the timers go off whose time has come.
    async fn move_to(&mut self, at_us: u64) {
        self.now_us = at_us.max(self.now_us);
        let ahead_us = self.now_us - self.moved_us;
        if ahead_us >= 1_000 {
            self.moved_us = self.now_us;
            self.machine.clock.set(self.clock_ms());
            tokio::time::advance(Duration::from_micros(ahead_us)).await;
        }
    }

    /// What the machine's clock shows.
    pub(super) fn clock_ms(&self) -> i64 {
        START_MS + i64::try_from(self.now_us / 1_000).unwrap_or(i64::MAX) + self.offset_ms
    }

    /// Plans an event, so many microseconds from now.
    pub(super) fn after(&mut self, us: i64, event: Event) {
        self.queue.put(self.now_us + us.max(0).unsigned_abs(), event);
    }

    fn begin(&mut self) {
        let plan = self.plan.clone();
        self.trace.line(0, || format!("seed {}: {plan:?}", plan.seed));
        self.after(0, Event::Start);
        self.after(0, Event::Ask);
        self.after(1_000, Event::Follow);
        self.after(500_000, Event::Change);
        self.plan_faults();
    }

    fn happen(&mut self, event: Event) -> Result<(), Finding> {
        match event {
            Event::Ask => self.ask(),
            Event::Send(intent) => self.send(intent),
            Event::Arrive(visit) => self.arrive(visit),
            Event::HangUp(visit) => self.hang_up(visit),
            Event::Reply(visit) => return self.reply(visit),
            Event::Patience(intent, attempt) => self.lose_patience(intent, attempt),
            Event::Decide => return self.decide(),
            Event::Take => self.take(),
            Event::Write => return self.write(),
            Event::Answer => self.answer(),
            Event::Snapshot => return self.snapshot(),
            Event::Follow => return self.follow(),
            Event::Sweep(timetable) => self.sweep(timetable),
            Event::Start => return self.start(),
            Event::Crash => self.crash(),
            Event::Replace(life) => self.replace(life),
            Event::Stop => self.stop(),
            Event::Stopped(life) => return self.stopped(life),
            Event::Gone => self.gone(),
            Event::Fail => self.fail_call(),
            Event::Fill => self.fill_disk(),
            Event::Free => self.free_disk(),
            Event::SetClock => self.set_clock(),
            Event::Change => self.change(),
            Event::Pay(payment) => self.pay(&payment),
            Event::Look => return self.look(),
        }
        Ok(())
    }

    /// Takes what the process has to say, and sees to it that the sequencer takes a turn if something waits.
    fn hear_process(&mut self) -> Result<(), Finding> {
        let outcomes = std::mem::take(&mut *self.mailbox.lock().unwrap_or_else(PoisonError::into_inner));
        for (visit, outcome) in outcomes {
            self.send_reply(visit, outcome);
        }
        self.hear_sweepers();
        self.plan_turn();
        Ok(())
    }

    /// What the callers of the backend were told.
    pub(crate) const fn record(&self) -> &Shared {
        &self.record
    }

    /// What was meant, and what its clients heard.
    pub(crate) fn intents(&self) -> &[Intent] {
        &self.intents
    }

    /// The entries.
    pub(crate) const fn follower(&self) -> &Follower {
        &self.follower
    }

    /// What the gateway knows.
    pub(crate) fn payments(&self) -> Vec<(nevertwice_core::PaymentId, nevertwice_core::Name, Payment)> {
        self.machine.gateway.payments()
    }

    /// So much was judged.
    pub(crate) const fn note_judged(&mut self, judged: &judge::Judged) {
        self.counts.judged = judged.answers;
        self.counts.late_copies = judged.late;
    }

    fn tally(&mut self) {
        self.counts.decisions = self.record.get().decisions;
        self.counts.intents = self.intents.len() as u64;
        self.counts.entries = self.follower.shards.values().map(|followed| followed.chain.len() as u64).sum();
        self.counts.virtual_ms = self.now_us / 1_000;
    }
}
