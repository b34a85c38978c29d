//! The file with the digests of API keys.

use std::collections::BTreeSet;

use nevertwice_server::fuzzing::{keys_file, keys_file_text};

use crate::Verdict;

/// What stands for a key that somebody pasted into the file, and the key, which nothing may show.
const SECRET: (&str, &str) = ("$KEY", "hush-0123456789-hush");

/// What keys files are made of.
pub const WORDS: &[&str] = &[
    "version = 1\n",
    "[[key]]\n",
    "id = \"",
    "role = \"operator\"\n",
    "role = \"service\"\n",
    "role = \"reader\"\n",
    "shards = [\"market/wc\", \"sale/final\"]\n",
    "digest = \"sha256:",
    "created_at = 2026-11-30T09:00:00Z\n",
    "expires_at = ",
    "revoked_at = ",
    "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999Z",
    "2027-02-28T09:00:00+14:00",
    "2027-02-28",
    "$KEY",
    "0123456789abcdef",
    "\"",
    "\n",
    "[]",
    "= ",
    "#",
];

/// The input is the file. Accepted: all its keys were read.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let planted = text.replace(SECRET.0, SECRET.1);
    let planted = if text.contains(SECRET.0) { planted.as_bytes() } else { bytes };
    match keys_file(planted) {
        Ok(records) => {
            let ids: BTreeSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
            assert_eq!(ids.len(), records.len(), "an id is there twice");
            let written = keys_file_text(&records).expect("what was read can be written");
            assert_eq!(keys_file(written.as_bytes()), Ok(records), "{written}");
            Verdict::Accepted
        }
        Err(wrong) => {
            assert!(!wrong.contains(SECRET.1), "a key is shown: {wrong}");
            assert!(wrong.len() < 1_000 && !wrong.contains(char::is_control), "{wrong:?}");
            Verdict::Refused
        }
    }
}
