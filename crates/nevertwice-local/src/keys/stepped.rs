//! The store of keys without its threads, for whoever wants to say what runs next: the simulator's scheduler. The steps are those
//! that the threads of [`LocalKeyStore`] take in loops; nothing here decides, writes or answers in another way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::open::{Assembled, LocalKeyStore};
use super::options::KeyStoreOptions;
use super::reader::Reader;
use super::restore::KeysRecovered;
use super::snapshots::Snapshots;
use super::writer::{Made, Writer};
use crate::chance::Chance;
use crate::clock::Clock;
use crate::error::OpenError;
use crate::storage::Storage;

/// The store of keys, step by step. Callers use [`SteppedKeyStore::front`]; to drop the rest is the end of the process.
pub struct SteppedKeyStore {
    front: Arc<LocalKeyStore>,
    writer: Writer,
    reader: Reader,
    snapshots: Snapshots,
    /// A group is decided, and has found no room yet.
    is_waiting: bool,
}

impl SteppedKeyStore {
    /// Claims the folder and recovers what is in it, as [`LocalKeyStore::open`] does.
    ///
    /// # Errors
    /// The same.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
        options: &KeyStoreOptions,
    ) -> Result<(SteppedKeyStore, KeysRecovered), OpenError> {
        let Assembled { store, writer, reader, snapshots, report } = LocalKeyStore::assemble(storage, clock, chance, options)?;
        Ok((SteppedKeyStore { front: Arc::new(store), writer, reader, snapshots, is_waiting: false }, report))
    }

    /// What callers see of it.
    #[must_use]
    pub fn front(&self) -> &Arc<LocalKeyStore> {
        &self.front
    }

    /// The writer decides a group. `false`: nothing has arrived, or the group before is not safe yet.
    pub fn decide(&mut self) -> bool {
        if self.is_waiting {
            return false;
        }
        let Ok(first) = self.writer.items.try_recv() else { return false };
        self.writer.decide_group(first);
        self.is_waiting = true;
        true
    }

    /// The writer makes the group safe and answers it. `false`: there is none, or no room for it.
    pub fn write(&mut self) -> bool {
        if !self.is_waiting || self.writer.make_safe() == Made::NoRoom {
            return false;
        }
        self.is_waiting = false;
        true
    }

    /// An answer is read for a replay, or a file removed. `false`: nobody wants it.
    pub fn read(&mut self) -> bool {
        self.reader.step()
    }

    /// Makes the next snapshot that somebody wishes for. `false`: nobody does.
    pub fn snapshot(&mut self) -> bool {
        self.snapshots.step()
    }

    /// Refuses whatever comes from now on, answers what came before, and seals the journal. The folder is released when the last
    /// share of the front is dropped.
    pub fn stop(mut self) {
        self.front.refuse();
        while self.writer.depth.load(Ordering::Relaxed) > 0 || self.is_waiting {
            self.decide();
            self.write();
        }
        while self.read() {}
        self.writer.end();
    }
}
