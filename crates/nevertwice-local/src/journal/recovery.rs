//! From a folder that somebody left to a journal that may be written.
//!
//! Three steps, so that nothing is changed before everything has been understood: [`Recovery::scan`] reads,
//! [`Recovery::replay`] hands the frames out, [`Recovery::finish`] writes.
//!
//! What the last frames hold may have been read from the page cache and never have reached the disk, so `finish`
//! writes whatever is not proven to be durable again, into a segment of its own, together with an empty frame (a
//! *seal*) that says how far the history goes. That segment appears whole or not at all, and from then on nothing
//! older can come back: it supersedes. Only then are torn tails removed.

use std::sync::Arc;

use super::frame::{FrameBuffer, Header, align_up};
use super::options::JournalOptions;
use super::reach::Reach;
use super::reader::{Frame, SegmentReader};
use super::scan::{Floor, FrameRef, Scan};
use super::segment::{FILLING, make_segment, segment_name};
use super::writer::{Journal, Span, Start};
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::{JournalId, remove_if_there};
use crate::storage::Storage;

/// The room for batches in the segment that a recovery makes: small, since everybody waits for it.
const FIRST_SEGMENT_BYTES: u64 = 4 << 20;

/// What a recovery found and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryReport {
    /// The last batch that is kept.
    pub last_batch: u64,
    /// The highest batch that was durable for certain; what is kept above it was synced again.
    pub proven_batch: u64,
    /// The entries in the frames that are kept.
    pub entries: u64,
    /// The bytes of the torn tail that were cut.
    pub cut_bytes: u64,
    /// The good frames in that tail, which never counted: nobody was told yes for them.
    pub cut_frames: u64,
}

/// A folder's segments, read and understood, not yet changed.
pub struct Recovery {
    storage: Arc<dyn Storage>,
    id: JournalId,
    scan: Scan,
    epoch_min: u32,
    /// What the seal of this start tells; mostly nothing.
    tells: Vec<u8>,
}

impl Recovery {
    /// Reads all segments. `floor` is the snapshot that the state will start from. Damage refuses.
    pub fn scan(storage: Arc<dyn Storage>, id: JournalId, floor: Floor) -> Result<Recovery, OpenError> {
        let (recovery, damage) = Recovery::inspect(storage, id, floor)?;
        match damage {
            Some(damage) => Err(damage.into()),
            None => Ok(recovery),
        }
    }

    /// The same for who wants to look at what is good in spite of damage: the frames up to it are there.
    pub fn inspect(storage: Arc<dyn Storage>, id: JournalId, floor: Floor) -> Result<(Recovery, Option<Damage>), OpenError> {
        let mut scan = Scan::read(storage.as_ref(), id, floor)?;
        let damage = match (scan.damage.take(), Reach::read(storage.as_ref())?) {
            (Some(damage), _) => Some(damage),
            (None, Some(Err(damage))) => Some(damage),
            (None, Some(Ok(reach))) => reach.missing(&scan.chain),
            (None, None) => None,
        };
        Ok((Recovery { storage, id, scan, epoch_min: 0, tells: Vec::new() }, damage))
    }

    /// The frames that are kept, in order.
    pub fn frames(&self) -> &[FrameRef] {
        &self.scan.chain
    }

    pub(super) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    pub(super) fn id(&self) -> JournalId {
        self.id
    }

    /// What was found.
    pub fn report(&self) -> RecoveryReport {
        RecoveryReport {
            last_batch: self.scan.last_batch(),
            proven_batch: self.scan.proven,
            entries: self.scan.chain.iter().map(|frame| u64::from(frame.entries)).sum(),
            cut_bytes: self.scan.cut_bytes(),
            cut_frames: self.scan.strays_behind,
        }
    }

    /// Hands the frames after batch `after` to `take`, in order, until it fails.
    pub fn replay<E>(&self, after: u64, mut take: impl FnMut(&Frame<'_>) -> Result<(), E>) -> Result<Result<(), E>, OpenError> {
        let mut reader: Option<(u64, SegmentReader)> = None;
        for frame in self.scan.chain.iter().filter(|frame| frame.batch > after) {
            let reader = match &mut reader {
                Some((number, reader)) if *number == frame.segment => reader,
                other => {
                    let opened = SegmentReader::open(self.storage.as_ref(), frame.segment, self.id)?;
                    &mut other.insert((frame.segment, opened)).1
                }
            };
            if let Err(error) = take(&read_again(reader, frame)?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Makes the epoch of this start at least so high: a history that goes on from a copy must share no position with what the
    /// other one still tells.
    pub fn raise_epoch(&mut self, epoch_min: u32) {
        self.epoch_min = epoch_min;
    }

    /// The seal of this start tells one thing, in the form of a payload.
    pub(crate) fn tell(&mut self, tells: Vec<u8>) {
        self.tells = tells;
    }

    /// The highest epoch that is kept.
    pub fn last_epoch(&self) -> u32 {
        self.scan.chain.iter().map(|frame| frame.epoch).max().unwrap_or(0)
    }

    /// Writes what is kept of the unproven part where it is safe, cuts the torn tail, and opens the journal: an adoption,
    /// with a seal of its own.
    pub fn finish(self, options: &JournalOptions) -> Result<Journal, OpenError> {
        let epoch = self.epoch();
        self.open(options, Some(epoch))
    }

    /// The same for a copy that another journal is followed with: no adoption, no batch of its own.
    pub(crate) fn resume(self, options: &JournalOptions) -> Result<Journal, OpenError> {
        self.open(options, None)
    }

    fn open(self, options: &JournalOptions, adopted: Option<u32>) -> Result<Journal, OpenError> {
        options.check()?;
        // The names that were read may never have been synced either, and what is written now builds on them: without
        // this a power cut could keep the new segment and lose the one that it continues.
        let named = self.storage.sync_folder();
        named.map_err(IoFailure::of("syncing the folder of", FILLING))?;
        let number = self.scan.segments.last().map_or(1, |segment| segment.number + 1);
        let (head, start) = self.head(number, adopted)?;
        let len = head.len() as u64 + options.segment_bytes.min(FIRST_SEGMENT_BYTES);
        let segment = make_segment(self.storage.as_ref(), number, &head, len)?;
        self.clean()?;
        Reach(start.batch).write(self.storage.as_ref())?;
        let report = self.report();
        if report.cut_bytes > 0 {
            tracing::warn!(
                bytes = report.cut_bytes,
                frames = report.cut_frames,
                after_batch = report.last_batch,
                "cut the journal's torn tail: nobody was told yes for it"
            );
        }
        Ok(Journal::start(self.storage, self.id, segment, start, options)?)
    }

    /// The epoch of the start that this recovery belongs to: one more than the highest that is kept. The seal of every
    /// start is durable before anything is served, so no epoch is ever used by two starts, and an entry that was decided
    /// and lost never shares its position with another.
    pub(crate) fn epoch(&self) -> u32 {
        self.last_epoch().saturating_add(1).max(self.epoch_min)
    }

    /// The beginning of the new segment: the unproven frames again, and the seal of an adoption.
    fn head(&self, segment: u64, adopted: Option<u32>) -> Result<(Vec<u8>, Start), OpenError> {
        let (proven, rest) = self.scan.split_at_proven();
        let mut head = Vec::new();
        let mut crc = proven.last().map_or(0, |frame| frame.crc);
        let mut buffer = FrameBuffer::new();
        for frame in rest {
            let mut reader = SegmentReader::open(self.storage.as_ref(), frame.segment, self.id)?;
            buffer.refill(&read_again(&mut reader, frame)?);
            let header = Header::of(segment, frame.batch, self.scan.proven, crc, adopted.unwrap_or(frame.epoch));
            let (bytes, sealed) = buffer.seal(header, self.id);
            head.extend_from_slice(bytes);
            crc = sealed;
        }
        // The frames before the seal are synced before anybody can find it, so it may call them durable.
        let mut batch = self.scan.last_batch();
        if let Some(epoch) = adopted {
            buffer.clear();
            buffer.extend(&self.tells, u32::from(!self.tells.is_empty()));
            let (bytes, sealed) = buffer.seal(Header::of(segment, batch + 1, batch, crc, epoch), self.id);
            head.extend_from_slice(bytes);
            (batch, crc) = (batch + 1, sealed);
        }
        let mut spans: Vec<Span> = Vec::new();
        for frame in proven {
            match spans.last_mut() {
                Some(span) if span.segment == frame.segment => span.end = frame.end,
                _ => spans.push(Span { segment: frame.segment, first_batch: frame.batch, end: frame.end }),
            }
        }
        let first_batch = rest.first().map_or(self.scan.last_batch() + 1, |frame| frame.batch);
        spans.push(Span { segment, first_batch, end: 0 });
        let epoch = adopted.unwrap_or_else(|| self.last_epoch());
        let start = Start { offset: head.len() as u64, batch, crc, epoch, spans };
        Ok((head, start))
    }

    /// Removes what is superseded, and the half-filled segment that somebody left. The segment that supersedes is
    /// durable by now, so an interruption here leaves nothing that counts.
    fn clean(&self) -> Result<(), IoFailure> {
        let storage = self.storage.as_ref();
        remove_if_there(storage, FILLING)?;
        let (proven, _) = self.scan.split_at_proven();
        let last = proven.last().map_or(0, |frame| frame.segment);
        for segment in &self.scan.segments {
            let name = segment_name(segment.number);
            let upto = proven.partition_point(|frame| frame.segment <= segment.number);
            let kept = proven[..upto].last().filter(|frame| frame.segment == segment.number);
            match kept {
                None => remove_if_there(storage, &name)?,
                Some(kept) if segment.data_end > kept.end || (segment.number == last && segment.len > kept.end) => {
                    storage.truncate(&name, align_up(kept.end)).map_err(IoFailure::of("cutting", &name))?;
                }
                Some(_) => {}
            }
        }
        storage.sync_folder().map_err(IoFailure::of("syncing the folder of", FILLING))
    }
}

/// Reads a frame that was good a moment ago.
fn read_again<'a>(reader: &'a mut SegmentReader, frame: &FrameRef) -> Result<Frame<'a>, OpenError> {
    match reader.frame_at(frame.offset)? {
        Some((header, read)) if header.batch == frame.batch && header.crc == frame.crc => Ok(read),
        _ => {
            let what = format!("batch {} was good when it was first read, and is not now", frame.batch);
            Err(Damage { segment: frame.segment, offset: frame.offset, what }.into())
        }
    }
}
