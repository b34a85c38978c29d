//! Header lines of kept answers, to bytes and back.

use nevertwice_api::encoding::{LINES_MAX, decode_lines, encode_lines};
use nevertwice_core::limits::KEY_HEAD_BYTES_MAX;

use crate::Verdict;

/// The input is the encoding of lines; and, told otherwise, lines of `name: value`.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    check_text(bytes);
    let Ok(lines) = decode_lines(bytes) else { return Verdict::Refused };
    assert!(lines.len() <= LINES_MAX && bytes.len() <= KEY_HEAD_BYTES_MAX as usize);
    assert_eq!(encode_lines(lines.iter().copied()).as_deref(), Some(bytes), "what was read is written back");
    Verdict::Accepted
}

/// What is written is read as it was: every line, in its order, and repeated ones as often.
fn check_text(bytes: &[u8]) {
    let lines: Vec<(&[u8], &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], &line[colon + 1..]))
        })
        .collect();
    let length: usize = 2 + lines.iter().map(|(name, value)| 4 + name.len() + value.len()).sum::<usize>();
    let fits = lines.len() <= LINES_MAX
        && length <= KEY_HEAD_BYTES_MAX as usize
        && lines.iter().all(|(name, value)| name.len().max(value.len()) <= usize::from(u16::MAX));
    match encode_lines(lines.iter().copied()) {
        Some(written) => {
            assert!(fits && written.len() == length);
            assert_eq!(decode_lines(&written).as_deref(), Ok(lines.as_slice()));
        }
        None => assert!(!fits, "{} lines of {length} bytes were refused", lines.len()),
    }
}
