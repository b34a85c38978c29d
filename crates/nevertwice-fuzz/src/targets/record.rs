//! The encoding of a state record, canonical like that of an entry.

use nevertwice_api::encoding::{decode_record, encode_record};
use nevertwice_core::Record;

use crate::Verdict;

/// The input is one record.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Ok(record) = decode_record(bytes) else { return Verdict::Refused };
    check(&record, bytes);
    Verdict::Accepted
}

/// What was read is written as it was, and what was written is read again.
pub(crate) fn check(record: &Record, bytes: &[u8]) {
    let mut written = Vec::new();
    encode_record(record, &mut written);
    assert_eq!(decode_record(&written).as_ref(), Ok(record), "what was written is read again");
    if written.first() == bytes.first() {
        assert_eq!(written, bytes, "what was read is written as it was");
    }
}
