//! The manifest of a backup: with its own checksum, or with a right one.

use std::sync::Arc;

use nevertwice_local::backup::{BackupReader, Goal, Manifest, restore_to};
use nevertwice_local::fuzzing::{manifest, write_manifest};
use nevertwice_testkit::storage::MemoryStorage;

use crate::{Verdict, forge};

/// What manifests are made of.
pub const WORDS: &[&str] = &[
    "nevertwice backup\n",
    "format 1\n",
    "format 2\n",
    "format 3\n",
    "journal 0123456789abcdef\n",
    "epoch ",
    "batch 1 crc 00000000\n",
    "taken_at_ms -1\n",
    "snapshot 1 bytes 4096\n",
    "segment 1 first 1 last 2 bytes 4096\n",
    "audit after 0\n",
    "audit-file 1 upto 1 bytes 4096 sha256 00\n",
    "note a.check 00\n",
    "note ../a.check 00\n",
    "shard market/cup 1-1 00\n",
    "check 00000000\n",
    "18446744073709551615",
    "18446744073709551614",
    " first ",
    " last ",
    "\n",
    " ",
    "+",
    "\u{1b}",
];

/// The longest that is said of a manifest.
const WRONG_BYTES_MAX: usize = 1_000;

/// The input is one byte that chooses whether the checksum is made right, then the file.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let mut bytes = bytes.to_vec();
    if choice % 2 == 1 {
        forge::manifest(&mut bytes);
    }
    let read = manifest(&bytes);
    // Nothing that it names is there: whoever opens it says so, and does not look elsewhere.
    let storage = MemoryStorage::new(1);
    storage.put("backup.manifest", &bytes);
    let opened = BackupReader::open(Arc::new(storage)).and_then(|backup| restore_to(&backup, &Goal::Latest, None, &mut |_| {}));
    if let Err(error) = &opened {
        let wrong = error.to_string();
        assert!(wrong.len() < WRONG_BYTES_MAX && !wrong.contains(char::is_control), "{wrong:?}");
    }
    match read {
        Ok(read) => {
            check(&read);
            let written = write_manifest(&read);
            assert_eq!(manifest(written.as_bytes()).as_ref(), Ok(&read), "{written}");
            assert!(opened.is_ok() || !read.segments.is_empty() || read.audit.is_some(), "a backup of nothing lacks nothing");
            Verdict::Accepted
        }
        Err(_) => {
            assert!(opened.is_err(), "a manifest that can't be read makes no backup");
            Verdict::Refused
        }
    }
}

/// What reads a backup rests on.
fn check(Manifest { batch, snapshots, segments, audit, notes, .. }: &Manifest) {
    let mut next = segments.first().map_or(1, |first| first.first_batch);
    for segment in segments {
        assert!(segment.first_batch == next && segment.last_batch >= next, "{segment:?}: batches follow without a gap");
        next = segment.last_batch + 1;
    }
    assert_eq!(next - 1, *batch, "the last batch is that of the last segment");
    assert!(snapshots.iter().all(|snapshot| snapshot.batch <= *batch));
    for file in audit.iter().flat_map(|audit| &audit.files) {
        assert!(file.upto <= *batch, "{file:?}");
    }
    for note in notes {
        let leads_out = note.name.contains(['/', '\\', '\0']) || note.name.starts_with('.') || note.name.starts_with("backup.");
        assert!(!leads_out && note.name.len() <= 64, "{:?} is written beside the data", note.name);
    }
}
