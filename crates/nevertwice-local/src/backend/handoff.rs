//! Between the sequencer, which decides groups, and the syncer, which makes durable whatever has been decided since it looked
//! last. So a group never waits to be decided because another is being synced, and many groups share one sync.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nevertwice_api::Failure;

use super::queue::Waiting;
use crate::audit::Facts;
use crate::journal::FrameBuffer;

/// Decided groups on their way to the disk.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) frame: FrameBuffer,
    /// By group, in order.
    pub(crate) waiting: Vec<Vec<Waiting>>,
    /// The same, of those that wait for replicas as well.
    pub(crate) confirming: Vec<Vec<Waiting>>,
    /// The last group's ticket.
    pub(crate) ticket: u64,
    /// How many commands and reads its groups had.
    pub(crate) items: usize,
    /// How long deciding them took.
    pub(crate) decide: Duration,
    /// What of it operators did.
    pub(crate) facts: Facts,
}

/// One group, decided.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) payload: Vec<u8>,
    pub(crate) entries: u32,
    pub(crate) waiting: Vec<Waiting>,
    /// Those that wait for replicas as well.
    pub(crate) confirming: Vec<Waiting>,
    pub(crate) items: usize,
    pub(crate) facts: Facts,
}

#[derive(Default)]
struct Decided {
    batch: Batch,
    ended: bool,
    syncer_gone: bool,
    syncer_waits: bool,
    sequencer_waits: bool,
}

/// The place where they meet.
pub(crate) struct Handoff {
    decided: Mutex<Decided>,
    arrived: Condvar,
    taken: Condvar,
    durable_ticket: AtomicU64,
    poisoned: AtomicBool,
    bytes_max: usize,
    items_max: usize,
}

impl Handoff {
    /// `bytes_max` and `items_max`: what may wait for the syncer before the sequencer does.
    pub(crate) fn new(bytes_max: usize, items_max: usize) -> Handoff {
        Handoff {
            decided: Mutex::default(),
            arrived: Condvar::new(),
            taken: Condvar::new(),
            durable_ticket: AtomicU64::new(0),
            poisoned: AtomicBool::new(false),
            bytes_max,
            items_max,
        }
    }

    /// Hands a group over; waits while too much is waiting.
    pub(crate) fn put(&self, group: &mut Group, ticket: u64, decide: Duration) {
        let mut decided = self.decided();
        while !decided.syncer_gone && self.is_full(&decided.batch, group.items) {
            decided.sequencer_waits = true;
            decided = self.taken.wait(decided).unwrap_or_else(PoisonError::into_inner);
        }
        decided.sequencer_waits = false;
        if decided.syncer_gone {
            drop(decided);
            let Group { waiting, confirming, .. } = std::mem::take(group);
            return waiting.into_iter().chain(confirming).for_each(|waiting| waiting.fail(Failure::JournalFailed));
        }
        let batch = &mut decided.batch;
        batch.frame.extend(&group.payload, group.entries);
        batch.ticket = ticket;
        batch.items += group.items;
        batch.decide += decide;
        batch.facts.append(&mut group.facts);
        if !group.waiting.is_empty() {
            let capacity = group.waiting.len();
            batch.waiting.push(std::mem::replace(&mut group.waiting, Vec::with_capacity(capacity)));
        }
        if !group.confirming.is_empty() {
            batch.confirming.push(std::mem::take(&mut group.confirming));
        }
        group.payload.clear();
        group.entries = 0;
        group.items = 0;
        if decided.syncer_waits {
            decided.syncer_waits = false;
            drop(decided);
            self.arrived.notify_one();
        }
    }

    /// Whether a group of so many items can be handed over without waiting.
    #[cfg(feature = "stepped")]
    pub(crate) fn has_room(&self, items: usize) -> bool {
        let decided = self.decided();
        decided.syncer_gone || !self.is_full(&decided.batch, items)
    }

    fn is_full(&self, batch: &Batch, more: usize) -> bool {
        batch.frame.payload().len() >= self.bytes_max || (batch.items > 0 && batch.items + more > self.items_max)
    }

    /// Nothing more will come.
    pub(crate) fn end(&self) {
        self.decided().ended = true;
        self.arrived.notify_one();
    }

    /// Nobody will take anything any more, and what waits gets no answer from here.
    pub(crate) fn syncer_gone(&self) {
        self.poison();
        let left = {
            let mut decided = self.decided();
            decided.syncer_gone = true;
            std::mem::take(&mut decided.batch)
        };
        self.taken.notify_one();
        left.waiting.into_iter().chain(left.confirming).flatten().for_each(|waiting| waiting.fail(Failure::JournalFailed));
    }

    /// Takes all that waits, leaving `spare` in its place; `None` once nothing more will come.
    pub(crate) fn take(&self, spare: &mut Batch) -> Option<()> {
        let mut decided = self.decided();
        while decided.batch.ticket == 0 {
            if decided.ended {
                return None;
            }
            decided.syncer_waits = true;
            decided = self.arrived.wait(decided).unwrap_or_else(PoisonError::into_inner);
        }
        decided.syncer_waits = false;
        std::mem::swap(&mut decided.batch, spare);
        let wake = decided.sequencer_waits;
        drop(decided);
        if wake {
            self.taken.notify_one();
        }
        Some(())
    }

    /// Takes all that waits, if anything does.
    #[cfg(feature = "stepped")]
    pub(crate) fn take_now(&self, spare: &mut Batch) -> bool {
        let something_waits = self.decided().batch.ticket != 0;
        something_waits && self.take(spare).is_some()
    }

    /// The last group that is durable, with all before it.
    pub(crate) fn durable_ticket(&self) -> u64 {
        self.durable_ticket.load(Ordering::Acquire)
    }

    pub(crate) fn set_durable(&self, ticket: u64) {
        self.durable_ticket.store(ticket, Ordering::Release);
    }

    /// Whether the journal failed.
    pub(crate) fn poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }

    fn decided(&self) -> MutexGuard<'_, Decided> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
