//! What goes wrong with the disk and the clock, and what changes.

use std::sync::Arc;

use nevertwice_local::folder::inspect_marker;
use nevertwice_local::journal::{Floor, Recovery, is_segment};
use nevertwice_local::snapshot::{self, is_snapshot};
use nevertwice_local::storage::Storage;

use super::event::Event;
use super::universe::World;

impl World {
    /// The first of each fault that this seed has.
    pub(super) fn plan_faults(&mut self) {
        self.plan_crash();
        self.plan_stop();
        self.plan_sweep();
        self.plan_disk();
        self.plan_clock();
    }

    pub(super) fn plan_crash(&mut self) {
        if let Some(us) = self.plan.process.crash_ms.map(|ms| self.chances.process.between(0, 2_000 * ms)) {
            self.after(us, Event::Crash);
        }
    }

    pub(super) fn plan_stop(&mut self) {
        if let Some(us) = self.plan.process.stop_ms.map(|ms| self.chances.process.between(0, 2_000 * ms)) {
            self.after(us, Event::Stop);
        }
    }

    pub(super) fn plan_sweep(&mut self) {
        let timetable = self.sweepers.timetable();
        if self.quiet_us.is_some() {
            let us = (self.plan.workload.hold_ms / 2).clamp(500, 5_000) * 1_000;
            return self.after(us, Event::Sweep(timetable));
        }
        if let Some(us) = self.plan.steward.every_ms.map(|ms| self.chances.process.between(1_000, 2_000 * ms)) {
            self.after(us, Event::Sweep(timetable));
        }
    }

    fn plan_disk(&mut self) {
        if let Some(us) = self.plan.disk.fail_ms.map(|ms| self.chances.disk.between(0, 2_000 * ms)) {
            self.after(us, Event::Fail);
        }
        if let Some(us) = self.plan.disk.full_ms.map(|ms| self.chances.disk.between(0, 2_000 * ms)) {
            self.after(us, Event::Fill);
        }
    }

    fn plan_clock(&mut self) {
        if let Some(us) = self.plan.clock.step_ms.map(|ms| self.chances.clock.between(0, 2_000 * ms)) {
            self.after(us, Event::SetClock);
        }
    }

    /// One of the next calls to the disk fails.
    pub(super) fn fail_call(&mut self) {
        if self.quiet_us.is_some() {
            return;
        }
        let calls = self.chances.disk.below(20);
        self.trace.line(self.now_us, || format!("a call to the disk will fail, {calls} calls from now"));
        self.machine.storage.fail_after(calls);
        let ms = self.plan.disk.fail_ms.unwrap_or(60_000);
        let us = self.chances.disk.between(0, 2_000 * ms);
        self.after(us, Event::Fail);
    }

    /// The disk has hardly any room left.
    pub(super) fn fill_disk(&mut self) {
        if self.quiet_us.is_some() {
            return;
        }
        let room = self.chances.disk.below(200_000);
        let used = self.machine.storage.used();
        self.counts.full_disks += 1;
        self.trace.line(self.now_us, || format!("the disk has room for {room} bytes more"));
        self.machine.storage.set_capacity(Some(used + room));
        let us = self.chances.disk.between(1_000, self.plan.disk.full_for_ms * 1_000);
        self.after(us, Event::Free);
    }

    pub(super) fn free_disk(&mut self) {
        self.trace.line(self.now_us, || "there is room on the disk again".to_owned());
        self.machine.storage.set_capacity(None);
        let ms = self.plan.disk.full_ms.unwrap_or(60_000);
        let us = self.chances.disk.between(0, 2_000 * ms);
        self.after(us, Event::Fill);
    }

    /// The clock is set: forwards, backwards, or right.
    pub(super) fn set_clock(&mut self) {
        if self.quiet_us.is_some() {
            return;
        }
        let most_ms = self.plan.clock.step_max_ms;
        self.offset_ms = if self.chances.clock.chance(300) { 0 } else { self.offset_ms + self.chances.clock.between(-most_ms, most_ms) };
        self.counts.clock_steps += 1;
        self.machine.clock.set(self.clock_ms());
        self.trace.line(self.now_us, || format!("the clock is set, {} ms from the right time", self.offset_ms));
        self.plan_clock();
    }

    /// Another pace, another mixture.
    pub(super) fn change(&mut self) {
        if self.quiet_us.is_some() {
            return;
        }
        let random = &mut self.chances.clients;
        self.gap_us = random.pick(&self.plan.clients.gaps_us).copied().unwrap_or(self.gap_us);
        let (hot, repeats) = (random.below(1_001), random.below(400));
        let (accounts, instruments, seats) = (random.between(2, 40), random.between(1, 12), random.between(1, 80));
        let us = random.between(200_000, 8_000_000);
        let options = self.workload.options_mut();
        options.hot_per_mille = hot;
        options.repeat_per_mille = repeats;
        options.accounts = usize::try_from(accounts).unwrap_or(options.accounts);
        options.instruments = usize::try_from(instruments).unwrap_or(options.instruments);
        options.seats = seats;
        let gap_us = self.gap_us;
        self.trace
            .line(self.now_us, || format!("the workload changes: a gap of up to {gap_us} us, hot {hot}, repeats {repeats}, seats {seats}"));
        self.after(us, Event::Change);
    }

    /// A bit turns while nobody looks: in a frame or a snapshot that was durable for certain, in the marker, or in the note of how
    /// far the journal reaches. Not in the last frames, which nothing proves: a damaged one passes for a torn tail there.
    pub(super) fn flip_some(&mut self) {
        if self.quiet_us.is_some() || !self.chances.disk.chance(self.plan.disk.flips) {
            return;
        }
        let Some((name, from, to)) = self.durable_bytes() else { return };
        let at = from + self.chances.disk.below(to - from);
        let mask = 1_u8 << self.chances.disk.below(8);
        self.counts.flips += 1;
        self.trace.line(self.now_us, || format!("a bit turns in {name} at byte {at}"));
        self.machine.storage.flip(&name, usize::try_from(at).unwrap_or(0), mask);
    }

    /// A file, and bytes of it that are there for certain.
    fn durable_bytes(&mut self) -> Option<(String, u64, u64)> {
        let storage = Arc::new(self.machine.storage.clone()) as Arc<dyn Storage>;
        let id = inspect_marker(storage.as_ref()).ok()?;
        let newest = snapshot::newest(storage.as_ref(), id).ok()?.0;
        let floor = newest.map_or(Floor::default(), |verified| verified.floor);
        let (recovery, damage) = Recovery::inspect(Arc::clone(&storage), id, floor).ok()?;
        if damage.is_some() {
            return None;
        }
        let names: Vec<String> = storage.list().ok()?.into_iter().filter(|name| !name.ends_with(".tmp")).collect();
        let others: Vec<&String> = names.iter().filter(|name| !is_segment(name)).collect();
        let (proven, random) = (recovery.report().proven_batch, &mut self.chances.disk);
        if random.chance(300) {
            let name = random.pick(&others).map(|name| (*name).clone())?;
            let len = storage.read(&name).ok()?.len() as u64;
            let is_worth_it = is_snapshot(&name) || name == "format" || name == "reach";
            return (len > 0 && is_worth_it).then_some((name, 0, len));
        }
        let frames: Vec<_> = recovery.frames().iter().filter(|frame| frame.batch <= proven).collect();
        let frame = random.pick(&frames)?;
        Some((format!("journal-{:020}.segment", frame.segment), frame.offset, frame.end))
    }

    /// Somebody restores what was damaged from a copy. `false`: nothing was.
    pub(super) fn mend_flips(&mut self) -> bool {
        let mended = self.machine.storage.mend();
        self.trace.line(self.now_us, || format!("{mended} flipped bits are restored from a copy"));
        mended > 0
    }
}
