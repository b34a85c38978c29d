//! The file that makes a folder a standby's. Canonical.

use nevertwice_local::error::OpenError;
use nevertwice_local::fuzzing::following;

use crate::Verdict;

/// What it is made of.
pub const WORDS: &[&str] = &[
    "nevertwice standby\n",
    "format 1\n",
    "format 2\n",
    "journal 0123456789abcdef\n",
    "behind 4181 crc 1a2b3c4d\n",
    "behind 0\n",
    "unfinished\n",
    " crc ",
    "18446744073709551615",
    "+",
    "-",
    "F",
    "0",
    " ",
    "\r\n",
    "\n",
];

/// The input is the file.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    match following(bytes) {
        Ok(written) => {
            assert_eq!(written.as_bytes(), bytes, "what was read is written as it was");
            Verdict::Accepted
        }
        Err(OpenError::TooNew { found, supported, .. }) => {
            assert!(found > supported);
            Verdict::Refused
        }
        Err(OpenError::NotServable { what }) => {
            assert!(!what.is_empty() && !what.contains(char::is_control), "{what:?}");
            Verdict::Refused
        }
        Err(other) => panic!("a text can only be too new, or none: {other}"),
    }
}
