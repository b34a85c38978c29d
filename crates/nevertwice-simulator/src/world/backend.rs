//! The parts of the backend, and who looks after it: the scheduler says when each of them does its next step.

use std::sync::{Arc, Mutex, PoisonError};

use nevertwice_api::{Backend as _, Health};
use nevertwice_core::{Decision, Entry};
use nevertwice_local::Written;
use nevertwice_server::Sweeper;

use super::event::Event;
use super::universe::World;
use crate::finding::Finding;
use crate::follower::Stopped;

/// How long the syncer waits before it tries a full disk again.
const FULL_RETRY_US: i64 = 20_000;

/// Stewards that sweep in a task, and come back.
#[derive(Clone, Default)]
pub(super) struct Sweepers {
    back: Arc<Mutex<Vec<(u32, Sweeper)>>>,
    out: usize,
    timetable: u32,
}

impl Sweepers {
    pub(super) const fn are_out(&self) -> bool {
        self.out > 0
    }

    /// By which timetable they come now.
    pub(super) const fn timetable(&self) -> u32 {
        self.timetable
    }

    /// From now on they come by another one.
    pub(super) const fn begin_anew(&mut self) {
        self.timetable += 1;
    }
}

impl World {
    /// Sees to it that the sequencer takes a turn if something waits.
    pub(super) fn plan_turn(&mut self) {
        let waits = self.machine.running.as_ref().is_some_and(|running| running.backend.front().status().queue_depth > 0);
        if waits && !self.planned.decide {
            self.plan_decide();
        }
    }

    fn plan_decide(&mut self) {
        self.planned.decide = true;
        let random = &mut self.chances.parts;
        // Now and then the thread does not run for a while.
        let us = if random.chance(5) { random.between(1_000, 40_000) } else { random.between(0, 120) };
        self.after(us, Event::Decide);
    }

    pub(super) fn decide(&mut self) -> Result<(), Finding> {
        self.planned.decide = false;
        self.note_turn();
        let Some(running) = &mut self.machine.running else { return Ok(()) };
        if running.backend.decide() {
            self.trace.line(self.now_us, || "the sequencer takes a turn".to_owned());
            self.plan_decide();
            self.plan_take();
        }
        self.look_for_crash();
        Ok(())
    }

    fn plan_take(&mut self) {
        if !self.planned.sync {
            self.planned.sync = true;
            let us = self.chances.parts.between(0, 60);
            self.after(us, Event::Take);
        }
    }

    pub(super) fn take(&mut self) {
        let took = self.machine.running.as_mut().is_some_and(|running| running.backend.take());
        self.planned.sync = took;
        if took {
            let disk = &self.plan.disk;
            let random = &mut self.chances.parts;
            let most = if self.quiet_us.is_none() && random.chance(disk.slow) { disk.slow_us } else { disk.sync_us };
            let us = random.between(1, most);
            self.after(us, Event::Write);
        }
    }

    pub(super) fn write(&mut self) -> Result<(), Finding> {
        let Some(running) = &mut self.machine.running else { return Ok(()) };
        let written = running.backend.write();
        let is_poisoned = running.backend.front().status().health == Health::Poisoned;
        match written {
            Written::Nothing => {}
            Written::NoRoom => self.after(FULL_RETRY_US, Event::Write),
            Written::Done => {
                let us = self.chances.parts.between(0, 80);
                self.after(us, Event::Answer);
            }
        }
        if !self.look_for_crash() && is_poisoned {
            self.be_poisoned();
        }
        Ok(())
    }

    pub(super) fn answer(&mut self) {
        self.planned.sync = false;
        let Some(running) = &mut self.machine.running else { return };
        if !running.backend.answer() {
            return;
        }
        self.plan_take();
        if !self.planned.decide {
            self.plan_decide();
        }
        if !self.planned.snapshot {
            self.planned.snapshot = true;
            let us = self.chances.parts.between(100, 60_000);
            self.after(us, Event::Snapshot);
        }
    }

    pub(super) fn snapshot(&mut self) -> Result<(), Finding> {
        self.planned.snapshot = false;
        let Some(running) = &mut self.machine.running else { return Ok(()) };
        if running.backend.snapshot() {
            self.counts.snapshots += 1;
            self.trace.line(self.now_us, || "a snapshot is made".to_owned());
        }
        self.look_for_crash();
        Ok(())
    }

    /// The follower reads on, and the workload learns what has happened.
    pub(super) fn follow(&mut self) -> Result<(), Finding> {
        let us = self.chances.parts.between(1_000, 200_000);
        self.after(us, Event::Follow);
        self.follow_now()
    }

    pub(super) fn follow_now(&mut self) -> Result<(), Finding> {
        let Some(running) = &self.machine.running else { return Ok(()) };
        let journal = running.backend.journal().clone();
        match self.follower.follow(&journal) {
            Ok(entries) => {
                running.backend.front().keep_from(self.follower.cursor + 1);
                self.learn(entries);
                Ok(())
            }
            Err(Stopped::Wrong(finding)) => Err(finding),
            Err(Stopped::Unread(error)) if self.machine.storage.crashed() => {
                self.trace.line(self.now_us, || format!("the follower reads nothing: {error}"));
                Ok(())
            }
            Err(Stopped::Unread(error)) if self.mend_flips() => {
                self.trace.line(self.now_us, || format!("the follower meets a flipped bit: {error}"));
                Ok(())
            }
            Err(Stopped::Unread(error)) => Err(Finding::new(format!("the durable journal can't be read: {error}"))),
        }
    }

    pub(super) fn learn(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            let (principal, key) = (&entry.intent.principal, &entry.intent.key);
            self.trace.line(self.now_us, || {
                let events: Vec<String> = entry.events.iter().map(|event| format!("{event:?}")).collect();
                let (position, shard) = (entry.position, &entry.shard);
                format!("durable: {shard} {position} by {}/{}: {}", principal.as_str(), key.as_str(), events.join(", "))
            });
            let of = (entry.shard.clone(), principal.clone(), key.clone());
            let step = self.by_key.get(&of).and_then(|number| self.intents.get(*number)).and_then(|intent| intent.step.clone());
            if let Some(step) = step {
                self.workload.observe(&step, &Decision::Accepted(entry));
            }
        }
    }

    /// The steward sweeps in a task of its own, unless it still does.
    pub(super) fn sweep(&mut self, timetable: u32) {
        if timetable != self.sweepers.timetable() {
            return;
        }
        self.plan_sweep();
        let life = self.machine.life;
        let Some(running) = self.machine.running.as_mut().filter(|running| running.is_open) else { return };
        let Some(mut sweeper) = running.sweeper.take() else { return };
        self.counts.sweeps += 1;
        self.trace.line(self.now_us, || "the steward sweeps".to_owned());
        self.sweepers.out += 1;
        let back = Arc::clone(&self.sweepers.back);
        tokio::spawn(async move {
            sweeper.sweep().await;
            back.lock().unwrap_or_else(PoisonError::into_inner).push((life, sweeper));
        });
    }

    pub(super) fn hear_sweepers(&mut self) {
        if !self.sweepers.are_out() {
            return;
        }
        let back = std::mem::take(&mut *self.sweepers.back.lock().unwrap_or_else(PoisonError::into_inner));
        for (life, sweeper) in back {
            self.sweepers.out -= 1;
            let running = self.machine.running.as_mut().filter(|_| life == self.machine.life);
            if let Some(running) = running {
                running.sweeper = Some(sweeper);
            }
        }
    }
}
