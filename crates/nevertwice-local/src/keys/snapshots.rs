//! The thread that makes snapshots of keys, beside the writer: from the last snapshot and the journal, never from the live records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;

use super::records::Records;
use crate::backend::SnapshotReport;
use crate::chance::{Chance, draw_seed};
use crate::clock::Stopwatch;
use crate::error::{Damage, OpenError};
use crate::journal::{Floor, JournalReader};
use crate::snapshot::{self, SnapshotWriter, Verified};

/// What the thread is asked for.
pub(crate) enum Wish {
    /// A snapshot now; and who wants to hear of it.
    Make(Option<oneshot::Sender<Result<SnapshotReport, OpenError>>>),
    /// To end.
    Stop,
}

pub(super) struct Snapshots {
    pub(super) wishes: Receiver<Wish>,
    pub(super) reader: JournalReader,
    pub(super) chance: Arc<dyn Chance>,
    /// Set when the store ends: what is under way is given up.
    pub(super) stopping: Arc<AtomicBool>,
}

impl Snapshots {
    pub(super) fn run(self) {
        while let Ok(wish) = self.wishes.recv()
            && self.fulfil(wish)
        {}
    }

    /// Does what the next wish asks for, if there is one.
    #[cfg(feature = "stepped")]
    pub(super) fn step(&self) -> bool {
        self.wishes.try_recv().is_ok_and(|wish| self.fulfil(wish))
    }

    /// `false`: the wish was to end.
    fn fulfil(&self, wish: Wish) -> bool {
        let Wish::Make(reply) = wish else { return false };
        let made = self.make();
        if let Err(error) = &made
            && !self.stopping.load(Ordering::Relaxed)
        {
            tracing::warn!(%error, "no snapshot of keys was made; the journal keeps everything");
        }
        if let Some(reply) = reply {
            drop(reply.send(made));
        }
        true
    }

    fn make(&self) -> Result<SnapshotReport, OpenError> {
        let watch = Stopwatch::start();
        let storage = Arc::clone(self.reader.storage());
        let mut verified = snapshot::good(storage.as_ref(), self.reader.id())?;
        let last = verified.last().copied();
        let upto = self.reader.durable();
        let made = match last.filter(|last| last.floor.batch >= upto) {
            Some(last) => last,
            None => {
                let made = self.write(last, upto)?;
                verified.push(made);
                made
            }
        };
        let [older, newest] = match verified.as_slice() {
            [.., older, newest] => [older.floor.batch, newest.floor.batch],
            // With one snapshot alone, nothing goes.
            _ => return Ok(report(made, 0, watch)),
        };
        snapshot::prune(storage.as_ref(), [older, newest])?;
        Ok(report(made, self.reader.prune(older)?, watch))
    }

    fn write(&self, last: Option<Verified>, upto: u64) -> Result<Verified, OpenError> {
        let storage = self.reader.storage();
        let seed = draw_seed(self.chance.as_ref())?;
        let (mut records, from) = match last {
            Some(last) => {
                let loaded = Records::load(storage.as_ref(), self.reader.id(), last.floor.batch, seed)?;
                let bad = |what| OpenError::Marker { what: format!("snapshot {}: {what}", snapshot::snapshot_name(last.floor.batch)) };
                (loaded.map_err(bad)?, last.floor.batch)
            }
            None => (Records::new(seed), 0),
        };
        let (batch, crc) = self.reader.read(from, upto, |frame| {
            if self.stopping.load(Ordering::Relaxed) {
                return Err(OpenError::Options { what: "the store of keys is about to stop".to_owned() });
            }
            records.replay(frame).map(drop)
        })?;
        if batch < upto {
            let what = format!("batch {upto}, which was durable, cannot be read");
            return Err(Damage { segment: 0, offset: 0, what }.into());
        }
        records.free_swept();
        let mut writer = SnapshotWriter::create(Arc::clone(storage), self.reader.id(), Floor { batch, crc })?;
        records.save(&mut writer)?;
        writer.finish()
    }
}

fn report(made: Verified, segments_pruned: usize, watch: Stopwatch) -> SnapshotReport {
    SnapshotReport { batch: made.floor.batch, records: made.records, bytes: made.bytes, segments_pruned, took: watch.took() }
}
