//! The small texts of a data folder: the files `format` and `reach`, and the names of segments and snapshots. All canonical.

use nevertwice_local::error::OpenError;
use nevertwice_local::folder::FORMAT;
use nevertwice_local::fuzzing::{marker, reach, segment_name, segment_number, write_marker, write_reach};
use nevertwice_local::snapshot::{snapshot_batch, snapshot_name};

use crate::Verdict;

/// What these texts are made of.
pub const WORDS: &[&str] = &[
    "nevertwice data\n",
    "nevertwice keys\n",
    "format 1\n",
    "format 2\n",
    "journal ",
    "0123456789abcdef",
    "batch ",
    "\n",
    "\r\n",
    "+",
    "-",
    "0",
    "18446744073709551615",
    "journal-",
    "snapshot-",
    ".segment",
    ".records",
    "00000000000000000001",
];

/// The input is one byte that chooses, then the text.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let text = String::from_utf8_lossy(bytes);
    let written = match choice % 4 {
        0 => match marker(bytes) {
            Ok(id) => Some(write_marker(id)),
            Err(OpenError::TooNew { found, supported, .. }) => {
                assert!(found > supported && supported == FORMAT);
                None
            }
            Err(OpenError::Marker { what }) => {
                assert!(!what.is_empty());
                None
            }
            Err(OpenError::NotServable { .. }) => {
                assert!(text.lines().next() == Some("nevertwice keys"), "only a folder of keys is another kind");
                None
            }
            Err(other) => panic!("a text can only be too new, bad, or of another kind of folder: {other}"),
        },
        1 => reach(bytes).map(write_reach),
        2 => segment_number(&text).map(segment_name),
        _ => snapshot_batch(&text).map(snapshot_name),
    };
    if let Some(written) = &written {
        assert_eq!(written.as_bytes(), bytes, "what was read is written as it was");
    }
    Verdict::of(written.is_some())
}
