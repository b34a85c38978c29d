//! Frames one behind the other without their padding, as they go over a network: header and payload are the bytes that lie in the
//! file, so the checksums still hold. A file of a backup is read in the same way.

use super::frame::{HEADER_BYTES, Header, VERSION};
use crate::error::OpenError;
use crate::folder::JournalId;
use crate::journal::BadStream;
use crate::source::SourceError;

/// A frame of another folder's audit: what operators did in the batches after `after`, up to `upto`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditFrame<'a> {
    pub(crate) after: u64,
    pub(crate) upto: u64,
    /// Their entries, in the form of a journal's payload.
    pub(crate) payload: &'a [u8],
}

/// The frames in some bytes, each checked by itself and against the one before. After an error nothing more comes.
pub(crate) struct AuditStream<'a> {
    rest: &'a [u8],
    id: JournalId,
    is_padded: bool,
    before: Option<(u64, u32)>,
}

impl<'a> AuditStream<'a> {
    /// The frames of the audit of journal `id`, behind one that ends with that batch and has that checksum; none: from the first on.
    pub(crate) fn new(bytes: &'a [u8], id: JournalId, before: Option<(u64, u32)>) -> AuditStream<'a> {
        AuditStream { rest: bytes, id, is_padded: false, before }
    }

    /// The same of a whole file, where frames are padded.
    pub(crate) fn of_file(bytes: &'a [u8], id: JournalId, before: (u64, u32)) -> AuditStream<'a> {
        AuditStream { rest: bytes, id, is_padded: true, before: Some(before) }
    }

    /// Where the last frame ended, for what comes next.
    pub(crate) fn before(&self) -> Option<(u64, u32)> {
        self.before
    }

    fn frame(&mut self) -> Result<AuditFrame<'a>, SourceError> {
        let bad = |what: String| SourceError::from(BadStream { what });
        let header = Header::parse(self.rest, self.id).ok_or_else(|| bad("something is no frame of this audit".to_owned()))?;
        if header.version > VERSION {
            let (found, supported) = (u32::from(header.version), u32::from(VERSION));
            return Err(OpenError::TooNew { what: "a frame of the audit", found, supported }.into());
        }
        let whole = HEADER_BYTES.saturating_add(header.payload_len as usize);
        let split = self.rest.split_at_checked(whole);
        let (raw, rest) = split.ok_or_else(|| bad("the audit ends inside a frame".to_owned()))?;
        let payload = &raw[HEADER_BYTES..];
        if !header.fits(payload) {
            return Err(bad(format!("the audit after batch {} is not as it was written", header.after)));
        }
        let (after, crc_before) = self.before.unwrap_or((header.after, 0));
        if (header.after, header.crc_before) != (after, crc_before) {
            return Err(bad(format!("the audit after batch {} does not go on after batch {after}", header.after)));
        }
        let padding = if self.is_padded { usize::try_from(header.end(0)).unwrap_or(usize::MAX) - whole } else { 0 };
        self.rest = rest.get(padding..).unwrap_or_default();
        self.before = Some((header.upto, header.crc));
        Ok(AuditFrame { after: header.after, upto: header.upto, payload })
    }
}

impl<'a> Iterator for AuditStream<'a> {
    type Item = Result<AuditFrame<'a>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.frame().inspect_err(|_| self.rest = &[]))
    }
}
