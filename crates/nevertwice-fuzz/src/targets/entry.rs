//! The encoding of an entry. It is canonical: one entry has one row of bytes in each version.

use nevertwice_api::Fact;
use nevertwice_api::encoding::{decode_entry, decode_fact, encode_entry, encode_folder_fact, encode_key_fact};
use nevertwice_core::Entry;

use crate::Verdict;

/// The input is one entry, or what was done to a folder.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    if let Ok(Fact::Key(fact)) = decode_fact(bytes) {
        let mut written = Vec::new();
        encode_key_fact(&fact, &mut written);
        assert_eq!(written, bytes, "what was read is written as it was");
    }
    if let Ok(Fact::Folder(fact)) = decode_fact(bytes) {
        let mut written = Vec::new();
        encode_folder_fact(&fact, &mut written);
        assert_eq!(written, bytes, "what was read is written as it was");
        return Verdict::Accepted;
    }
    let Ok(entry) = decode_entry(bytes) else { return Verdict::Refused };
    check(&entry, bytes);
    Verdict::Accepted
}

/// What was read is written as it was, and what was written is read again.
pub(crate) fn check(entry: &Entry, bytes: &[u8]) {
    let mut written = Vec::new();
    encode_entry(entry, &mut written);
    assert_eq!(decode_entry(&written).as_ref(), Ok(entry), "what was written is read again");
    if written.first() == bytes.first() {
        assert_eq!(written, bytes, "what was read is written as it was");
    }
}
