//! What the segments of a folder prove together.
//!
//! Every good frame is a witness: it names a batch that was durable when it was written. The highest such number is
//! where damage ends and the torn tail may begin. A frame links to the one before it by number and checksum; frames
//! that do not link are *strays*: they still bear witness, but their contents are never used.
//!
//! A recovery may leave a frame twice: where it was written first, and in the segment that the recovery made. The
//! later segment, which begins with such a frame, *supersedes* what earlier ones hold from that batch on.

use super::frame::{ALIGNMENT, Header};
use super::reader::SegmentReader;
use super::segment::segment_number;
use crate::error::{Damage, IoFailure, OpenError};
use crate::folder::JournalId;
use crate::storage::Storage;

/// Up to where something else than the journal, a verified snapshot, holds the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Floor {
    /// The last batch in it; 0 for none.
    pub batch: u64,
    /// The checksum of that batch's frame; 0 for none.
    pub crc: u32,
}

/// Where a good frame lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRef {
    /// The segment's number.
    pub segment: u64,
    /// Where in it the frame begins, in bytes.
    pub offset: u64,
    /// Where the next may begin.
    pub end: u64,
    /// The batch's number.
    pub batch: u64,
    /// How many entries it holds.
    pub entries: u32,
    /// The frame's checksum.
    pub crc: u32,
    /// The epoch in which it was written.
    pub epoch: u32,
    crc_before: u32,
}

impl FrameRef {
    fn new(segment: u64, offset: u64, header: &Header) -> FrameRef {
        FrameRef {
            segment,
            offset,
            end: header.end(offset),
            batch: header.batch,
            entries: header.entries,
            crc: header.crc,
            epoch: header.epoch,
            crc_before: header.crc_before,
        }
    }
}

/// A segment as a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentFile {
    pub(crate) number: u64,
    pub(crate) len: u64,
    /// The end of its last byte that is not zero.
    pub(crate) data_end: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// In order of their numbers.
    pub(crate) segments: Vec<SegmentFile>,
    /// The frames that link, in order, without gaps.
    pub(crate) chain: Vec<FrameRef>,
    /// The highest batch that was durable for certain.
    pub(crate) proven: u64,
    /// The good frames behind the chain's end.
    pub(crate) strays_behind: u64,
    /// A bad frame at or below `proven`.
    pub(crate) damage: Option<Damage>,
}

impl Scan {
    /// Reads all segments; writes nothing.
    pub(crate) fn read(storage: &dyn Storage, id: JournalId, floor: Floor) -> Result<Scan, OpenError> {
        let names = storage.list().map_err(IoFailure::of("listing", ""))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
        numbers.sort_unstable();
        let mut scan = Scan { proven: floor.batch, ..Scan::default() };
        let mut linker = Linker { witnessed: 0, strays: Vec::new(), first: numbers.first().copied() };
        for number in numbers {
            scan.read_segment(&mut SegmentReader::open(storage, number, id)?, number, &mut linker)?;
        }
        scan.proven = scan.proven.max(linker.witnessed);
        let end = scan.end();
        scan.strays_behind = linker.strays.iter().filter(|stray| end.is_none_or(|end| **stray >= end)).count() as u64;
        scan.damage = scan.find_damage(floor);
        Ok(scan)
    }

    /// The last batch that links; 0 for none.
    pub(crate) fn last_batch(&self) -> u64 {
        self.chain.last().map_or(0, |frame| frame.batch)
    }

    /// The frames that were durable for certain, and those of the last part, which may never have been synced.
    pub(crate) fn split_at_proven(&self) -> (&[FrameRef], &[FrameRef]) {
        self.chain.split_at(self.chain.partition_point(|frame| frame.batch <= self.proven))
    }

    /// The bytes behind the chain's end that are not zero.
    pub(crate) fn cut_bytes(&self) -> u64 {
        let end = self.end().unwrap_or((0, 0));
        let behind = self.segments.iter().map(|segment| match segment.number {
            number if number == end.0 => segment.data_end.saturating_sub(end.1),
            number if number > end.0 => segment.data_end,
            _ => 0,
        });
        behind.sum()
    }

    fn end(&self) -> Option<(u64, u64)> {
        self.chain.last().map(|frame| (frame.segment, frame.end))
    }

    fn read_segment(&mut self, reader: &mut SegmentReader, number: u64, linker: &mut Linker) -> Result<(), OpenError> {
        let mut segment = SegmentFile { number, len: reader.len(), data_end: 0 };
        let mut offset = 0;
        while offset < reader.len() {
            if let Some((header, _)) = reader.frame_at(offset)? {
                let frame = FrameRef::new(number, offset, &header);
                linker.link(&mut self.chain, frame, header.durable);
                segment.data_end = frame.end.min(segment.len);
                offset = frame.end;
            } else {
                if let Some(end) = reader.end_of_data(offset, ALIGNMENT)? {
                    segment.data_end = end;
                }
                offset += ALIGNMENT;
            }
        }
        self.segments.push(segment);
        Ok(())
    }

    fn find_damage(&self, floor: Floor) -> Option<Damage> {
        let damage = |(segment, offset): (u64, u64), what: String| Some(Damage { segment, offset, what });
        let missing = |from: u64| {
            if from == self.proven {
                format!("batch {from}, which was durable, is missing or not as it was written")
            } else {
                format!("batches {from} to {}, which were durable, are missing or not as they were written", self.proven)
            }
        };
        let Some(first) = self.chain.first() else {
            let place = (self.segments.first().map_or(1, |segment| segment.number), 0);
            return if self.proven > 0 { damage(place, missing(1)) } else { None };
        };
        if first.batch > floor.batch + 1 {
            let (from, to) = (floor.batch + 1, first.batch - 1);
            return damage((first.segment, first.offset), format!("batches {from} to {to} before it are missing"));
        }
        let at_floor = if first.batch == floor.batch + 1 {
            Some(first.crc_before)
        } else {
            self.chain.get((floor.batch.saturating_sub(first.batch)) as usize).map(|frame| frame.crc)
        };
        if self.last_batch() < self.proven {
            return damage(self.place_after_chain(), missing(self.last_batch() + 1));
        }
        if floor.batch > 0 && at_floor != Some(floor.crc) {
            return damage((first.segment, first.offset), "the snapshot belongs to another history".to_owned());
        }
        None
    }

    /// Where the frame after the chain should be: behind the last one, or at the start of the next segment if that
    /// one is whole and nothing was ever written behind.
    fn place_after_chain(&self) -> (u64, u64) {
        let (number, end) = self.end().unwrap_or((0, 0));
        let here = self.segments.iter().find(|segment| segment.number == number);
        let written = here.is_some_and(|segment| segment.data_end > end || segment.len < end);
        let next = self.segments.iter().find(|segment| segment.number > number);
        match next {
            Some(next) if !written => (next.number, 0),
            _ => (number, end),
        }
    }
}

/// Links frames in the order of their places.
struct Linker {
    /// The highest batch that any frame so far names durable.
    witnessed: u64,
    strays: Vec<(u64, u64)>,
    first: Option<u64>,
}

impl Linker {
    fn link(&mut self, chain: &mut Vec<FrameRef>, frame: FrameRef, durable: u64) {
        match chain.last() {
            None if frame.batch == 1 && frame.crc_before == 0 => chain.push(frame),
            // The batches before it went with their segments.
            None if Some(frame.segment) == self.first && frame.offset == 0 => chain.push(frame),
            Some(last) if frame.batch == last.batch + 1 && frame.crc_before == last.crc => chain.push(frame),
            Some(last) if frame.segment > last.segment && self.supersedes(chain, &frame) => {
                chain.truncate((frame.batch - chain[0].batch) as usize);
                chain.push(frame);
            }
            _ => self.strays.push((frame.segment, frame.offset)),
        }
        self.witnessed = self.witnessed.max(durable);
    }

    /// Whether the frame begins what a recovery kept. Nothing that was durable for certain is ever superseded.
    fn supersedes(&self, chain: &[FrameRef], frame: &FrameRef) -> bool {
        let Some(at) = chain.first().and_then(|first| frame.batch.checked_sub(first.batch)) else {
            return false;
        };
        let Some(old) = chain.get(at as usize) else {
            return false;
        };
        frame.offset == 0 && frame.batch > self.witnessed && frame.crc_before == old.crc_before
    }
}
