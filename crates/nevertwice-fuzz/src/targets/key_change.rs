//! A change of a key, as it lies in the journal of keys and in a snapshot of them. Canonical.

use nevertwice_local::fuzzing::{CHANGE_BYTES, ReadChange, key_change};

use crate::Verdict;

/// The input is one change; what is missing of it is zeros, and what is too much is not looked at.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let mut change = [0; CHANGE_BYTES];
    let length = bytes.len().min(CHANGE_BYTES);
    change[..length].copy_from_slice(&bytes[..length]);
    match key_change(&change) {
        ReadChange::Written(written) => {
            assert_eq!(written, change, "what was read is written as it was");
            Verdict::Accepted
        }
        ReadChange::TooNew(version) => {
            assert!(version > 1 && version == change[0], "only a later version is too new");
            Verdict::Refused
        }
        ReadChange::Malformed => Verdict::Refused,
    }
}
