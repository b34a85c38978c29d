//! Any bytes as a segment of the journal, with their own checksums or with right ones.

use nevertwice_local::fuzzing::{segment_name, write_marker};
use nevertwice_testkit::storage::MemoryStorage;

use super::{ID, opened};
use crate::{Verdict, forge};

/// The input is one byte, then the segment. An odd byte makes all checksums right; with 2 in it the bytes are the second
/// segment of two.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((flags, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let number = if flags & 2 == 0 { 1 } else { 2 };
    let mut bytes = bytes.to_vec();
    if flags & 1 == 1 {
        forge::segment(&mut bytes, number);
    }
    let storage = MemoryStorage::new(0);
    storage.put("format", write_marker(ID).as_bytes());
    storage.put(&segment_name(number), &bytes);
    if number == 2 {
        storage.put(&segment_name(1), &[0; 4096]);
    }
    Verdict::of(opened::open(&storage).is_ok_and(|shown| !shown.is_empty()))
}
