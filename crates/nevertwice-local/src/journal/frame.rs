//! The bytes of a frame: one batch, self-verifying.
//!
//! All integers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic, `nvtJ` |
//! | 4 | 2 | format version, 1 |
//! | 6 | 2 | zero |
//! | 8 | 8 | journal id |
//! | 16 | 8 | segment number |
//! | 24 | 8 | batch number, from 1, without gaps |
//! | 32 | 8 | the highest batch that was durable when this frame was written |
//! | 40 | 4 | number of entries |
//! | 44 | 4 | length of the payload |
//! | 48 | 4 | CRC32C of the frame before, 0 for batch 1 |
//! | 52 | 4 | epoch: how many starts the folder had had when this frame was written |
//! | 56 | 4 | zero |
//! | 60 | 4 | CRC32C of bytes 0 to 59 and of the payload |
//! | 64 | | payload, then zeros up to the next multiple of 4096 |

use super::reader::Frame;
use crate::folder::JournalId;

/// A frame begins at a multiple of this, so a write that is torn never touches a block that holds something durable:
/// page caches and many discs rewrite whole blocks of 4096 bytes.
pub const ALIGNMENT: u64 = 4096;

/// The length of a frame's header.
pub const HEADER_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"nvtJ";
/// The version of the layout that is written. Whatever a later one changes, it keeps the magic, the place of the version, the
/// journal id, the payload's length and the checksum: so a good frame of it is told from no frame.
pub(crate) const VERSION: u16 = 1;

const _: () = assert!(ALIGNMENT.is_power_of_two() && HEADER_BYTES as u64 <= ALIGNMENT);

/// Rounds up to where a frame may begin.
pub(crate) fn align_up(offset: u64) -> u64 {
    offset.next_multiple_of(ALIGNMENT)
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// If it is a later one than [`VERSION`], only the length of the payload and the checksum mean anything.
    pub(crate) version: u16,
    pub(crate) segment: u64,
    pub(crate) batch: u64,
    pub(crate) durable: u64,
    pub(crate) entries: u32,
    pub(crate) payload_len: u32,
    pub(crate) crc_before: u32,
    pub(crate) epoch: u32,
    pub(crate) crc: u32,
}

impl Header {
    /// A header whose batch's figures are filled in when the frame is sealed.
    pub(crate) fn of(segment: u64, batch: u64, durable: u64, crc_before: u32, epoch: u32) -> Header {
        Header { version: VERSION, segment, batch, durable, entries: 0, payload_len: 0, crc_before, epoch, crc: 0 }
    }

    /// Where the next frame may begin, when this one begins at `offset`.
    pub(crate) fn end(&self, offset: u64) -> u64 {
        align_up(offset + HEADER_BYTES as u64 + u64::from(self.payload_len))
    }

    /// Reads a header of this journal, of this version or of a later one; `None` if it is none. The checksum is not checked here.
    pub(crate) fn parse(bytes: &[u8], id: JournalId) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let version = u16_at(bytes, 4);
        if bytes[0..4] != MAGIC || u64_at(bytes, 8) != id.0 || version < VERSION {
            return None;
        }
        let header = Header {
            version,
            segment: u64_at(bytes, 16),
            batch: u64_at(bytes, 24),
            durable: u64_at(bytes, 32),
            entries: u32_at(bytes, 40),
            payload_len: u32_at(bytes, 44),
            crc_before: u32_at(bytes, 48),
            epoch: u32_at(bytes, 52),
            crc: u32_at(bytes, 60),
        };
        let zeros = u16_at(bytes, 6) == 0 && u32_at(bytes, 56) == 0;
        // A frame proves batches before it, never itself: it was not yet written.
        let good = zeros && header.batch < u64::MAX && header.durable < header.batch;
        (good || version > VERSION).then_some(header)
    }

    fn write(&self, bytes: &mut [u8], id: JournalId) {
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.version.to_le_bytes());
        bytes[6..8].fill(0);
        bytes[8..16].copy_from_slice(&id.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.segment.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.batch.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.durable.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.entries.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.payload_len.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.crc_before.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[56..60].fill(0);
        bytes[60..64].copy_from_slice(&self.crc.to_le_bytes());
    }
}

/// The checksum of a frame, from its header and its payload.
pub(crate) fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..60]), payload)
}

/// One batch on its way to the disk. The header's place is kept free in front, so that the frame leaves in one write
/// without being copied; the buffer is reused.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    entries: u32,
}

impl Default for FrameBuffer {
    fn default() -> FrameBuffer {
        FrameBuffer::new()
    }
}

impl FrameBuffer {
    /// An empty batch.
    pub fn new() -> FrameBuffer {
        FrameBuffer { bytes: vec![0; HEADER_BYTES], entries: 0 }
    }

    /// Makes it empty again, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_BYTES);
        self.entries = 0;
    }

    /// Adds one entry, which `encode` appends to what it is given (and leaves alone what is there).
    pub fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        encode(&mut self.bytes);
        assert!(self.bytes.len() >= before, "an encoder only appends");
        self.entries += 1;
    }

    /// Adds entries that were encoded elsewhere.
    pub fn extend(&mut self, payload: &[u8], entries: u32) {
        self.bytes.extend_from_slice(payload);
        self.entries += entries;
    }

    /// Makes it a copy of a batch that was read.
    pub(crate) fn refill(&mut self, frame: &Frame<'_>) {
        self.clear();
        self.bytes.extend_from_slice(frame.payload);
        self.entries = frame.entries;
    }

    /// How many entries are in it.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// What is in it.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Fills in the header and returns the bytes to write, padded to whole blocks, with the frame's checksum. (Whole
    /// blocks, because the page cache would have to read back a block that is written in part.)
    pub(crate) fn seal(&mut self, mut header: Header, id: JournalId) -> (&[u8], u32) {
        let payload_len = self.bytes.len() - HEADER_BYTES;
        header.entries = self.entries;
        header.payload_len = u32::try_from(payload_len).expect("the writer refuses larger batches");
        header.crc = 0;
        header.write(&mut self.bytes, id);
        let (head, payload) = self.bytes.split_at(HEADER_BYTES);
        let crc = checksum(head, payload);
        self.bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        let padded = self.bytes.len().next_multiple_of(ALIGNMENT as usize);
        self.bytes.resize(padded, 0);
        (&self.bytes, crc)
    }
}

fn u16_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
