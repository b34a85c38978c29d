//! What lies in copies of a data folder, and beside its journal: manifests of backups, the file of a standby, the audit.

use std::sync::Arc;

use nevertwice_local::backup::back_up;
use nevertwice_local::source::FolderSource;
use nevertwice_local::storage::Storage as _;
use nevertwice_testkit::storage::MemoryStorage;

use super::house::{House, Left};
use super::list::Input;
use super::texts::{chosen, named};
use crate::targets::audit::{HOUSE, file_name};

/// Of a folder with an audit and a note, of one that was killed, and of nothing; and the first one as the format before had it.
pub(super) fn manifests() -> Vec<Input> {
    let killed = House::build(3, Left::Killed);
    HOUSE.storage.put("person-key.check", b"abc\n");
    let (whole, killed) = (manifest(&HOUSE.storage.fork(1)), manifest(&killed.storage));
    HOUSE.storage.remove("person-key.check").expect("it was put there");
    let older: String = whole.replace("format 2", "format 1").lines().filter(|line| !line.starts_with("audit")).fold(String::new(), joined);
    let nothing = "nevertwice backup\nformat 2\njournal 0123456789abcdef\nepoch 0\nbatch 0 crc 00000000\ntaken_at_ms 0\n";
    chosen([
        ("whole", 0, whole.as_str()),
        ("whole-forged", 1, whole.as_str()),
        ("killed-forged", 1, killed.as_str()),
        ("older-forged", 1, older.as_str()),
        ("nothing-forged", 1, nothing),
    ])
}

fn joined(text: String, line: &str) -> String {
    text + line + "\n"
}

fn manifest(storage: &MemoryStorage) -> String {
    let backup = MemoryStorage::new(1);
    let mut source = FolderSource::open(Arc::new(storage.clone()), &["person-key.check"]).expect("nobody runs on it");
    back_up(Arc::new(backup.clone()), &mut source, "backup", &mut |_| {}).expect("memory takes a backup");
    String::from_utf8(backup.read("backup.manifest").expect("it is finished")).expect("a manifest is text")
}

pub(super) fn followings() -> Vec<Input> {
    let head = "nevertwice standby\nformat 1\njournal 0123456789abcdef\n";
    let text = |place: &str| format!("{head}{place}\n");
    let (behind, first, unfinished) = (text("behind 4181 crc 1a2b3c4d"), text("behind 40"), text("unfinished"));
    let (signed, capitals) = (text("behind +7"), text("behind 7 crc 1A2B3C4D"));
    let newer = behind.replace("format 1", "format 2");
    named([
        ("behind", behind.as_str()),
        ("first", first.as_str()),
        ("unfinished", unfinished.as_str()),
        ("signed", signed.as_str()),
        ("capitals", capitals.as_str()),
        ("newer", newer.as_str()),
    ])
}

/// The first file of a folder's audit.
pub(super) fn audits() -> Vec<Input> {
    let bytes = HOUSE.storage.read(&file_name()).expect("it is listed");
    let with = |choice: u8| [vec![choice], bytes.clone()].concat();
    vec![("whole".to_owned(), with(0)), ("forged".to_owned(), with(1))]
}
