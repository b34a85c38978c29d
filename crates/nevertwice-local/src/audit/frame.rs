//! The bytes of a frame of the audit: the operators' entries of some batches of the journal, self-verifying.
//!
//! All integers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic, `nvtA` |
//! | 4 | 2 | format version, 1 |
//! | 6 | 2 | zero |
//! | 8 | 8 | journal id |
//! | 16 | 8 | number of the file |
//! | 24 | 8 | the batch after which it begins |
//! | 32 | 8 | the last batch that it covers |
//! | 40 | 8 | the first instant of any entry in it, signed |
//! | 48 | 8 | the last one, signed |
//! | 56 | 4 | number of entries |
//! | 60 | 4 | length of the payload |
//! | 64 | 4 | CRC32C of the payload |
//! | 68 | 4 | CRC32C of the frame before (its field at 76), 0 for the first |
//! | 72 | 4 | zero |
//! | 76 | 4 | CRC32C of bytes 0 to 75 |
//! | 80 | | payload, then zeros up to the next multiple of 4096 |

use super::facts::Facts;
use crate::folder::JournalId;
use crate::journal::ALIGNMENT;

/// The length of a frame's header.
pub(super) const HEADER_BYTES: usize = 80;

/// The largest payload of a frame: what one batch of the journal can hold, and more.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 28;

const MAGIC: [u8; 4] = *b"nvtA";
/// The version of the layout that is written. Whatever a later one changes, it keeps the length of the header, the magic, the places of
/// the version and of the journal id, and the checksum over the header: so a good frame of it is told from no frame.
pub(super) const VERSION: u16 = 1;

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// If it is a later one than [`VERSION`], nothing else means anything.
    pub(super) version: u16,
    pub(super) file: u64,
    pub(super) after: u64,
    pub(super) upto: u64,
    pub(super) first_at_ms: i64,
    pub(super) last_at_ms: i64,
    pub(super) entries: u32,
    pub(super) payload_len: u32,
    pub(super) payload_crc: u32,
    pub(super) crc_before: u32,
    pub(super) crc: u32,
}

impl Header {
    /// Where the next frame may begin, when this one begins at `offset`.
    pub(super) fn end(&self, offset: u64) -> u64 {
        (offset + HEADER_BYTES as u64 + u64::from(self.payload_len)).next_multiple_of(ALIGNMENT)
    }

    /// How long header and payload are together.
    pub(super) fn len(&self) -> usize {
        HEADER_BYTES + self.payload_len as usize
    }

    /// Reads a header of this journal's audit, of this version or of a later one; `None` if it is none, or not as it was written.
    pub(super) fn parse(bytes: &[u8], id: JournalId) -> Option<Header> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let (version, crc) = (u16::from_le_bytes([bytes[4], bytes[5]]), u32_at(bytes, 76));
        if bytes[0..4] != MAGIC || u64_at(bytes, 8) != id.0 || version < VERSION || crc32c::crc32c(&bytes[..76]) != crc {
            return None;
        }
        let header = Header {
            version,
            file: u64_at(bytes, 16),
            after: u64_at(bytes, 24),
            upto: u64_at(bytes, 32),
            first_at_ms: u64_at(bytes, 40) as i64,
            last_at_ms: u64_at(bytes, 48) as i64,
            entries: u32_at(bytes, 56),
            payload_len: u32_at(bytes, 60),
            payload_crc: u32_at(bytes, 64),
            crc_before: u32_at(bytes, 68),
            crc,
        };
        let zeros = bytes[6..8] == [0; 2] && u32_at(bytes, 72) == 0;
        let good = zeros && header.upto > header.after && header.upto < u64::MAX;
        (good || version > VERSION).then_some(header)
    }

    /// Whether the payload is the one that was written.
    pub(super) fn fits(&self, payload: &[u8]) -> bool {
        payload.len() == self.payload_len as usize && crc32c::crc32c(payload) == self.payload_crc
    }
}

/// A frame's bytes, padded to whole blocks, and its header. Nothing durable shares a block with what is still to be written.
pub(super) fn seal(id: JournalId, file: u64, after: u64, upto: u64, facts: &Facts, crc_before: u32) -> (Vec<u8>, Header) {
    let payload = facts.payload();
    let (first_at_ms, last_at_ms) = facts.at_ms();
    let mut header = Header {
        version: VERSION,
        file,
        after,
        upto,
        first_at_ms,
        last_at_ms,
        entries: facts.entries(),
        payload_len: u32::try_from(payload.len()).expect("what waits is bounded far below 4 GiB"),
        payload_crc: crc32c::crc32c(payload),
        crc_before,
        crc: 0,
    };
    let mut bytes = Vec::with_capacity((HEADER_BYTES + payload.len()).next_multiple_of(ALIGNMENT as usize));
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    for long in [id.0, file, after, upto, first_at_ms as u64, last_at_ms as u64] {
        bytes.extend_from_slice(&long.to_le_bytes());
    }
    for word in [header.entries, header.payload_len, header.payload_crc, crc_before, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    header.crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&header.crc.to_le_bytes());
    debug_assert_eq!(bytes.len(), HEADER_BYTES);
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
    (bytes, header)
}

fn u32_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
