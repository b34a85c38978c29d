//! How the process dies and comes back.

use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_core::keys::{KeyState, LapsePolicy, OwnerId, RegisterKey};
use nevertwice_local::clock::Clock as _;
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeysInspection, SteppedKeyStore};

use super::command::{Command, look};
use super::world::KeysWorld;
use crate::finding::Finding;

/// How often a start is tried.
const STARTS_MAX: u32 = 50;

impl KeysWorld {
    /// The process ends without warning, with or without the power, and comes back.
    pub(super) fn restart(&mut self) -> Result<(), Finding> {
        self.counts.crashes += 1;
        self.counts.in_calls += u64::from(self.storage.crashed());
        self.die();
        self.start()
    }

    fn die(&mut self) {
        self.running = None;
        if self.random.chance(600) {
            self.counts.power_losses += 1;
            self.storage.power_loss();
        } else {
            self.storage.kill();
        }
        self.storage.set_capacity(None);
        self.trace.line(self.clock_us(), || "the process is gone".to_owned());
        let in_group = self.group.as_mut().map(|group| std::mem::take(&mut group.asked)).unwrap_or_default();
        let asked: Vec<_> = self.line.drain(..).chain(in_group).chain(self.reads.drain(..)).collect();
        for mut asked in asked {
            // The connection is gone: he asks again, if he still wants to know.
            drop(look(&mut asked.hearing));
            if let Some(contender) = asked.contender
                && self.random.chance(600)
            {
                self.contenders[contender].again = Some((asked.key, asked.command.clone()));
            }
            self.answered(asked);
        }
    }

    /// Starts the process, again and again if it dies on the way, and judges what it has kept.
    pub(super) fn start(&mut self) -> Result<(), Finding> {
        for _ in 0..STARTS_MAX {
            let storage = Arc::new(self.storage.clone()) as Arc<dyn Storage>;
            if !self.is_quiet && self.random.chance(self.plan.often.crash * 10) {
                let calls = self.random.below(25);
                self.storage.crash_after(calls);
            }
            let opened = SteppedKeyStore::open(storage, self.clock.clone(), self.chance.clone(), &self.plan.store);
            match opened {
                Ok((store, report)) => {
                    self.trace.line(self.clock_us(), || format!("the process has started: {report:?}"));
                    self.running = Some(store);
                    self.is_poisoned = false;
                    if self.storage.crashed() {
                        self.die();
                        continue;
                    }
                    // What is judged now is what was recovered, not what another crash makes of it.
                    self.storage.no_more_faults();
                    self.judge_recovery()?;
                    return self.retry_answers();
                }
                Err(error) if self.storage.crashed() => {
                    self.counts.in_recoveries += 1;
                    self.trace.line(self.clock_us(), || format!("a start was cut off: {error}"));
                    self.die();
                }
                Err(error) if matches!(error.code(), ErrorCode::StorageFull | ErrorCode::DataFolderInvalid) => {
                    self.trace.line(self.clock_us(), || format!("a start failed: {error}"));
                    self.storage.no_more_faults();
                    self.storage.set_capacity(None);
                    self.die();
                }
                Err(error) => return Err(Finding::new(format!("the store does not start: {error}"))),
            }
        }
        Err(Finding::new("the store does not start, however often it is tried"))
    }

    /// Everybody whose answer is kept asks for it again, and gets it byte for byte.
    fn retry_answers(&mut self) -> Result<(), Finding> {
        let at_ms = self.clock.now_ms();
        let kept: Vec<(u64, RegisterKey)> = (0..self.plan.keys)
            .filter_map(|key| match &self.twin.remembered(key, at_ms)?.state {
                KeyState::Completed(completion) => Some((
                    key,
                    RegisterKey {
                        fingerprint: completion.fingerprint,
                        owner: OwnerId([0x1d; 32]),
                        lease_ms: 0,
                        retention_ms: self.plan.retention_ms,
                        expires_at: None,
                        lapse: LapsePolicy::Refuse,
                    },
                )),
                _ => None,
            })
            .collect();
        for (key, command) in kept {
            self.put(None, key, Command::Register(command));
        }
        self.drain()
    }

    /// The process stops in order, and what it leaves is looked at.
    pub(super) fn stop(&mut self) -> Result<(), Finding> {
        let Some(store) = self.running.take() else { return Ok(()) };
        self.counts.stops += 1;
        store.stop();
        if !self.line.is_empty() {
            return Err(Finding::new("something was not decided before an orderly stop"));
        }
        let looked = KeysInspection::open(Arc::new(self.storage.clone())).and_then(|inspection| inspection.verify(|| {}));
        match looked {
            Ok(verdict) if verdict.faults.is_empty() => Ok(()),
            Ok(verdict) => Err(Finding::new(format!("after an orderly stop the folder is not clean: {}", verdict.faults.join("; ")))),
            Err(error) => Err(Finding::new(format!("after an orderly stop the folder can't be read: {error}"))),
        }
    }
}
