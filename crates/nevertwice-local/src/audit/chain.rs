//! What the files of a folder hold together.
//!
//! Files are numbered, and no process writes to those of another. A frame links to the one before it by its batches and by that
//! one's checksum. The last frame of a process may have been read from the page cache and never have reached the disk; so whoever
//! comes next writes what it holds again, and more, as the first frame of the next file: that one takes its place.

use std::io;

use super::frame::{HEADER_BYTES, Header, PAYLOAD_BYTES_MAX, VERSION};
use crate::error::{IoFailure, OpenError};
use crate::folder::JournalId;
use crate::storage::{Storage, StorageFile};

const PREFIX: &str = "audit-";
const SUFFIX: &str = ".records";

/// The file name of that number.
pub(crate) fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:020}{SUFFIX}")
}

/// The number in a file name.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    // Only the name that it would be given: a file of any other is somebody else's.
    (file_name(number) == name).then_some(number)
}

/// Whether a file of this name belongs to the audit.
pub fn is_audit(name: &str) -> bool {
    file_number(name).is_some()
}

/// Where a frame lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameRef {
    pub(super) header: Header,
    pub(super) offset: u64,
}

/// The frames that count, in order.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) frames: Vec<FrameRef>,
    /// The highest number of any file; 0 for none.
    pub(super) last_file: u64,
    /// A file that does not go on where those before it end.
    pub(super) fault: Option<String>,
}

impl Chain {
    /// Reads the headers of all files, and the payloads of the last one: it may end in a torn write. Writes nothing.
    pub(super) fn read(storage: &dyn Storage, id: JournalId) -> Result<Chain, OpenError> {
        let names = storage.list().map_err(IoFailure::of("listing", ""))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| file_number(name)).collect();
        numbers.sort_unstable();
        let mut chain = Chain { last_file: numbers.last().copied().unwrap_or(0), ..Chain::default() };
        for number in numbers {
            if chain.fault.is_none() {
                chain.read_file(storage, id, number)?;
            }
        }
        Ok(chain)
    }

    fn read_file(&mut self, storage: &dyn Storage, id: JournalId, number: u64) -> Result<(), OpenError> {
        let file = AuditFile::open(storage, number)?;
        let is_last = number == self.last_file;
        let mut offset = 0;
        while let Some(header) = file.header(offset, id)? {
            if is_last && file.payload(offset, &header)?.is_none() {
                break;
            }
            if !self.link(FrameRef { header, offset }, offset == 0) {
                let after = self.frames.last().map_or(0, |last| last.header.upto);
                self.fault =
                    Some(format!("{} at byte {offset} does not go on after batch {after}, where the audit ends before it", file.name));
                return Ok(());
            }
            offset = header.end(offset);
        }
        // A file gets its name once its first frame is durable.
        if offset == 0 {
            self.fault = Some(format!("{} is damaged at byte 0", file.name));
        }
        Ok(())
    }

    /// Adds a frame that goes on where the chain ends. The first frame of a file may take the place of the last one, which its
    /// writer could not be sure of, and of one behind that, which was torn.
    fn link(&mut self, frame: FrameRef, is_first_of_file: bool) -> bool {
        let Header { after, crc_before, .. } = frame.header;
        let follows = |frames: &[FrameRef]| match frames.last() {
            Some(last) => last.header.upto == after && last.header.crc == crc_before,
            // What was before the first frame there ever was is in no file.
            None => is_first_of_file && crc_before == 0,
        };
        let kept_min = if is_first_of_file { self.frames.len().saturating_sub(2) } else { self.frames.len() };
        let begins_alike = |kept: usize| self.frames.get(kept).is_none_or(|old| old.header.after == after);
        let kept = (kept_min..=self.frames.len()).rev().find(|kept| follows(&self.frames[..*kept]) && begins_alike(*kept));
        let Some(kept) = kept else { return false };
        self.frames.truncate(kept);
        self.frames.push(frame);
        true
    }
}

/// A file, for reading.
pub(super) struct AuditFile {
    file: Box<dyn StorageFile>,
    name: String,
    number: u64,
    len: u64,
}

impl AuditFile {
    pub(super) fn open(storage: &dyn Storage, number: u64) -> Result<AuditFile, IoFailure> {
        let name = file_name(number);
        let file = storage.open(&name).map_err(IoFailure::of("opening", &name))?;
        let len = file.size().map_err(IoFailure::of("measuring", &name))?;
        Ok(AuditFile { file, name, number, len })
    }

    /// The header at `offset`, of a frame that lies in the file whole. One of a later version is refused: to take it for nothing would
    /// be to leave it out.
    fn header(&self, offset: u64, id: JournalId) -> Result<Option<Header>, OpenError> {
        let mut bytes = [0; HEADER_BYTES];
        if offset.checked_add(HEADER_BYTES as u64).is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        self.read(offset, &mut bytes)?;
        let header = Header::parse(&bytes, id);
        if let Some(Header { version, .. }) = header
            && version > VERSION
        {
            let (found, supported) = (u32::from(version), u32::from(VERSION));
            return Err(OpenError::TooNew { what: "a frame of the audit", found, supported });
        }
        let header = header.filter(|header| header.file == self.number);
        let end = |header: &Header| offset + HEADER_BYTES as u64 + u64::from(header.payload_len);
        Ok(header.filter(|header| header.payload_len as usize <= PAYLOAD_BYTES_MAX && end(header) <= self.len))
    }

    /// The payload of the frame at `offset`; `None` if it is not as it was written.
    pub(super) fn payload(&self, offset: u64, header: &Header) -> Result<Option<Vec<u8>>, IoFailure> {
        if header.payload_len as u64 > self.len {
            return Ok(None);
        }
        let mut payload = vec![0; header.payload_len as usize];
        self.read(offset + HEADER_BYTES as u64, &mut payload)?;
        Ok(header.fits(&payload).then_some(payload))
    }

    /// Header and payload of a frame that was read before; `None` if they are not as they were then.
    pub(super) fn raw(&self, frame: &FrameRef, id: JournalId) -> Result<Option<Vec<u8>>, IoFailure> {
        let len = frame.header.len();
        if len as u64 > self.len {
            return Ok(None);
        }
        let mut raw = vec![0; len];
        self.read(frame.offset, &mut raw)?;
        let (head, payload) = raw.split_at(HEADER_BYTES);
        let is_good = Header::parse(head, id) == Some(frame.header) && frame.header.fits(payload);
        Ok(is_good.then_some(raw))
    }

    /// Whether zeros lie behind a frame, as they were written.
    pub(super) fn is_padded(&self, frame: &FrameRef) -> Result<bool, IoFailure> {
        let from = frame.offset + frame.header.len() as u64;
        let upto = frame.header.end(frame.offset).min(self.len);
        let mut padding = vec![0; usize::try_from(upto.saturating_sub(from)).unwrap_or(0)];
        self.read(from, &mut padding)?;
        Ok(padding.iter().all(|byte| *byte == 0))
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), IoFailure> {
        let read = self.file.read_at(offset, into).map_err(IoFailure::of("reading", &self.name))?;
        if read < into.len() {
            return Err(IoFailure::new("reading", &self.name, io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        Ok(())
    }
}
