//! The one thread that decides and writes: it owns the records, drains what has arrived, decides each by the core's transition
//! functions, makes the changes durable with one sync (two where answers are among them), and then answers all.
//!
//! Whatever the last group changed is durable before the next one is decided. So an answer waits for its own group and for nothing
//! else; where nothing of the group is to be written, it waits for nothing.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use nevertwice_api::{KeyStoreFailure, Level, Levels, ShareBounds};
use nevertwice_core::keys::KeyId;

use super::answers::Answers;
use super::change::{CHANGE_BYTES, Change, Kept, Place};
use super::gauges::Gauges;
use super::queue::{Item, Told, Waiting};
use super::reader::Shelf;
use super::records::Records;
use super::snapshots::Wish;
use super::sweeper::Round;
use crate::clock::Clock;
use crate::error::{AppendError, IoFailure};
use crate::journal::{ALIGNMENT, FrameBuffer, Journal, Room};

/// How long to wait before a group is tried again that found no room.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// A group takes no further answers once so many bytes of them wait for its sync.
const GROUP_ANSWER_BYTES_MAX: usize = 8 << 20;

/// Bounds of the writer.
pub(super) struct Bounds {
    pub(super) level: Level,
    pub(super) records_max: u64,
    /// Of one principal.
    pub(super) of_one: ShareBounds,
    pub(super) group_items_max: usize,
    pub(super) segment_bytes: u64,
    pub(super) snapshot_bytes: u64,
    #[cfg(feature = "mutants")]
    pub(super) mutant: Option<crate::Mutant>,
}

pub(super) struct Writer {
    pub(super) items: Receiver<Item>,
    /// What has been taken out of the queue and is not decided yet.
    pub(super) arrived: VecDeque<Item>,
    pub(super) depth: Arc<AtomicUsize>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) records: Records,
    pub(super) answers: Answers,
    pub(super) journal: Journal,
    pub(super) room: Room,
    pub(super) shelf: Shelf,
    pub(super) wishes: Sender<Wish>,
    pub(super) gauges: Arc<Gauges>,
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) bounds: Bounds,
    pub(super) group: Group,
    /// Where the next sweep goes on.
    pub(super) round: Round,
    /// Bytes of changes since the last snapshot was wished for.
    pub(super) bytes_since: u64,
}

/// What was decided and is not safe yet.
#[derive(Default)]
pub(super) struct Group {
    pub(super) frame: FrameBuffer,
    pub(super) waiting: Vec<Waiting>,
    /// The keys that it changed. Once the journal has failed: those of the group with which it did, whose records nobody is told.
    pub(super) changed: HashSet<KeyId>,
    /// Answers that are not kept any more once it is durable.
    pub(super) let_go: Vec<Place>,
    /// The instant at which it is decided.
    pub(super) at_ms: i64,
    /// Why nothing may be changed, if so.
    pub(super) state: State,
}

/// Whether changes can be made.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Ready,
    /// The disk is full: what is left is kept for those who have claimed.
    Full,
    /// The journal or a file of answers failed.
    Poisoned,
}

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// It is durable, or never will be, and all are answered.
    Done,
    /// There was no room; nothing counts of what was written, and everybody in it is still waiting.
    NoRoom,
}

struct Gone(Arc<Gauges>);

impl Drop for Gone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison();
        }
    }
}

impl Writer {
    /// Works until it is told to stop, or nobody is left who could ask.
    pub(super) fn run(mut self) {
        let _gone = Gone(Arc::clone(&self.gauges));
        while let Ok(first) = self.items.recv() {
            let is_last = self.decide_group(first);
            while self.make_safe() == Made::NoRoom {
                std::thread::sleep(RETRY_AFTER);
            }
            if is_last {
                break;
            }
        }
        self.end();
    }

    /// Refuses what came behind the last thing, and seals the journal.
    pub(super) fn end(self) {
        while let Ok(item) = self.items.try_recv() {
            item.fail(KeyStoreFailure::Unavailable);
        }
        if !self.gauges.is_poisoned()
            && let Err(error) = self.journal.close()
        {
            tracing::warn!(%error, "the journal of keys was not sealed; the next start recovers it");
        }
    }

    /// Decides what has arrived, or as much of it as one group takes; true: the last of it was the last thing.
    pub(super) fn decide_group(&mut self, first: Item) -> bool {
        let is_last = self.arrive(first);
        // Looked at once all of the group have arrived: a caller that has seen an answer may count on his next command not being
        // decided before it.
        self.group.at_ms = self.clock.now_ms().max(self.records.swept_at());
        let reserve = self.reserve();
        self.gauges.set_reserve(reserve);
        self.group.state = if self.gauges.is_poisoned() {
            State::Poisoned
        } else if self.room.left_bytes().is_some_and(|left| left < reserve) {
            State::Full
        } else {
            State::Ready
        };
        while let Some(item) = self.arrived.pop_front() {
            self.take(item);
        }
        is_last
    }

    /// Takes out of the queue what one group may hold, `first` in front; true: what comes behind it is to be refused.
    fn arrive(&mut self, first: Item) -> bool {
        let (mut next, mut answer_bytes) = (Some(first), 0);
        while let Some(item) = next {
            match &item {
                Item::Stop => return true,
                Item::Complete(_, _, bytes, _, _) => answer_bytes += bytes.head.len() + bytes.body.len(),
                _ => {}
            }
            self.arrived.push_back(item);
            self.depth.fetch_sub(1, Ordering::Relaxed);
            let is_large = answer_bytes >= GROUP_ANSWER_BYTES_MAX || self.arrived.len() >= self.bounds.group_items_max;
            next = if is_large { None } else { self.items.try_recv().ok() };
        }
        false
    }

    /// What is kept free on a full disk: a block for each claim, which is what it takes to end it alone, as far as a segment has them.
    fn reserve(&self) -> u64 {
        let for_claims = self.records.claims().saturating_mul(ALIGNMENT).min(self.bounds.segment_bytes / 2);
        let one_group = (self.bounds.group_items_max * 2 * CHANGE_BYTES) as u64;
        for_claims + one_group.next_multiple_of(ALIGNMENT) + ALIGNMENT
    }

    /// Makes the group durable, and answers all who wait for it.
    pub(super) fn make_safe(&mut self) -> Made {
        let bytes = self.group.frame.payload().len() as u64;
        if bytes > 0 && !self.gauges.is_poisoned() {
            match self.write() {
                Ok(()) => {}
                Err(AppendError::Full) if !self.stopping.load(Ordering::Relaxed) => return Made::NoRoom,
                Err(error) => {
                    tracing::error!(%error, "the store of keys does nothing more until a restart");
                    self.gauges.poison();
                }
            }
        }
        if self.gauges.is_poisoned() {
            self.give_up()
        } else {
            self.answer(bytes)
        }
        Made::Done
    }

    fn write(&mut self) -> Result<(), AppendError> {
        // A change that names an answer must not be found without it.
        #[cfg(feature = "mutants")]
        if self.bounds.mutant == Some(crate::Mutant::UnsyncedAnswer) {
            return self.journal.append(&mut self.group.frame).map(drop);
        }
        self.answers.sync().map_err(AppendError::Failed)?;
        self.journal.append(&mut self.group.frame).map(drop)
    }

    fn answer(&mut self, bytes: u64) {
        for waiting in self.group.waiting.drain(..) {
            waiting.told.send(&self.shelf);
        }
        for place in self.group.let_go.drain(..) {
            if let Some(file) = self.answers.let_go(place) {
                self.shelf.remove(file);
            }
        }
        self.group.changed.clear();
        self.gauges.set(self.records.len(), self.answers.bytes());
        self.wish_for_snapshot(bytes);
    }

    /// Nobody knows what of the group is on the disk: who rests on it is told so, and nobody else.
    fn give_up(&mut self) {
        for waiting in self.group.waiting.drain(..) {
            let is_safe = waiting.rests_on.is_none_or(|id| !self.group.changed.contains(&id));
            if is_safe { waiting.told.send(&self.shelf) } else { waiting.told.fail(KeyStoreFailure::OutcomeUnknown) }
        }
        self.group.frame.clear();
        self.group.let_go.clear();
    }

    fn wish_for_snapshot(&mut self, bytes: u64) {
        self.bytes_since = self.bytes_since.saturating_add(bytes);
        if self.bounds.snapshot_bytes > 0 && self.bytes_since >= self.bounds.snapshot_bytes {
            self.bytes_since = 0;
            // Nobody hears it while the store ends.
            drop(self.wishes.send(Wish::Make(None)));
        }
    }

    /// Makes a change here and now; it becomes durable with its group.
    pub(super) fn change(&mut self, id: KeyId, kept: Kept) {
        let change = Change::Key(id, kept);
        self.group.frame.push(|bytes| bytes.extend_from_slice(&change.encode()));
        if let Some(place) = self.records.apply(change).and_then(|before| before.place) {
            self.group.let_go.push(place);
        }
        self.group.changed.insert(id);
    }

    /// A file of answers failed: whatever it holds of this group may be missing.
    pub(super) fn poison(&self, failure: &IoFailure) {
        tracing::error!(%failure, "the store of keys does nothing more until a restart");
        self.gauges.poison();
    }

    /// The levels that what is known of a key has reached now.
    pub(super) fn reached(&self, id: &KeyId) -> Levels {
        Levels::reached(if self.is_safe(id) { Level::Journaled } else { Level::Decided })
    }

    fn is_safe(&self, id: &KeyId) -> bool {
        !self.group.changed.contains(id)
    }

    /// Whether an answer at these levels waits for the group.
    pub(super) fn must_wait(&self, levels: Levels) -> bool {
        self.bounds.level == Level::Journaled || levels.contains(Level::Journaled)
    }

    /// Sends an answer that rests on a key's record, or has it wait until that is safe.
    pub(super) fn tell(&mut self, id: KeyId, must_wait: bool, told: Told) {
        #[cfg(feature = "mutants")]
        let must_wait = must_wait && self.bounds.mutant != Some(crate::Mutant::EarlyKeyAnswer);
        if self.is_safe(&id) || (!must_wait && !self.gauges.is_poisoned()) {
            told.send(&self.shelf);
        } else if self.gauges.is_poisoned() && self.group.frame.payload().is_empty() {
            told.fail(KeyStoreFailure::Unavailable);
        } else {
            self.group.waiting.push(Waiting { rests_on: Some(id), told });
        }
    }
}
