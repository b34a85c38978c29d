//! The thread that makes snapshots, beside the sequencer: from the last snapshot and the journal, never from the live states.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nevertwice_api::Observer;
use tokio::sync::oneshot;

use crate::audit::Trail;
use crate::chance::{Chance, draw_seed};
use crate::clock::Stopwatch;
use crate::error::{Damage, OpenError};
use crate::feed::JournalFeed;
use crate::journal::{Floor, JournalReader};
use crate::snapshot::{self, SnapshotWriter, Verified};
use crate::states::States;

/// A snapshot that was made, or found to be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotReport {
    /// The last batch in it.
    pub batch: u64,
    /// Its records.
    pub records: u64,
    /// Its length.
    pub bytes: u64,
    /// The segments that went.
    pub segments_pruned: usize,
    /// How long it took.
    pub took: Duration,
}

/// What the thread is asked for.
pub(crate) enum Wish {
    /// A snapshot now; and who wants to hear of it.
    Make(Option<oneshot::Sender<Result<SnapshotReport, OpenError>>>),
    /// To write what the audit has waiting.
    Audit,
    /// To end.
    Stop,
}

pub(crate) struct Snapshots {
    pub(crate) wishes: Receiver<Wish>,
    pub(crate) reader: JournalReader,
    pub(crate) chance: Arc<dyn Chance>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) trail: Trail,
    pub(crate) bytes_since: Arc<AtomicU64>,
    /// Batches from this one on are kept for somebody else.
    pub(crate) keep_from: Arc<AtomicU64>,
    /// Who still reads batches.
    pub(crate) feed: Arc<JournalFeed>,
    /// Set when the backend ends: what is under way is given up.
    pub(crate) stopping: Arc<AtomicBool>,
    /// The snapshots that were found good, the newest last; filled at the first wish.
    pub(crate) verified: Option<Vec<Verified>>,
}

impl Snapshots {
    pub(crate) fn run(mut self) {
        while let Ok(wish) = self.wishes.recv() {
            if !self.fulfil(wish) {
                return;
            }
        }
    }

    /// Does the next thing that is wished for. `false`: nothing is.
    #[cfg(feature = "stepped")]
    pub(super) fn step(&mut self) -> bool {
        self.wishes.try_recv().is_ok_and(|wish| self.fulfil(wish))
    }

    /// `false`: the wish was to end.
    fn fulfil(&mut self, wish: Wish) -> bool {
        match wish {
            Wish::Make(reply) => self.grant(reply),
            Wish::Audit => self.write_audit(),
            Wish::Stop => return false,
        }
        true
    }

    /// Makes a snapshot, and tells whoever wants to hear of it.
    fn grant(&mut self, reply: Option<oneshot::Sender<Result<SnapshotReport, OpenError>>>) {
        let since = self.bytes_since.swap(0, Ordering::Relaxed);
        let made = self.make();
        match &made {
            Ok(report) => self.observer.snapshot(report.records, report.took),
            Err(error) => {
                self.bytes_since.fetch_add(since, Ordering::Relaxed);
                if !self.stopping.load(Ordering::Relaxed) {
                    tracing::warn!(%error, "no snapshot was made; the journal keeps everything");
                }
            }
        }
        if let Some(reply) = reply {
            drop(reply.send(made));
        }
    }

    fn write_audit(&self) {
        self.trail.flush();
        if self.trail.take_failure() {
            self.observer.audit_failed();
        }
    }

    fn make(&mut self) -> Result<SnapshotReport, OpenError> {
        let watch = Stopwatch::start();
        let storage = Arc::clone(self.reader.storage());
        let mut verified = match self.verified.take() {
            Some(verified) => verified,
            None => snapshot::good(storage.as_ref(), self.reader.id())?,
        };
        let last = verified.last().copied();
        let upto = self.reader.durable();
        if let Some(last) = last.filter(|last| last.floor.batch >= upto) {
            let segments_pruned = self.prune(&verified)?;
            self.verified = Some(verified);
            return Ok(SnapshotReport {
                batch: last.floor.batch,
                records: last.records,
                bytes: last.bytes,
                segments_pruned,
                took: watch.took(),
            });
        }
        let seed = draw_seed(self.chance.as_ref())?;
        let mut states = match last {
            Some(last) => match States::load(storage.as_ref(), self.reader.id(), last.floor.batch, seed)? {
                Ok(states) => states,
                Err(what) => {
                    let what = format!("snapshot {}: {what}", snapshot::snapshot_name(last.floor.batch));
                    return Err(OpenError::Marker { what });
                }
            },
            None => States::new(seed),
        };
        let from = last.map_or(0, |last| last.floor.batch);
        let (batch, crc) = self.reader.read(from, upto, |frame| {
            if self.stopping.load(Ordering::Relaxed) {
                let what = "the backend is about to stop".to_owned();
                return Err(OpenError::Options { what });
            }
            states.apply(frame, |_, _| {}).map(|_| ())
        })?;
        if batch < upto {
            let what = format!("batch {upto}, which was durable, cannot be read");
            return Err(Damage { segment: 0, offset: 0, what }.into());
        }
        let mut writer = SnapshotWriter::create(Arc::clone(&storage), self.reader.id(), Floor { batch, crc })?;
        states.save(&mut writer)?;
        let made = writer.finish()?;
        verified.push(made);
        let segments_pruned = self.prune(&verified)?;
        self.verified = Some(verified.split_off(verified.len().saturating_sub(2)));
        Ok(SnapshotReport { batch, records: made.records, bytes: made.bytes, segments_pruned, took: watch.took() })
    }

    /// Removes what is below the older of the two newest and in the audit: with one snapshot alone, nothing.
    fn prune(&self, verified: &[Verified]) -> Result<usize, OpenError> {
        // The audit follows with the snapshots, so that a start reads neither much further back than the other.
        self.write_audit();
        let [.., older, newest] = verified else { return Ok(0) };
        let (older, newest) = (older.floor.batch, newest.floor.batch);
        snapshot::prune(self.reader.storage().as_ref(), [older, newest])?;
        let keep_from = self.keep_from.load(Ordering::Relaxed).min(self.feed.keep_from(older));
        Ok(self.reader.prune(older.min(keep_from.saturating_sub(1)).min(self.trail.written()))?)
    }
}
