//! The backend without its threads, for whoever wants to say what runs next: the simulator's scheduler. The steps are those that
//! the threads of [`LocalBackend`] take in loops; nothing here decides, writes or answers in another way.

use std::sync::Arc;

use nevertwice_api::Observer;

use super::handoff::Batch;
use super::open::{Assembled, LocalBackend};
use super::options::LocalOptions;
use super::sequencer::Sequencer;
use super::snapshots::Snapshots;
use super::syncer::{InHand, Syncer};
use crate::chance::Chance;
use crate::clock::Clock;
use crate::error::OpenError;
use crate::journal::JournalReader;
use crate::restore::RestoreReport;
use crate::storage::Storage;

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// There is nothing in hand that was not written.
    Nothing,
    /// The batch is durable, or the backend is poisoned. Its answers wait to be sent.
    Done,
    /// There was no room; nothing was written, and it is tried again.
    NoRoom,
}

/// The local backend, step by step. Callers use [`SteppedBackend::front`]; to drop the rest is the end of the process.
pub struct SteppedBackend {
    front: Arc<LocalBackend>,
    sequencer: Sequencer,
    syncer: Syncer,
    batch: Batch,
    hand: Option<InHand>,
    is_written: bool,
    snapshots: Snapshots,
}

impl SteppedBackend {
    /// Claims the folder and recovers what is in it, as [`LocalBackend::open`] does.
    ///
    /// # Errors
    /// The same.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
        observer: Arc<dyn Observer>,
        options: &LocalOptions,
    ) -> Result<(SteppedBackend, RestoreReport), OpenError> {
        let Assembled { backend, sequencer, syncer, snapshots, report } =
            LocalBackend::assemble(storage, clock, chance, observer, options, None)?;
        let front = Arc::new(backend);
        Ok((SteppedBackend { front, sequencer, syncer, batch: Batch::default(), hand: None, is_written: false, snapshots }, report))
    }

    /// What callers see of it.
    #[must_use]
    pub fn front(&self) -> &Arc<LocalBackend> {
        &self.front
    }

    /// Reads the durable journal.
    #[must_use]
    pub fn journal(&self) -> &JournalReader {
        self.front.journal()
    }

    /// The sequencer decides one group and hands it over. `false`: nothing has arrived, or the syncer is too far behind.
    pub fn decide(&mut self) -> bool {
        self.sequencer.step()
    }

    /// The syncer takes what was decided since it looked last. `false`: nothing was, or it has not answered what it took before.
    pub fn take(&mut self) -> bool {
        if self.hand.is_some() || !self.syncer.handoff.take_now(&mut self.batch) {
            return false;
        }
        self.hand = Some(InHand::of(&self.batch));
        self.is_written = false;
        true
    }

    /// The syncer writes and syncs what it took.
    pub fn write(&mut self) -> Written {
        match &mut self.hand {
            Some(hand) if !self.is_written => {
                if !self.syncer.write(&mut self.batch) {
                    return Written::NoRoom;
                }
                hand.is_written();
                self.is_written = true;
                Written::Done
            }
            _ => Written::Nothing,
        }
    }

    /// The syncer answers those who wait for what it wrote. `false`: it has written nothing.
    pub fn answer(&mut self) -> bool {
        if !self.is_written {
            return false;
        }
        let Some(hand) = self.hand.take() else { return false };
        self.syncer.answer(&mut self.batch, hand);
        self.is_written = false;
        true
    }

    /// What waits for replicas has waited for too long. With threads that is found out by a clock.
    pub fn give_up(&mut self) {
        if let Some(replicas) = &self.syncer.replicas {
            replicas.give_up_all();
        }
    }

    /// Makes the next snapshot that somebody wishes for. `false`: nobody does.
    pub fn snapshot(&mut self) -> bool {
        self.snapshots.step()
    }

    /// Refuses whatever comes from now on, answers what came before, and seals the journal. The data folder is released when
    /// the last share of the front is dropped.
    pub fn stop(mut self) {
        self.front.stop();
        while !self.sequencer.step_to_end() {
            self.sync();
        }
        while self.sync() {}
        self.syncer.close();
    }

    /// All that the syncer does about what was decided. `false`: nothing was.
    fn sync(&mut self) -> bool {
        self.take();
        self.write();
        self.answer()
    }
}
