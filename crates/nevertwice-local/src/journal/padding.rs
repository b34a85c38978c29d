//! What lies between the frames of a folder that nobody runs. No recovery looks at it, for nothing of it counts; but it was written as
//! zeros, and a disk that gives something else has changed what it was given.

use super::reach::Reach;
use super::reader::SegmentReader;
use super::recovery::Recovery;
use super::scan::FrameRef;
use crate::error::OpenError;

/// How much is looked at at once.
const STEP_BYTES: u64 = 1 << 20;

impl Recovery {
    /// Where something else than zeros stands behind a frame that was durable for certain: in its own blocks, and in a sealed segment
    /// up to its end.
    pub(crate) fn padding_faults(&self) -> Result<Vec<String>, OpenError> {
        let mut faults = Vec::new();
        let frames = self.frames();
        let untidy = self.untidy()?;
        let mut reader: Option<SegmentReader> = None;
        for (at, frame) in frames.iter().enumerate() {
            // A block that was being written when the power went may hold anything behind what counts of it.
            if frame.batch > self.report().proven_batch {
                break;
            }
            let segment = match &mut reader {
                Some(reader) if reader.number() == frame.segment => reader,
                other => other.insert(SegmentReader::open(self.storage().as_ref(), frame.segment, self.id())?),
            };
            let Some((_, read)) = segment.frame_at(frame.offset)? else { continue };
            let from = frame.offset + read.raw.len() as u64;
            let is_last_of_sealed = frames.get(at + 1).is_some_and(|next| next.segment != frame.segment);
            let upto = if is_last_of_sealed && untidy != Some(frame.segment) { segment.len() } else { frame.end };
            if let Some(place) = not_zero(segment, from, upto)? {
                faults.push(format!(
                    "segment {}: what lies behind batch {} was zeros, and is not before byte {place}",
                    frame.segment, frame.batch
                ));
            }
        }
        Ok(faults)
    }

    /// The segment that the last start may not have cut yet, because it was interrupted.
    fn untidy(&self) -> Result<Option<u64>, OpenError> {
        let frames = self.frames();
        let Some(last) = frames.last() else { return Ok(None) };
        let at = frames.partition_point(|frame| frame.segment < last.segment);
        let reached = match Reach::read(self.storage().as_ref())? {
            Some(Ok(Reach(batch))) => batch,
            Some(Err(_)) | None => 0,
        };
        let before: Option<&FrameRef> = at.checked_sub(1).and_then(|before| frames.get(before));
        Ok(before.filter(|_| reached < frames[at].batch).map(|before| before.segment))
    }
}

/// Where the last byte ends that is not zero.
fn not_zero(segment: &mut SegmentReader, from: u64, upto: u64) -> Result<Option<u64>, OpenError> {
    let mut at = from;
    while at < upto {
        if let Some(end) = segment.end_of_data(at, STEP_BYTES.min(upto - at))? {
            return Ok(Some(end));
        }
        at += STEP_BYTES;
    }
    Ok(None)
}
