//! Puts the store of keys together, and takes it apart.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use nevertwice_api::{BoxFuture, Health, KeyStoreFailure, KeyStoreStatus};
use tokio::sync::oneshot;

use super::answers::Answers;
use super::copies::piece_of;
use super::gauges::Gauges;
use super::options::KeyStoreOptions;
use super::queue::{Item, Reply};
use super::reader::{Errand, Reader, Shelf};
use super::restore::{KeysRecovered, check_clock, remove_orphans, restore};
use super::snapshots::{Snapshots, Wish};
use super::sweeper::Round;
use super::writer::{Bounds, Group, Writer};
use crate::backend::SnapshotReport;
use crate::chance::{Chance, SystemChance};
use crate::clock::Clock;
use crate::error::{IoFailure, OpenError};
use crate::folder::{Folder, Holds, JournalId};
use crate::journal::Room;
use crate::source::{Piece, SourceError};
use crate::storage::Storage;

/// The name of the folder of keys in a server's data folder.
pub const KEYS_FOLDER: &str = "keys";

/// A store of keys in a folder: what a reply says is fsynced on this machine before anybody hears it, unless the level is `decided`.
pub struct LocalKeyStore {
    items: Sender<Item>,
    depth: Arc<AtomicUsize>,
    errands: Sender<Errand>,
    wishes: Sender<Wish>,
    gauges: Arc<Gauges>,
    room: Room,
    stopping: Arc<AtomicBool>,
    pub(super) options: KeyStoreOptions,
    threads: Mutex<Vec<JoinHandle<()>>>,
    reader: Mutex<Option<JoinHandle<()>>>,
    folder: Folder,
}

/// The store in its parts.
pub(super) struct Assembled {
    pub(super) store: LocalKeyStore,
    pub(super) writer: Writer,
    pub(super) reader: Reader,
    pub(super) snapshots: Snapshots,
    pub(super) report: KeysRecovered,
}

impl LocalKeyStore {
    /// Claims the folder, which holds keys and nothing else, recovers what is in it, and starts the threads.
    ///
    /// # Errors
    /// If the folder is in use, of a newer version, damaged, ahead of the clock, or cannot be read or written. Then nothing
    /// that counts was changed.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        options: &KeyStoreOptions,
    ) -> Result<(LocalKeyStore, KeysRecovered), OpenError> {
        let Assembled { store, writer, reader, snapshots, report } =
            LocalKeyStore::assemble(storage, clock, Arc::new(SystemChance), options)?;
        // From here on an error drops the store, which stops the threads that run.
        let answers = start("keys-answers", move || reader.run())?;
        *store.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(answers);
        let others = [start("keys-writer", move || writer.run()), start("keys-snapshots", move || snapshots.run())];
        for other in others {
            store.threads.lock().unwrap_or_else(PoisonError::into_inner).push(other?);
        }
        Ok((store, report))
    }

    /// Claims the folder, recovers what is in it, and makes the parts; nobody runs them yet.
    pub(super) fn assemble(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
        options: &KeyStoreOptions,
    ) -> Result<Assembled, OpenError> {
        options.check()?;
        let folder = Folder::claim_that_holds(Holds::Keys, storage, chance.as_ref())?;
        let storage = Arc::clone(folder.storage());
        let restored = restore(&storage, folder.id(), chance.as_ref())?;
        if let Some(damage) = restored.damage {
            return Err(damage.into());
        }
        if let Some(fault) = restored.files.fault() {
            return Err(fault);
        }
        check_clock(&restored.records, clock.as_ref(), options.clock_ahead_ms_max)?;
        let journal = restored.recovery.finish(&options.journal)?;
        #[cfg(feature = "mutants")]
        let journal = journal.skipping_syncs(options.mutant == Some(crate::Mutant::SkippedSync));
        remove_orphans(storage.as_ref(), &restored.files)?;
        let files = restored.files;
        let answers = Answers::new(Arc::clone(&storage), files.held, files.next, options.answers_bytes_max);

        let (items, queue) = channel();
        let (errands, asked) = channel();
        let (wishes, wished) = channel();
        let depth = Arc::new(AtomicUsize::new(0));
        let reading = Arc::new(AtomicUsize::new(0));
        let stopping = Arc::new(AtomicBool::new(false));
        let gauges = Arc::new(Gauges::default());
        gauges.set(restored.records.len(), answers.bytes());
        let snapshots = Snapshots { wishes: wished, reader: journal.reader(), chance, stopping: Arc::clone(&stopping) };
        let room = journal.room();
        let writer = Writer {
            items: queue,
            arrived: VecDeque::new(),
            depth: Arc::clone(&depth),
            clock,
            records: restored.records,
            answers,
            room: room.clone(),
            journal,
            shelf: Shelf::new(errands.clone(), Arc::clone(&reading), options.queue_max),
            wishes: wishes.clone(),
            gauges: Arc::clone(&gauges),
            stopping: Arc::clone(&stopping),
            bounds: Bounds {
                level: options.level,
                records_max: options.records_max,
                of_one: options.of_one.or_half(options.records_max, options.answers_bytes_max),
                group_items_max: options.group_items_max,
                segment_bytes: options.journal.segment_bytes,
                snapshot_bytes: options.snapshot_bytes,
                #[cfg(feature = "mutants")]
                mutant: options.mutant,
            },
            group: Group::default(),
            round: Round::default(),
            bytes_since: 0,
        };
        let reader = Reader { errands: asked, depth: reading, storage };
        let store = LocalKeyStore {
            items,
            depth,
            errands,
            wishes,
            gauges,
            room,
            stopping,
            options: options.clone(),
            threads: Mutex::default(),
            reader: Mutex::default(),
            folder,
        };
        Ok(Assembled { store, writer, reader, snapshots, report: restored.report })
    }

    /// Whether it can work.
    #[must_use]
    pub fn health(&self) -> Health {
        if self.gauges.is_poisoned() {
            Health::Poisoned
        } else if self.stopping.load(Ordering::Relaxed) {
            Health::Stopping
        } else if self.room.left_bytes().is_some_and(|left| left < self.gauges.reserve()) {
            Health::Full
        } else {
            Health::Ready
        }
    }

    /// Makes a snapshot now, unless nothing has happened since the last one.
    ///
    /// # Errors
    /// If it cannot be written, or the journal not be read; the snapshots before it stay.
    pub fn snapshot(&self) -> BoxFuture<'static, Result<SnapshotReport, OpenError>> {
        let (reply, answer) = oneshot::channel();
        let wished = self.wishes.send(Wish::Make(Some(reply)));
        let stopped = || OpenError::Options { what: "the store of keys is about to stop".to_owned() };
        Box::pin(async move {
            wished.map_err(|_| stopped())?;
            answer.await.unwrap_or_else(|_| Err(stopped()))
        })
    }

    /// The number of its journal.
    #[must_use]
    pub fn id(&self) -> JournalId {
        self.folder.id()
    }

    /// A piece of one of its snapshots or files of answers, for who copies it. It blocks.
    ///
    /// # Errors
    /// If there is no such file, or not any more ([`SourceError::NoSnapshot`]), or it can't be read.
    pub fn copied_piece(&self, name: &str, from: u64) -> Result<Piece, SourceError> {
        piece_of(self.folder.storage().as_ref(), name, from)
    }

    /// Refuses whatever comes from now on, answers what came before, seals the journal, and waits until that is done. It
    /// blocks: call it where blocking is allowed. The folder is released when the store is dropped.
    pub fn stop(&self) {
        self.refuse();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic there has been reported by the panic hook.
            drop(thread.join());
        }
        // Replays that the writer decided are still answered.
        drop(self.errands.send(Errand::Stop));
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(reader.join());
        }
    }

    /// Refuses whatever comes from now on, and tells the threads to end.
    pub(super) fn refuse(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Nobody hears it if the threads have ended already.
        drop(self.items.send(Item::Stop));
        drop(self.wishes.send(Wish::Stop));
    }

    /// Puts an item into the queue, or says why not.
    pub(super) fn put<T: Send + 'static>(&self, item: impl FnOnce(Reply<T>) -> Item) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
        if self.stopping.load(Ordering::Relaxed) {
            return failed(KeyStoreFailure::Unavailable);
        }
        if self.depth.fetch_add(1, Ordering::Relaxed) >= self.options.queue_max {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return failed(KeyStoreFailure::Unavailable);
        }
        let (reply, answer) = oneshot::channel();
        if self.items.send(item(reply)).is_err() {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return failed(KeyStoreFailure::Unavailable);
        }
        // The writer is gone with the question in hand: nobody knows what became of it.
        Box::pin(async move { answer.await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown)) })
    }

    pub(super) fn key_status(&self) -> KeyStoreStatus {
        KeyStoreStatus {
            records: self.gauges.records(),
            records_max: self.options.records_max,
            answer_bytes: self.gauges.answer_bytes(),
            answer_bytes_max: self.options.answers_bytes_max,
            lapsed: self.gauges.lapsed(),
        }
    }
}

pub(super) fn failed<T: Send + 'static>(failure: KeyStoreFailure) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
    Box::pin(std::future::ready(Err(failure)))
}

fn start(name: &'static str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, IoFailure> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(IoFailure::of("starting the thread", name))
}

impl Drop for LocalKeyStore {
    fn drop(&mut self) {
        self.stop();
    }
}
