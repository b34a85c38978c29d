//! Whether what was told is true.
//!
//! What is safe is known exactly: the groups are decided in the order in which things were asked, each by the core's transition
//! function, and a group is on the disk whole or not at all. So every answer is compared with the one that the core gives; after a
//! crash the store holds what it held before the last group, or what it held after it, and only the latter if anybody was told so.

use nevertwice_api::{KeyStoreFailure, Level};
use nevertwice_core::keys::Registration;
use nevertwice_local::clock::Clock as _;

use super::command::{Command, Heard, Said, look};
use super::world::{Asked, Group, KeysWorld};
use crate::finding::Finding;

impl KeysWorld {
    /// The writer decides a group.
    pub(super) fn decide(&mut self) -> Result<(), Finding> {
        let Some(store) = &mut self.running else { return Ok(()) };
        if !store.decide() {
            return Ok(());
        }
        let count = self.line.len().min(self.plan.store.group_items_max);
        let asked: Vec<Asked> = self.line.drain(..count).collect();
        let at_ms = self.clock.now_ms();
        if self.is_poisoned {
            return asked.into_iter().try_for_each(|asked| self.decided_in_vain(asked, at_ms));
        }
        let mut group = Group { asked: Vec::new(), after: self.twin.copy(), is_told: false };
        for mut asked in asked {
            asked.at_ms = at_ms;
            let told = look(&mut asked.hearing);
            if let Some(Err(failure)) = &told {
                self.check_refusal(&asked, failure)?;
                self.answered(asked);
                continue;
            }
            asked.expected = group.after.decide(asked.key, &asked.command, at_ms);
            self.counts.decisions += 1;
            if let Command::Sweep(_) = asked.command {
                self.clock_min_ms = self.clock_min_ms.max(at_ms);
            }
            match told {
                Some(Ok(heard)) => {
                    group.is_told |= group.after.changed.contains(&asked.key) && is_safe(&heard);
                    self.check(asked, heard)?;
                }
                _ => group.asked.push(asked),
            }
        }
        self.group = Some(group);
        Ok(())
    }

    /// After a failed call nothing is decided; what rests on safe records is still told.
    fn decided_in_vain(&mut self, mut asked: Asked, at_ms: i64) -> Result<(), Finding> {
        asked.at_ms = at_ms;
        match look(&mut asked.hearing) {
            Some(Err(KeyStoreFailure::Unavailable)) => {
                self.answered(asked);
                Ok(())
            }
            Some(Err(failure)) => Err(self.finding(&asked, &format!("was told {failure:?} by a store whose journal has failed"))),
            told => {
                let mut after = self.twin.copy();
                asked.expected = after.decide(asked.key, &asked.command, at_ms);
                if !after.changed.is_empty() || matches!(asked.command, Command::Sweep(_)) {
                    return Err(self.finding(&asked, "changed something although the journal has failed"));
                }
                if self.group.as_ref().is_some_and(|group| group.after.changed.contains(&asked.key)) {
                    return Err(self.finding(&asked, "was told of a record of which nobody knows whether it is on the disk"));
                }
                match told {
                    Some(Ok(heard)) => self.check(asked, heard),
                    _ => {
                        self.reads.push(asked);
                        Ok(())
                    }
                }
            }
        }
    }

    /// The writer makes the group safe.
    pub(super) fn write(&mut self) -> Result<(), Finding> {
        let Some(store) = &mut self.running else { return Ok(()) };
        let failures = self.storage.failures();
        if !store.write() {
            return Ok(());
        }
        if self.is_poisoned {
            return Ok(());
        }
        self.is_poisoned = store.front().health() == nevertwice_api::Health::Poisoned;
        let Some(mut group) = self.group.take() else { return Ok(()) };
        if self.is_poisoned && !self.storage.crashed() {
            self.counts.failed_calls += 1;
            if self.storage.failures() == 0 && failures == 0 && self.counts.full_disks == 0 {
                return Err(Finding::new("the journal has failed although nothing did"));
            }
        }
        for mut asked in std::mem::take(&mut group.asked) {
            match look(&mut asked.hearing) {
                None => self.reads.push(asked),
                Some(Err(KeyStoreFailure::OutcomeUnknown)) if self.is_poisoned => self.answered(asked),
                Some(Err(failure)) => return Err(self.finding(&asked, &format!("was told {failure:?} once its group was written"))),
                Some(Ok(heard)) => {
                    group.is_told |= group.after.changed.contains(&asked.key) && is_safe(&heard);
                    self.check(asked, heard)?;
                }
            }
        }
        if self.is_poisoned {
            self.group = Some(group);
        } else {
            self.twin = group.after.copy();
        }
        Ok(())
    }

    /// An answer is read for a replay.
    pub(super) fn read(&mut self) -> Result<(), Finding> {
        let Some(store) = &mut self.running else { return Ok(()) };
        if !store.read() {
            return Ok(());
        }
        for mut asked in std::mem::take(&mut self.reads) {
            match look(&mut asked.hearing) {
                None => self.reads.push(asked),
                Some(Err(KeyStoreFailure::Unavailable)) if self.storage.crashed() => self.answered(asked),
                Some(Err(failure)) => return Err(self.finding(&asked, &format!("was told {failure:?} by who reads answers"))),
                Some(Ok(heard)) => self.check(asked, heard)?,
            }
        }
        Ok(())
    }

    /// Whether a refusal can be what it says.
    fn check_refusal(&mut self, asked: &Asked, failure: &KeyStoreFailure) -> Result<(), Finding> {
        let is_bound = self.counts.full_disks > 0 || self.plan.is_tight();
        match (failure, &asked.command) {
            (KeyStoreFailure::Full, Command::Release(_) | Command::Inspect | Command::Sweep(_)) => {
                Err(self.finding(asked, "was refused for want of room, and takes none"))
            }
            (KeyStoreFailure::Full, Command::Complete(_, bytes)) if bytes.head.is_empty() => {
                Err(self.finding(asked, "is a tombstone, and was refused for want of room"))
            }
            (KeyStoreFailure::Full, _) if is_bound => Ok(()),
            (KeyStoreFailure::Full, _) => Err(self.finding(asked, "was refused for want of room, and there is room")),
            (KeyStoreFailure::Unavailable, _) if self.storage.crashed() || self.storage.failures() > 0 => {
                self.is_poisoned = self.running.as_ref().is_some_and(|store| store.front().health() == nevertwice_api::Health::Poisoned);
                Ok(())
            }
            (failure, _) => Err(self.finding(asked, &format!("was told {failure:?}"))),
        }
    }

    /// Compares what somebody hears with what the core says.
    fn check(&mut self, asked: Asked, heard: Heard) -> Result<(), Finding> {
        if let Some((at_ms, _)) = heard.at
            && at_ms != asked.at_ms
        {
            return Err(self.finding(&asked, &format!("was decided at {at_ms} ms, and the clock showed {}", asked.at_ms)));
        }
        match &asked.expected {
            Some(expected) if *expected != heard.said => {
                let what = format!("was told {:?}, and the core says {expected:?}", heard.said);
                return Err(self.finding(&asked, &what));
            }
            _ => self.counts.judged += 1,
        }
        self.check_generation(&asked, &heard)?;
        if self.random.chance(self.plan.often.lost_answer) && !self.is_quiet {
            // It never arrives: he asks again, with the same words.
            if let Some(contender) = asked.contender {
                self.contenders[contender].again = Some((asked.key, asked.command.clone()));
            }
        } else if let Some(contender) = asked.contender {
            self.contenders[contender].hear(asked.key, &asked.command, &heard.said);
        }
        self.answered(asked);
        Ok(())
    }

    /// The contenders' own record, without the core: a claim that somebody was told safely has a higher generation than any before.
    fn check_generation(&mut self, asked: &Asked, heard: &Heard) -> Result<(), Finding> {
        let Said::Registered(Ok(registered)) = &heard.said else { return Ok(()) };
        let (Registration::Fresh(lease) | Registration::TakenOver(lease)) = &registered.registration else { return Ok(()) };
        if !is_safe(heard) {
            return Ok(());
        }
        let before = self.told.insert(asked.key, lease.generation);
        if before.is_some_and(|before| before >= lease.generation) {
            let what = format!("was given generation {}, and {before:?} was given before", lease.generation);
            return Err(self.finding(asked, &what));
        }
        Ok(())
    }

    /// Whoever asked may ask something else now.
    pub(super) fn answered(&mut self, asked: Asked) {
        self.trace.line(self.clock_us(), || format!("{:?} has an answer of key {}: {}", asked.contender, asked.key, asked.command));
        if let Some(contender) = asked.contender {
            self.contenders[contender].waits = false;
        }
    }

    /// Compares what a store holds after its recovery with what it has to hold.
    pub(super) fn judge_recovery(&mut self) -> Result<(), Finding> {
        let at_ms = self.clock.now_ms();
        let Some(store) = &mut self.running else { return Ok(()) };
        let mut found = Vec::new();
        for key in 0..self.plan.keys {
            let mut hearing = Command::Inspect.ask(store.front().as_ref(), key);
            store.decide();
            store.write();
            match look(&mut hearing) {
                Some(Ok(Heard { said: Said::Inspected(record), .. })) => found.push(record),
                other => return Err(Finding::new(format!("key {key} can't be read after a recovery: {other:?}"))),
            }
        }
        let group = self.group.take();
        let holds = |twin: &super::twin::Twin| (0..).zip(&found).find(|(key, record)| twin.remembered(*key, at_ms) != record.as_ref());
        let after = group.as_ref().map(|group| holds(&group.after));
        let before = holds(&self.twin);
        if before.is_none() && after == Some(None) {
            // Nobody can tell which it is until a clock goes back behind the end of what is forgotten now: so it does not.
            self.clock_min_ms = self.clock_min_ms.max(at_ms);
        }
        match (before, after) {
            (_, Some(None)) => self.twin = group.map(|group| group.after.copy()).unwrap_or_default(),
            (None, None) => {}
            (None, Some(Some((key, _)))) if !group.as_ref().is_some_and(|group| group.is_told) => {
                self.trace.line(self.clock_us(), || format!("the last group is gone, with what it did to key {key}"));
            }
            (None, Some(Some((key, _)))) => {
                let what = format!("somebody was told what became of the last group, and it is gone with its change of key {key}");
                return Err(Finding::new(what).about(format!("key {key}")));
            }
            (Some((key, record)), _) => {
                let expected = self.twin.remembered(key, at_ms);
                let what = format!("after a recovery key {key} is {record:?}, and was {expected:?}");
                return Err(Finding::new(what).about(format!("key {key}")));
            }
        }
        Ok(())
    }

    pub(super) fn finding(&self, asked: &Asked, what: &str) -> Finding {
        Finding::new(format!("of key {}: {} {what}", asked.key, asked.command)).about(format!("key {}", asked.key))
    }
}

/// Whether what somebody heard is said to be on the disk.
fn is_safe(heard: &Heard) -> bool {
    heard.at.is_some_and(|(_, levels)| levels.contains(Level::Journaled))
}
