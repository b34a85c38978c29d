//! The standby: a disk of its own, and the copy on it while it runs.

use std::sync::Arc;

use nevertwice_local::LocalOptions;
use nevertwice_local::chance::Chance;
use nevertwice_local::source::SourceError;
use nevertwice_local::standby::{Asker, CopyError, JournalCopy};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use super::link::Link;
use crate::finding::Finding;

/// The file that makes a folder a standby's.
const FOLLOWING: &str = "following";

pub(super) struct Standby {
    pub(super) disk: MemoryStorage,
    copy: Option<JournalCopy>,
    is_up: bool,
    options: LocalOptions,
    chance: Arc<dyn Chance>,
}

impl Standby {
    pub(super) fn new(seed: u64, options: &LocalOptions, chance: Arc<dyn Chance>) -> Self {
        Self { disk: MemoryStorage::new(seed), copy: None, is_up: false, options: options.clone(), chance }
    }

    pub(super) const fn is_up(&self) -> bool {
        self.is_up
    }

    /// It starts, and goes on with its copy if there is one.
    pub(super) fn start(&mut self) -> Result<(), Finding> {
        let disk: Arc<dyn Storage> = Arc::new(self.disk.clone());
        match JournalCopy::resume(&disk, &self.options.journal, self.chance.as_ref()) {
            Ok(begun) => {
                self.copy = begun.map(|begun| self.planted(begun.copy));
                self.is_up = true;
                Ok(())
            }
            Err(_) if self.disk.crashed() => Ok(()),
            Err(error) => Err(Finding::new(format!("the standby does not start: {error}"))),
        }
    }

    /// It asks once for what comes next. Returns how many batches came.
    pub(super) fn ask(&mut self, link: &mut Link<'_>) -> Result<u64, Finding> {
        let asked = match &mut self.copy {
            Some(copy) => copy.pull(link, &Asker { name: "standby".to_owned(), wait_ms: 0 }).map(|progress| progress.batches),
            None => {
                let disk: Arc<dyn Storage> = Arc::new(self.disk.clone());
                JournalCopy::install(&disk, link, &self.options.journal, self.chance.as_ref()).map(|begun| {
                    self.copy = Some(self.planted(begun.copy));
                    0
                })
            }
        };
        match asked {
            Ok(batches) => Ok(batches),
            Err(_) if self.disk.crashed() => Ok(0),
            Err(CopyError::Source(SourceError::Unreachable(_))) => Ok(0),
            // What comes next is in a snapshot only.
            Err(CopyError::Source(SourceError::Pruned | SourceError::NoSnapshot)) => {
                self.copy = None;
                Ok(0)
            }
            Err(error) => Err(Finding::new(format!("the standby can't follow: {error}"))),
        }
    }

    fn planted(&self, copy: JournalCopy) -> JournalCopy {
        #[cfg(feature = "mutants")]
        let copy = copy.with(self.options.mutant);
        copy
    }

    /// It is gone, in the middle of whatever it did.
    pub(super) fn die(&mut self, takes_power: bool) {
        self.disk.crash_after(0);
        self.copy = None;
        self.is_up = false;
        if takes_power { self.disk.power_loss() } else { self.disk.kill() }
    }

    /// It stops following in order. `false`: it has no copy that it could be promoted with.
    pub(super) fn leave(&mut self) -> Result<bool, Finding> {
        if let Some(copy) = self.copy.take() {
            match copy.leave() {
                Err(failure) if !self.disk.crashed() => return Err(Finding::new(format!("the standby can't stop: {failure}"))),
                Ok(()) | Err(_) => {}
            }
        }
        // What it was promoted with is what lies on its disk.
        self.disk.kill();
        let following = self.disk.read(FOLLOWING).unwrap_or_default();
        Ok(!following.is_empty() && !following.ends_with(b"unfinished\n"))
    }
}
