//! What happens, turn by turn, until the primary is lost for good.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nevertwice_api::{Answer, Backend as _, BoxFuture, Failure, Level, Levels, NoObserver, Request};
use nevertwice_core::model::{Random, Step, Workload};
use nevertwice_core::{Decision, Entry};
use nevertwice_local::chance::Chance;
use nevertwice_local::clock::Clock as _;
use nevertwice_local::feed::{FeedSource, JournalHost as _};
use nevertwice_local::{LocalOptions, SteppedBackend};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use super::link::{Link, LinkChances};
use super::plan::Failover;
use super::standby::Standby;
use crate::chance::SeededChance;
use crate::finding::Finding;
use crate::follower::{Follower, Stopped};
use crate::plan::START_MS;
use crate::trace::Trace;

/// Questions that are open at a time.
const OPEN_MAX: usize = 24;
/// A scene that lasts longer has stopped answering.
const TURNS_MAX: u64 = 200_000;
/// Of a thousand turns in which one side is down, in how many it comes back.
const COMES_BACK: u64 = 60;

/// What happened how often.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Promotions.
    pub(crate) promotions: u64,
    /// Answers at the level `replicated`.
    pub(crate) replicated: u64,
    /// Deaths of the standby.
    pub(crate) standby_deaths: u64,
    /// Entries that were told as `journaled` alone and that the promoted standby lacks.
    pub(crate) lacking: u64,
}

/// A command on its way.
struct Open {
    step: Step,
    answer: BoxFuture<'static, Result<Answer, Failure>>,
}

/// What a client was told.
pub(super) struct Told {
    pub(super) step: Step,
    pub(super) answer: Answer,
}

/// The scene.
pub(crate) struct Scene<'a> {
    pub(super) plan: &'a Failover,
    trace: &'a mut Trace,
    random: Random,
    link: LinkChances,
    turn: u64,
    cut_off_until: u64,
    pub(super) clock: Arc<ManualClock>,
    pub(super) chance: Arc<SeededChance>,
    disk: MemoryStorage,
    primary: Option<SteppedBackend>,
    pub(super) standby: Standby,
    workload: Workload,
    open: Vec<Open>,
    pub(super) told: Vec<Told>,
    follower: Follower,
    /// What became durable at the primary, in order.
    pub(super) history: Vec<Entry>,
    pub(super) tally: Tally,
}

impl<'a> Scene<'a> {
    /// Plays a scene to its end, and judges it.
    pub(crate) fn play(plan: &'a Failover, trace: &'a mut Trace) -> Result<Tally, Finding> {
        let chance = Arc::new(SeededChance::new(plan.seed ^ 0xfa11));
        let standby = Standby::new(plan.seed ^ 0x57a, &plan.backend, Arc::clone(&chance) as Arc<dyn Chance>);
        let link = LinkChances { random: Random::new(plan.seed ^ 0x11f7), lost: plan.lost, answer_lost: plan.answer_lost };
        let mut scene = Self {
            plan,
            trace,
            random: Random::new(plan.seed ^ 0x5ce9e),
            link,
            turn: 0,
            cut_off_until: 0,
            clock: Arc::new(ManualClock::new(START_MS)),
            chance,
            disk: MemoryStorage::new(plan.seed ^ 0xd15c),
            primary: None,
            standby,
            workload: Workload::new(plan.seed, plan.workload.clone()),
            open: Vec::new(),
            told: Vec::new(),
            follower: Follower::default(),
            history: Vec::new(),
            tally: Tally::default(),
        };
        scene.say(|| format!("the second chapter: {plan:?}"));
        while (scene.told.len() as u64) < plan.answers {
            scene.turn += 1;
            if scene.turn > TURNS_MAX {
                return Err(Finding::new(format!("{} commands were answered after {TURNS_MAX} turns", scene.told.len())));
            }
            scene.take_turn()?;
        }
        scene.lose_primary();
        scene.promote()?;
        Ok(scene.tally)
    }

    pub(super) fn say(&mut self, line: impl FnOnce() -> String) {
        self.trace.line(self.turn * 1_000, line);
    }

    fn take_turn(&mut self) -> Result<(), Finding> {
        self.clock.set(self.clock.now_ms() + self.random.between(0, 8));
        self.live_and_die()?;
        if self.primary.is_some() {
            self.ask();
            self.work()?;
            self.hear();
        }
        if self.standby.is_up() && self.random.chance(self.plan.asks) {
            self.follow()?;
        }
        Ok(())
    }

    /// Both sides die and come back.
    fn live_and_die(&mut self) -> Result<(), Finding> {
        let plan = self.plan;
        if self.primary.is_none() {
            if self.random.chance(COMES_BACK) || self.turn == 1 {
                self.start_primary()?;
            }
        } else if self.disk.crashed() {
            self.primary_dies();
        } else if self.random.chance(plan.primary_dies) {
            if self.random.chance(plan.in_call) { self.disk.crash_after(self.random.below(20)) } else { self.primary_dies() }
        }
        if !self.standby.is_up() {
            if self.random.chance(COMES_BACK) {
                self.standby.start()?;
                self.say(|| "the standby starts".to_owned());
            }
        } else if self.standby.disk.crashed() {
            self.standby_dies();
        } else if self.random.chance(plan.standby_dies) {
            if self.random.chance(plan.in_call) { self.standby.disk.crash_after(self.random.below(20)) } else { self.standby_dies() }
        }
        if self.random.chance(plan.cut_off) {
            self.cut_off_until = self.turn + self.random.below(plan.cut_off_turns + 1);
            self.say(|| "the standby is cut off".to_owned());
        }
        Ok(())
    }

    fn start_primary(&mut self) -> Result<(), Finding> {
        let options = LocalOptions { reader_lease_ms: 400, ..self.plan.backend.clone() };
        match self.opened(self.disk.clone(), &options) {
            Ok(backend) => {
                self.primary = Some(backend);
                self.say(|| "the primary starts".to_owned());
                self.note_history()
            }
            Err(error) => Err(Finding::new(format!("the primary does not start: {error}"))),
        }
    }

    /// A backend on a disk, step by step.
    pub(super) fn opened(&self, disk: MemoryStorage, options: &LocalOptions) -> Result<SteppedBackend, nevertwice_local::error::OpenError> {
        let (clock, chance) = (Arc::clone(&self.clock), Arc::clone(&self.chance));
        SteppedBackend::open(Arc::new(disk), clock, chance, Arc::new(NoObserver), options).map(|(backend, _)| backend)
    }

    fn primary_dies(&mut self) {
        let takes_power = self.random.chance(self.plan.power);
        self.say(|| if takes_power { "the primary's power is cut" } else { "the primary is killed" }.to_owned());
        self.disk.crash_after(0);
        self.primary = None;
        // Nobody hears what became of those.
        self.open.clear();
        if takes_power { self.disk.power_loss() } else { self.disk.kill() }
    }

    fn standby_dies(&mut self) {
        let takes_power = self.random.chance(self.plan.power);
        self.say(|| if takes_power { "the standby's power is cut" } else { "the standby is killed" }.to_owned());
        self.tally.standby_deaths += 1;
        self.standby.die(takes_power);
    }

    /// A client asks, if not too much is open.
    fn ask(&mut self) {
        let Some(primary) = &self.primary else { return };
        if self.open.len() >= OPEN_MAX || !self.random.chance(500) {
            return;
        }
        self.workload.set_now(self.clock.now_ms());
        let step = self.workload.next_step();
        let levels = if self.random.chance(self.plan.replicated) { Levels::reached(Level::Replicated) } else { Levels::NONE };
        let request = Request { shard: step.shard.clone(), command: step.command.clone(), levels };
        self.open.push(Open { step, answer: primary.front().submit(request) });
    }

    /// One of the primary's parts does its next step.
    fn work(&mut self) -> Result<(), Finding> {
        let Some(primary) = &mut self.primary else { return Ok(()) };
        match self.random.below(9) {
            0..2 => drop(primary.decide()),
            2..4 => drop(primary.take()),
            4..6 => drop(primary.write()),
            6..8 => drop(primary.answer()),
            _ => drop(primary.snapshot()),
        }
        if self.random.chance(self.plan.gives_up) {
            primary.give_up();
        }
        self.note_history()
    }

    /// What is durable at the primary now.
    fn note_history(&mut self) -> Result<(), Finding> {
        let Some(primary) = &self.primary else { return Ok(()) };
        match self.follower.follow(primary.journal()) {
            Ok(entries) => {
                primary.front().keep_from(self.follower.cursor + 1);
                for entry in entries {
                    self.trace.line(self.turn * 1_000, || format!("durable: {} {}", entry.shard, entry.position));
                    self.history.push(entry);
                }
                Ok(())
            }
            Err(Stopped::Wrong(finding)) => Err(finding),
            Err(Stopped::Unread(_)) if self.disk.crashed() => Ok(()),
            Err(Stopped::Unread(error)) => Err(Finding::new(format!("the primary's durable journal can't be read: {error}"))),
        }
    }

    /// Clients hear what came.
    fn hear(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for mut open in std::mem::take(&mut self.open) {
            match open.answer.as_mut().poll(&mut context) {
                Poll::Pending => self.open.push(open),
                Poll::Ready(Err(_)) => {}
                Poll::Ready(Ok(answer)) => {
                    self.workload.observe(&open.step, &answer.decision);
                    self.tally.replicated += u64::from(answer.levels.contains(Level::Replicated));
                    let (shard, position, levels) = (&open.step.shard, answer.position, answer.levels);
                    let is_yes = matches!(answer.decision, Decision::Accepted(_));
                    self.trace.line(self.turn * 1_000, || format!("told: {shard} {position}, accepted {is_yes}, {levels:?}"));
                    self.told.push(Told { step: open.step, answer });
                }
            }
        }
    }

    /// The standby asks once.
    fn follow(&mut self) -> Result<(), Finding> {
        let reached = self.primary.as_ref().filter(|_| self.turn >= self.cut_off_until && !self.disk.crashed());
        let end = reached.and_then(|primary| primary.front().feed()).map(FeedSource);
        let came = self.standby.ask(&mut Link { end, random: &mut self.link })?;
        if came > 0 {
            self.say(|| format!("{came} batches come to the standby"));
        }
        Ok(())
    }

    /// The primary is lost for good, and maybe the standby's power at the same time.
    fn lose_primary(&mut self) {
        self.say(|| "the primary is lost".to_owned());
        self.primary_dies();
        if self.random.chance(500) || self.standby.disk.crashed() {
            self.standby_dies();
        }
    }
}
