//! Makes checksums right, so that changed contents get past them to the readers behind. A fuzzer would need for ever to guess
//! them; an attacker with the disk in his hands would not.
//!
//! The layouts stand here a second time, as `docs/journal-format.md` has them.

use crate::targets::ID;

const BLOCK: usize = 4096;
const FRAME_HEADER: usize = 64;
const SNAPSHOT_HEADER: usize = 32;
const AUDIT_HEADER: usize = 80;

/// Gives every frame of a segment the journal's id, the segment's number, the checksum of the frame before, and its own.
pub(crate) fn segment(bytes: &mut [u8], number: u64) {
    let mut before = 0;
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + FRAME_HEADER) {
        if !header.starts_with(b"nvtJ") {
            at += BLOCK;
            continue;
        }
        let length = word(header, 44) as usize;
        let end = at.saturating_add(FRAME_HEADER).saturating_add(length);
        let Some(frame) = bytes.get_mut(at..end) else {
            at += BLOCK;
            continue;
        };
        frame[8..16].copy_from_slice(&ID.0.to_le_bytes());
        frame[16..24].copy_from_slice(&number.to_le_bytes());
        frame[48..52].copy_from_slice(&u32::to_le_bytes(before));
        let (head, payload) = frame.split_at(FRAME_HEADER);
        before = crc32c::crc32c_append(crc32c::crc32c(&head[..60]), payload);
        frame[60..64].copy_from_slice(&before.to_le_bytes());
        at = end.next_multiple_of(BLOCK);
    }
}

/// Gives a snapshot the journal's id, its batch, and both checksums; its end is where the mark of an end stands.
pub(crate) fn snapshot(bytes: &mut Vec<u8>, batch: u64) {
    if bytes.len() < SNAPSHOT_HEADER {
        return;
    }
    bytes[8..16].copy_from_slice(&ID.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&batch.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    let (mut at, mut records) = (SNAPSHOT_HEADER, 0_u64);
    while let Some(length) = bytes.get(at..at + 4).map(|length| word(length, 0)) {
        if length == u32::MAX {
            bytes.truncate(at + 4);
            bytes.extend_from_slice(&records.to_le_bytes());
            let crc = crc32c::crc32c(bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
            return;
        }
        records += 1;
        at = at.saturating_add(4).saturating_add(length as usize);
    }
}

/// Gives the manifest of a backup the right checksum in its last line.
pub(crate) fn manifest(bytes: &mut Vec<u8>) {
    let last = bytes.windows(7).rposition(|window| window == b"\ncheck ");
    let body = last.map_or(bytes.len(), |at| at + 1);
    bytes.truncate(body);
    let crc = crc32c::crc32c(bytes);
    bytes.extend_from_slice(format!("check {crc:08x}\n").as_bytes());
}

/// Gives every frame of a file of the audit the journal's id, the file's number, the checksums of its payload and of the frame before,
/// and its own.
pub(crate) fn audit(bytes: &mut [u8], number: u64) {
    let (mut before, mut at) = (0, 0);
    while let Some(header) = bytes.get(at..at + AUDIT_HEADER) {
        let length = word(header, 60) as usize;
        let end = at.saturating_add(AUDIT_HEADER).saturating_add(length);
        let Some(frame) = bytes.get_mut(at..end).filter(|frame| frame.starts_with(b"nvtA")) else { return };
        let (head, payload) = frame.split_at_mut(AUDIT_HEADER);
        head[8..16].copy_from_slice(&ID.0.to_le_bytes());
        head[16..24].copy_from_slice(&number.to_le_bytes());
        head[64..68].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        head[68..72].copy_from_slice(&u32::to_le_bytes(before));
        before = crc32c::crc32c(&head[..76]);
        head[76..80].copy_from_slice(&before.to_le_bytes());
        at = end.next_multiple_of(BLOCK);
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
