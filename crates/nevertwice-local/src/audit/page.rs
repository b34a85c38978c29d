//! A page of the audit.

use nevertwice_api::encoding::decode_fact;
use nevertwice_api::{AUDIT_PAGE_MAX, AuditAsk, AuditCursor, AuditPage, Fact, HistoryFailure};

use super::chain::{FrameRef, file_name};
use super::trail::Trail;
use crate::error::IoFailure;
use crate::states::Items;

/// Bytes of encoded entries on one page: the entry that reaches it is the last.
const BYTES_MAX: usize = 256 << 10;

/// Frames that one page reads at most: a page that finds little ends, and another goes on.
const FRAMES_MAX: usize = 64;

/// The entries after a batch, out of a frame or of what waits.
struct Piece {
    after: u64,
    payload: Vec<u8>,
    /// Where the next piece begins; none: this one waits to be written.
    upto: Option<u64>,
}

impl Trail {
    /// The page of what was asked, the oldest first.
    ///
    /// A cursor names the piece that was read last, not the one after it: the next process may write that one again, with more
    /// behind what it had.
    pub(crate) fn page(&self, asked: &AuditAsk) -> Result<AuditPage, HistoryFailure> {
        let mut cursor = asked.cursor.unwrap_or_default();
        let mut after = cursor.after;
        let mut page = {
            let known = self.known();
            let begins_after = known.frames.first().map_or(known.written, |frame| frame.header.after);
            AuditPage { begins_after, is_whole: !known.is_cut, ..AuditPage::default() }
        };
        let mut bytes_taken = 0;
        for _ in 0..FRAMES_MAX {
            let Some(piece) = self.piece(after, asked)? else { return Ok(page) };
            if piece.after != cursor.after {
                cursor = AuditCursor { after: piece.after, taken: 0 };
            }
            for bytes in Items(&piece.payload).skip(cursor.taken as usize) {
                if page.facts.len() >= AUDIT_PAGE_MAX || bytes_taken >= BYTES_MAX {
                    page.next = Some(cursor);
                    return Ok(page);
                }
                let len = bytes.map_or(0, <[u8]>::len);
                let fact = read(bytes).map_err(|what| HistoryFailure::Damaged {
                    what: format!("an entry of the audit after batch {}: {what}", piece.after),
                })?;
                cursor.taken = cursor.taken.saturating_add(1);
                if is_asked(asked, &fact) {
                    page.facts.push(fact);
                    bytes_taken += len;
                }
            }
            match piece.upto {
                Some(upto) => after = upto,
                None => return Ok(page),
            }
        }
        page.next = Some(cursor);
        Ok(page)
    }

    /// The first piece that begins at this batch or later and may have something of what was asked.
    fn piece(&self, after: u64, asked: &AuditAsk) -> Result<Option<Piece>, HistoryFailure> {
        let frame = {
            let known = self.known();
            let first = known.frames.partition_point(|frame| frame.header.after < after);
            let may_have = |frame: &&FrameRef| {
                let header = &frame.header;
                header.entries > 0
                    && asked.from_ms.is_none_or(|from| header.last_at_ms >= from)
                    && asked.until_ms.is_none_or(|until| header.first_at_ms < until)
            };
            match known.frames[first..].iter().find(may_have) {
                Some(frame) => *frame,
                None if known.waiting.is_empty() || after > known.written => return Ok(None),
                None => return Ok(Some(Piece { after: known.written, payload: known.waiting.payload().to_vec(), upto: None })),
            }
        };
        let damaged = || HistoryFailure::Damaged { what: format!("{} is damaged at byte {}", file_name(frame.header.file), frame.offset) };
        let payload = self.payload(&frame).map_err(|failure| unreadable(&failure))?.ok_or_else(damaged)?;
        Ok(Some(Piece { after: frame.header.after, payload, upto: Some(frame.header.upto) }))
    }
}

fn read(bytes: Result<&[u8], &'static str>) -> Result<Fact, String> {
    decode_fact(bytes.map_err(str::to_owned)?).map_err(|error| error.to_string())
}

fn is_asked(asked: &AuditAsk, fact: &Fact) -> bool {
    asked.shard.as_ref().is_none_or(|shard| fact.entry().is_some_and(|entry| *shard == entry.shard))
        && asked.from_ms.is_none_or(|from| fact.at_ms() >= from)
        && asked.until_ms.is_none_or(|until| fact.at_ms() < until)
}

pub(crate) fn unreadable(failure: &IoFailure) -> HistoryFailure {
    HistoryFailure::Unreadable { what: failure.to_string() }
}
