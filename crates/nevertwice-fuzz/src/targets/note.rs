//! The notes that tell with which secret data were made. Canonical.

use nevertwice_api::ErrorCode;
use nevertwice_server::fuzzing::{note, write_note};

use crate::Verdict;

/// The secret that a note is compared with.
pub(crate) const SECRET: [u8; 32] = [7; 32];

/// What notes are made of.
pub const WORDS: &[&str] =
    &["person-key 1\n", "person-key 2\n", "person-key 4294967296\n", "0123456789abcdef", "ABCDEF", "\r\n", "\n", " "];

/// The input is the note.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    match note(bytes, &SECRET) {
        Ok(is_of_secret) => {
            let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            assert!(bytes.len() == 65 && bytes.ends_with(b"\n") && bytes[..64].iter().all(is_digit), "nobody notes that");
            assert_eq!(is_of_secret, bytes == write_note(&SECRET).as_bytes());
            Verdict::Accepted
        }
        Err(error) => {
            let is_newer = bytes.starts_with(b"person-key ");
            assert!(error.code == ErrorCode::ConfigurationInvalid || (error.code == ErrorCode::DataTooNew && is_newer), "{error}");
            assert!(error.detail.len() < 1_000 && !error.detail.contains(char::is_control), "{error}");
            Verdict::Refused
        }
    }
}
