//! The thread that makes durable and then answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use nevertwice_api::{Failure, GroupReport, Observer};

use super::handoff::{Batch, Handoff};
use super::replicas::Replicas;
use super::snapshots::Wish;
use crate::audit::Trail;
use crate::clock::Stopwatch;
use crate::error::AppendError;
use crate::journal::Journal;

/// How long to wait before a batch is tried again that found no room. The sequencer keeps room free, so this is rare.
const RETRY_AFTER: Duration = Duration::from_millis(20);

struct Gone(Arc<Handoff>);

impl Drop for Gone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.syncer_gone();
        }
    }
}

/// What is known of the batch in hand.
pub(super) struct InHand {
    entries: usize,
    bytes: usize,
    watch: Stopwatch,
    sync: Duration,
}

impl InHand {
    pub(super) fn of(batch: &Batch) -> InHand {
        let (entries, bytes) = (batch.frame.entries() as usize, batch.frame.payload().len());
        InHand { entries, bytes, watch: Stopwatch::start(), sync: Duration::ZERO }
    }

    /// It is durable, or never will be.
    pub(super) fn is_written(&mut self) {
        if self.entries > 0 {
            self.sync = self.watch.took();
        }
    }
}

pub(crate) struct Syncer {
    pub(crate) journal: Journal,
    pub(crate) handoff: Arc<Handoff>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) snapshots: Sender<Wish>,
    pub(crate) trail: Trail,
    /// Where answers wait for replicas; none where they never do.
    pub(crate) replicas: Option<Arc<Replicas>>,
    /// Bytes of journal since the last snapshot.
    pub(crate) bytes_since: Arc<AtomicU64>,
    pub(crate) snapshot_bytes: u64,
    /// Set when the backend ends: then a full disk is a failed one.
    pub(crate) stopping: Arc<AtomicBool>,
}

impl Syncer {
    /// Works until nothing more comes, then ends the journal.
    pub(crate) fn run(mut self) {
        // A fault here or in an observer must not leave the sequencer waiting for ever.
        let _gone = Gone(Arc::clone(&self.handoff));
        let mut batch = Batch::default();
        while self.handoff.take(&mut batch).is_some() {
            let mut hand = InHand::of(&batch);
            while !self.write(&mut batch) {
                std::thread::sleep(RETRY_AFTER);
            }
            hand.is_written();
            self.answer(&mut batch, hand);
        }
        self.close();
    }

    /// Makes a batch durable, or poisons the backend. `false`: there was no room, nothing was written, and everybody in it is
    /// still waiting.
    pub(super) fn write(&mut self, batch: &mut Batch) -> bool {
        if batch.frame.entries() == 0 || self.handoff.poisoned() {
            return true;
        }
        match self.journal.append(&mut batch.frame) {
            Ok(number) => {
                self.handoff.set_durable(batch.ticket);
                if let Some(replicas) = &self.replicas {
                    replicas.durable(number, batch.ticket);
                }
                self.tell_audit(batch);
            }
            Err(AppendError::Full) if !self.stopping.load(Ordering::Relaxed) => return false,
            Err(error) => {
                tracing::error!(%error, "nothing more is decided until a restart");
                self.handoff.poison();
                self.observer.poisoned();
            }
        }
        true
    }

    /// Answers all who wait for a batch, which is empty then; who waits for replicas as well goes on to wait there.
    pub(super) fn answer(&mut self, batch: &mut Batch, hand: InHand) {
        let poisoned = self.handoff.poisoned();
        if !batch.confirming.is_empty() {
            let confirming = std::mem::take(&mut batch.confirming);
            match &self.replicas {
                Some(replicas) if !poisoned => replicas.answer(self.journal.durable(), confirming),
                _ => confirming.into_iter().flatten().for_each(|waiting| waiting.fail(Failure::JournalFailed)),
            }
        }
        for waiting in batch.waiting.drain(..).flatten() {
            if poisoned { waiting.fail(Failure::JournalFailed) } else { waiting.send() }
        }
        let InHand { entries, bytes, sync, .. } = hand;
        if !poisoned {
            self.observer.group(GroupReport { items: batch.items, entries, bytes, decide: batch.decide, sync });
            self.wish_for_snapshot(bytes as u64);
        }
        batch.frame.clear();
        batch.ticket = 0;
        batch.items = 0;
        batch.decide = Duration::ZERO;
    }

    /// Ends the journal.
    pub(super) fn close(self) {
        if !self.handoff.poisoned()
            && let Err(error) = self.journal.close()
        {
            tracing::warn!(%error, "the journal was not sealed; the next start recovers it");
        }
    }

    /// The batch is durable: what operators did in it may be copied.
    fn tell_audit(&self, batch: &mut Batch) {
        if self.trail.hear(self.journal.durable(), &mut batch.facts) {
            // Nobody hears it while the backend ends; what waits is written then.
            drop(self.snapshots.send(Wish::Audit));
        }
    }

    fn wish_for_snapshot(&mut self, bytes: u64) {
        let before = self.bytes_since.fetch_add(bytes, Ordering::Relaxed);
        if self.snapshot_bytes > 0 && before < self.snapshot_bytes && before + bytes >= self.snapshot_bytes {
            // Nobody hears it while the backend ends.
            drop(self.snapshots.send(Wish::Make(None)));
        }
    }
}
