//! The world of one seed: contenders, a store of keys, its disk and its clock.
//!
//! One step after the other, each drawn from the seed: somebody asks, the writer decides a group, makes it safe, an answer is read,
//! a snapshot is made; or something goes wrong. So a seed is one history.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use nevertwice_core::model::Random;
use nevertwice_local::SteppedKeyStore;
use nevertwice_local::clock::Clock as _;
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use super::command::{Command, Hearing, Said};
use super::contender::Contender;
use super::plan::{KeysPlan, START_MS};
use super::twin::Twin;
use crate::chance::SeededChance;
use crate::finding::Finding;
use crate::trace::Trace;
use crate::world::Counts;

/// How many bytes the disk has left when it becomes full.
const LEFT_BYTES: u64 = 150_000;

/// Steps in which a seed has to become quiet.
const QUIET_STEPS: u64 = 100_000;

/// A command on its way.
pub(super) struct Asked {
    /// Who asked; none: the judge.
    pub(super) contender: Option<usize>,
    pub(super) key: u64,
    pub(super) command: Command,
    pub(super) hearing: Hearing,
    /// What the store has to say; none as long as it is not decided, and of what the twin does not know.
    pub(super) expected: Option<Said>,
    /// The instant at which it was decided.
    pub(super) at_ms: i64,
}

/// The last group, and what it makes of the keys.
pub(super) struct Group {
    pub(super) asked: Vec<Asked>,
    pub(super) after: Twin,
    /// Somebody was told that what it changed is safe.
    pub(super) is_told: bool,
}

/// The world of one seed.
pub struct KeysWorld {
    pub(super) plan: KeysPlan,
    pub(super) random: Random,
    pub(super) storage: MemoryStorage,
    pub(super) clock: Arc<ManualClock>,
    pub(super) chance: Arc<SeededChance>,
    pub(super) running: Option<SteppedKeyStore>,
    pub(super) contenders: Vec<Contender>,
    pub(super) owners: u64,
    /// Asked, and not decided.
    pub(super) line: VecDeque<Asked>,
    /// Replays whose bytes are still to be read.
    pub(super) reads: Vec<Asked>,
    /// What is safe.
    pub(super) twin: Twin,
    /// The group in hand, or with which the journal failed.
    pub(super) group: Option<Group>,
    /// The journal failed: nothing more is decided until a restart.
    pub(super) is_poisoned: bool,
    /// The highest generation of each key that somebody was told safely.
    pub(super) told: BTreeMap<u64, u64>,
    /// Instants behind which the clock is not set: a sweep may have freed what was forgotten by then.
    pub(super) clock_min_ms: i64,
    pub(super) is_quiet: bool,
    pub(super) counts: Counts,
    pub(super) trace: Trace,
}

impl KeysWorld {
    /// Runs a seed to its end.
    ///
    /// # Errors
    /// What it has found.
    pub fn run(plan: &KeysPlan, trace: Trace) -> (Result<Counts, Finding>, Trace) {
        let mut world = Self::new(plan, trace);
        let ended = world.live();
        world.counts.virtual_ms = world.clock.now_ms().saturating_sub(START_MS).unsigned_abs();
        (ended.map(|()| world.counts), world.trace)
    }

    pub(super) fn new(plan: &KeysPlan, trace: Trace) -> Self {
        Self {
            plan: plan.clone(),
            random: Random::new(plan.seed),
            storage: MemoryStorage::new(plan.seed ^ 0xd15c),
            clock: Arc::new(ManualClock::new(START_MS)),
            chance: Arc::new(SeededChance::new(plan.seed ^ 0xc4a9ce)),
            running: None,
            contenders: (0..plan.contenders).map(|_| Contender::default()).collect(),
            owners: 0,
            line: VecDeque::new(),
            reads: Vec::new(),
            twin: Twin::default(),
            group: None,
            is_poisoned: false,
            told: BTreeMap::new(),
            clock_min_ms: START_MS,
            is_quiet: false,
            counts: Counts::default(),
            trace,
        }
    }

    fn live(&mut self) -> Result<(), Finding> {
        self.start()?;
        while self.counts.decisions < self.plan.commands {
            self.go_wrong()?;
            self.step()?;
        }
        self.end()
    }

    /// Nothing goes wrong any more: everybody hears what became of what he asked, and what is kept is read once more.
    fn end(&mut self) -> Result<(), Finding> {
        self.is_quiet = true;
        self.storage.no_more_faults();
        self.storage.set_capacity(None);
        if self.is_poisoned {
            self.restart()?;
        }
        self.drain()?;
        self.stop()?;
        self.start()?;
        self.drain()?;
        self.stop()
    }

    /// Everything that waits is done.
    pub(super) fn drain(&mut self) -> Result<(), Finding> {
        for _ in 0..QUIET_STEPS {
            if self.line.is_empty() && self.group.is_none() && self.reads.is_empty() {
                return Ok(());
            }
            self.decide()?;
            self.write()?;
            self.read()?;
            if self.must_restart() {
                self.restart()?;
            }
        }
        Err(Finding::new("what waits does not come to its end although nothing goes wrong any more"))
    }

    /// One thing happens.
    fn step(&mut self) -> Result<(), Finding> {
        match self.random.below(10) {
            0..=3 => self.ask(),
            4 | 5 => self.decide()?,
            6 | 7 => self.write()?,
            8 => self.read()?,
            _ => {
                if let Some(store) = &mut self.running {
                    store.snapshot();
                }
            }
        }
        let ms = self.random.between(0, 20);
        self.clock.set(self.clock.now_ms() + ms);
        if self.must_restart() { self.restart() } else { Ok(()) }
    }

    fn must_restart(&mut self) -> bool {
        // An operator who sees that the journal has failed starts the process again, sooner or later.
        self.storage.crashed() || self.running.is_none() || (self.is_poisoned && (self.is_quiet || self.random.chance(50)))
    }

    /// Somebody asks something.
    fn ask(&mut self) {
        let number = self.random.below(self.contenders.len() as u64) as usize;
        if self.contenders[number].waits {
            return;
        }
        let (key, command) = self.contenders[number].next(&self.plan, &mut self.random, &mut self.owners);
        self.contenders[number].waits = true;
        self.put(Some(number), key, command);
    }

    pub(super) fn put(&mut self, contender: Option<usize>, key: u64, command: Command) {
        let Some(store) = &self.running else { return };
        self.trace.line(self.clock_us(), || format!("{contender:?} asks of key {key}: {command}"));
        let hearing = command.ask(store.front().as_ref(), key);
        self.line.push_back(Asked { contender, key, command, hearing, expected: None, at_ms: 0 });
    }

    pub(super) fn clock_us(&self) -> u64 {
        (self.clock.now_ms() - START_MS).unsigned_abs() * 1_000
    }

    /// What goes wrong, or is asked for from outside, before the next step.
    fn go_wrong(&mut self) -> Result<(), Finding> {
        let often = self.plan.often.clone();
        if self.random.chance(often.crash) {
            let calls = self.random.below(30);
            if self.random.chance(700) {
                self.storage.crash_after(calls);
            } else {
                self.restart()?;
            }
        }
        if self.random.chance(often.stop) && !self.is_poisoned && self.random.chance(200) {
            self.storage.no_more_faults();
            self.storage.set_capacity(None);
            self.drain()?;
            self.stop()?;
            self.start()?;
        }
        if self.random.chance(often.failed_call) {
            let calls = self.random.below(20);
            self.storage.fail_after(calls);
        }
        if self.random.chance(often.full_disk) {
            self.counts.full_disks += 1;
            let room = self.random.below(LEFT_BYTES);
            self.storage.set_capacity(Some(self.storage.used() + room));
        } else if self.random.chance(20) {
            self.storage.set_capacity(None);
        }
        if self.random.chance(often.snapshot)
            && let Some(store) = &self.running
        {
            self.counts.snapshots += 1;
            drop(store.front().snapshot());
        }
        if self.random.chance(often.sweep) && self.line.len() < 32 {
            self.counts.sweeps += 1;
            let records_max = 1 + self.random.below(10) as usize;
            self.put(None, 0, Command::Sweep(records_max));
        }
        self.step_clock(&often);
        Ok(())
    }

    fn step_clock(&mut self, often: &super::plan::Often) {
        let now_ms = self.clock.now_ms();
        if self.random.chance(often.leap) {
            let leap = self.random.pick(&[self.plan.lease_ms, 2 * self.plan.lease_ms, self.plan.retention_ms]).copied().unwrap_or(0);
            self.clock.set(now_ms + leap);
        }
        // A claim at the bound sweeps as well.
        if self.random.chance(often.step_back) && !self.plan.is_tight() {
            self.counts.clock_steps += 1;
            let back = self.random.between(0, 5_000);
            self.clock.set((now_ms - back).max(self.clock_min_ms));
        }
    }
}
