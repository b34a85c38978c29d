//! The end and the beginning of the process.

use std::task::{Context, Poll, Waker};

use nevertwice_api::{Backend as _, BoxFuture, ErrorCode};
use nevertwice_local::RestoreReport;
use nevertwice_local::error::OpenError;

use super::event::Event;
use super::universe::World;
use crate::finding::Finding;

/// How many calls to the disk may come before the one in which the process dies.
const CALLS_MAX: u64 = 40;

impl World {
    /// The process ends without warning: now, or in one of its next calls to the disk.
    pub(super) fn crash(&mut self) {
        self.plan_crash();
        if self.machine.running.is_none() || self.quiet_us.is_some() {
            return;
        }
        if self.chances.process.chance(self.plan.process.in_call) {
            let calls = self.chances.process.below(CALLS_MAX);
            self.trace.line(self.now_us, || format!("the process will die {calls} calls to the disk from now"));
            return self.machine.storage.crash_after(calls);
        }
        self.die();
    }

    /// Whether the process has died in a call to the disk.
    pub(super) fn look_for_crash(&mut self) -> bool {
        let crashed = self.machine.storage.crashed();
        if crashed && self.machine.running.is_some() {
            self.counts.in_calls += 1;
            self.die();
        }
        crashed
    }

    fn die(&mut self) {
        let takes_power = self.chances.process.chance(self.plan.process.power);
        self.counts.crashes += 1;
        self.end_process();
        self.lose(takes_power);
        self.trace.line(self.now_us, || if takes_power { "the power is cut" } else { "the process is killed" }.to_owned());
        self.plan_start();
    }

    /// What the disk keeps.
    fn lose(&mut self, power: bool) {
        if power {
            self.counts.power_losses += 1;
            self.machine.storage.power_loss();
        } else {
            self.machine.storage.kill();
        }
        self.flip_some();
    }

    /// Nothing of the process goes on.
    fn end_process(&mut self) {
        self.machine.end();
        for number in std::mem::take(&mut self.inside) {
            if let Some(task) = self.visits.get_mut(number).and_then(|visit| visit.task.take()) {
                task.abort();
            }
        }
        self.planned.sync = false;
    }

    fn plan_start(&mut self) {
        let most_ms = if self.quiet_us.is_some() { 10 } else { self.plan.process.down_ms };
        let us = self.chances.process.between(1_000, most_ms * 1_000);
        self.after(us, Event::Start);
    }

    /// The journal has failed: an operator ends the process in a while.
    pub(super) fn be_poisoned(&mut self) {
        self.counts.failed_calls += 1;
        self.trace.line(self.now_us, || "the journal has failed: nothing more is decided".to_owned());
        let us = self.chances.process.between(1_000, 1_500_000);
        let life = self.machine.life;
        self.after(us, Event::Replace(life));
    }

    pub(super) fn replace(&mut self, life: u32) {
        if life == self.machine.life && self.machine.running.is_some() {
            self.die();
        }
    }

    /// The process is told to stop: it takes nothing new, and finishes what it has for a while.
    pub(super) fn stop(&mut self) {
        self.plan_stop();
        if self.quiet_us.is_none() {
            self.begin_to_stop();
        }
    }

    pub(super) fn begin_to_stop(&mut self) {
        let life = self.machine.life;
        if let Some(running) = self.machine.running.as_mut().filter(|running| running.is_open) {
            running.is_open = false;
            self.trace.line(self.now_us, || "the process is about to stop".to_owned());
            let us = self.chances.process.between(0, 500_000);
            self.after(us, Event::Stopped(life));
        }
    }

    pub(super) fn stopped(&mut self, life: u32) -> Result<(), Finding> {
        if life != self.machine.life || self.machine.running.is_none() {
            return Ok(());
        }
        self.follow_now()?;
        self.counts.stops += 1;
        self.stop_process();
        // Its last answers still go out.
        self.after(2_000, Event::Gone);
        Ok(())
    }

    /// The process decides what has arrived, answers, and seals its journal.
    pub(super) fn stop_process(&mut self) {
        self.note_turn();
        self.machine.stop();
    }

    /// A turn of the sequencer is about to begin.
    pub(super) fn note_turn(&mut self) {
        self.machine.clock.set(self.clock_ms());
        self.record.get().turns.push(self.machine.clock_ms());
    }

    /// The process that has stopped is gone.
    pub(super) fn gone(&mut self) {
        if !self.machine.has_remains() {
            return;
        }
        self.end_process();
        let crashed = self.machine.storage.crashed();
        self.trace.line(self.now_us, || if crashed { "it died while it stopped" } else { "it has stopped" }.to_owned());
        let takes_power = self.chances.process.chance(self.plan.process.power);
        self.lose(takes_power);
        self.plan_start();
    }

    /// The process starts, and may die on the way.
    pub(super) fn start(&mut self) -> Result<(), Finding> {
        if self.machine.running.is_some() || self.machine.has_remains() {
            return Ok(());
        }
        self.machine.clock.set(self.clock_ms());
        if self.quiet_us.is_none() && self.chances.process.chance(self.plan.process.in_recovery) {
            let calls = self.chances.process.below(CALLS_MAX);
            self.trace.line(self.now_us, || format!("the process will die {calls} calls to the disk after its start"));
            self.machine.storage.crash_after(calls);
        }
        let failed_before = self.machine.storage.failures();
        match self.machine.start() {
            Ok(report) => self.recovered(&report),
            Err(error) => self.refused(&error, failed_before),
        }
    }

    /// A start was refused: is there a reason?
    fn refused(&mut self, error: &OpenError, failed_before: u64) -> Result<(), Finding> {
        self.trace.line(self.now_us, || format!("the start is refused: {error}"));
        if self.machine.storage.crashed() {
            self.counts.in_recoveries += 1;
            self.counts.crashes += 1;
            let takes_power = self.chances.process.chance(self.plan.process.power);
            self.lose(takes_power);
        } else if let OpenError::ClockBehind { last_at_ms, now_ms, ahead_ms_max } = error {
            if last_at_ms - now_ms <= *ahead_ms_max {
                return Err(Finding::new(format!("the clock is not that far behind: {error}")));
            }
            self.counts.clock_refusals += 1;
            self.offset_ms += last_at_ms - now_ms;
            self.trace.line(self.now_us, || "an operator sets the clock".to_owned());
        } else if error.code() == ErrorCode::StorageFull {
            self.counts.full_disks += 1;
        } else if self.machine.storage.failures() > failed_before {
            self.counts.failed_calls += 1;
        } else if matches!(error.code(), ErrorCode::JournalDamaged | ErrorCode::DataFolderInvalid) && self.mend_flips() {
            self.counts.flips_found += 1;
        } else {
            return Err(Finding::new(format!("the start is refused without a reason: {error}")));
        }
        self.plan_start();
        Ok(())
    }

    /// A recovery has to come to what the follower knows, and what was told has to be there.
    fn recovered(&mut self, report: &RestoreReport) -> Result<(), Finding> {
        self.planned.decide = false;
        self.trace.line(self.now_us, || {
            let (from, entries, journal) = (report.snapshot.unwrap_or(0), report.entries, &report.journal);
            format!("life {} begins: snapshot {from}, {entries} entries after it, up to batch {}", self.machine.life, journal.last_batch)
        });
        self.follow_now()?;
        self.compare_told()?;
        self.compare_hashes()
    }

    /// All that was told, and said to be durable, is there.
    fn compare_told(&mut self) -> Result<(), Finding> {
        let told: Vec<_> = self.record.get().told_durable.iter().map(|(shard, position)| (shard.clone(), *position)).collect();
        for (shard, position) in told {
            if !self.follower.shards.get(&shard).is_some_and(|followed| followed.has(position)) && position.seq > 0 {
                let now = self.follower.shards.get(&shard).map(|followed| followed.state.position()).unwrap_or_default();
                let what = format!("{shard}: {position} was told as durable, and after the recovery the shard is at {now} without it");
                return Err(Finding::new(what).about(position));
            }
        }
        Ok(())
    }

    /// The hashes of the recovered states are those of a model that was fed the entries.
    pub(super) fn compare_hashes(&mut self) -> Result<(), Finding> {
        let Some(running) = &self.machine.running else { return Ok(()) };
        let front = std::sync::Arc::clone(running.backend.front());
        let shards = self.drive(front.shards()).map_err(|failure| Finding::new(format!("no list of shards: {failure}")))?;
        let known: Vec<_> = self.follower.shards.keys().cloned().collect();
        if shards != known {
            return Err(Finding::new(format!("the recovered shards are {shards:?}, and the entries are of {known:?}")));
        }
        for shard in shards {
            let hash = self.drive(front.state_hash(shard.clone()));
            let (position, hash) = hash.map_err(|failure| Finding::new(format!("{shard}: no hash: {failure}")))?;
            let Some(followed) = self.follower.shards.get(&shard) else { continue };
            let state = &followed.state;
            if (position, hash) != (state.position(), state.state_hash()) {
                let (at, expected) = (state.position(), state.state_hash());
                let what = format!(
                    "{shard}: the state at {position} has the hash {hash}, a model that was fed the entries up to {at} has {expected}"
                );
                return Err(Finding::new(what).about(position));
            }
        }
        Ok(())
    }

    /// Lets the backend work until it has an answer. Nobody else is served meanwhile.
    fn drive<T>(&mut self, mut answer: BoxFuture<'static, T>) -> T {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
                return answer;
            }
            self.note_turn();
            let Some(running) = &mut self.machine.running else { continue };
            running.backend.decide();
            running.backend.take();
            running.backend.write();
            running.backend.answer();
        }
    }
}
