//! Header lines to bytes and back: a list of names and values, in their order, repeated ones kept.

use nevertwice_core::fields::Malformed;
use nevertwice_core::limits::KEY_HEAD_BYTES_MAX;

/// The name and the value of one header line.
pub type Line<'a> = (&'a [u8], &'a [u8]);

/// Lines of one answer, at most.
pub const LINES_MAX: usize = 256;

/// Bytes for which there is room at first.
const LINES_EXPECTED_BYTES: usize = 256;

/// The header lines of an answer: a count of 2 bytes, then for each line the name and the value, each with 2 bytes of length before
/// it, all little-endian. None if there are more than [`LINES_MAX`], or they are longer than [`KEY_HEAD_BYTES_MAX`] together.
#[must_use]
pub fn encode_lines<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(LINES_EXPECTED_BYTES);
    bytes.extend([0, 0]);
    let mut count = 0_u16;
    for (name, value) in lines {
        count += 1;
        if usize::from(count) > LINES_MAX {
            return None;
        }
        for part in [name, value] {
            bytes.extend_from_slice(&u16::try_from(part.len()).ok()?.to_le_bytes());
            bytes.extend_from_slice(part);
        }
        if bytes.len() > KEY_HEAD_BYTES_MAX as usize {
            return None;
        }
    }
    if let Some(first) = bytes.first_chunk_mut() {
        *first = count.to_le_bytes();
    }
    Some(bytes)
}

/// Reads lines that fill the bytes.
///
/// # Errors
/// If they are not exactly what [`encode_lines`] writes.
pub fn decode_lines(bytes: &[u8]) -> Result<Vec<Line<'_>>, Malformed> {
    let (count, mut rest) = bytes.split_first_chunk().ok_or(Malformed::CutShort)?;
    let count = usize::from(u16::from_le_bytes(*count));
    if count > LINES_MAX || bytes.len() > KEY_HEAD_BYTES_MAX as usize {
        return Err(Malformed::ListTooLong);
    }
    let mut lines = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, after) = part(rest)?;
        let (value, after) = part(after)?;
        lines.push((name, value));
        rest = after;
    }
    if rest.is_empty() { Ok(lines) } else { Err(Malformed::Trailing) }
}

fn part(bytes: &[u8]) -> Result<Line<'_>, Malformed> {
    let (length, rest) = bytes.split_first_chunk().ok_or(Malformed::CutShort)?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or(Malformed::CutShort)
}
