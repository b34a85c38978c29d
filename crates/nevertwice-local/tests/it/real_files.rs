//! The same on a real file system.

use std::sync::Arc;

use nevertwice_local::error::OpenError;
use nevertwice_local::folder::Folder;
use nevertwice_local::journal::{JournalOptions, is_segment};
use nevertwice_local::storage::{FileStorage, Storage};

use crate::support::{append, open_with};

#[test]
fn a_journal_on_disk_is_read_back_after_a_stop_and_after_a_drop() {
    let folder = tempfile::tempdir().unwrap();
    let storage = FileStorage::create(folder.path().join("data")).unwrap();
    let options = JournalOptions { segment_bytes: 256 << 10, segments_ahead: 1 };
    let mut expected = Vec::new();
    for life in 0..4_u8 {
        let mut opened = open_with(&storage, &options).unwrap();
        assert_eq!(opened.kept, expected);
        assert_eq!(opened.report.cut_bytes, 0);
        assert!(matches!(Folder::claim(Arc::new(storage.clone())).map(|_| ()), Err(OpenError::InUse)));
        assert!(storage.is_claimed().unwrap());
        for number in 0..40_u8 {
            expected.push(vec![life ^ number; 20_000]);
            append(&mut opened.journal, expected.last().unwrap()).unwrap();
        }
        if life % 2 == 0 {
            opened.journal.close().unwrap();
        }
    }
    assert!(!storage.is_claimed().unwrap());
    assert!(storage.list().unwrap().iter().filter(|name| is_segment(name)).count() > 4);
}

#[test]
fn a_folder_that_is_not_there_is_opened_by_nobody() {
    let folder = tempfile::tempdir().unwrap();
    assert!(FileStorage::open(folder.path().join("missing")).is_err());
}
