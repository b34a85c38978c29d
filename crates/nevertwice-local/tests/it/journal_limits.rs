//! Full disks, failed syncs, batches that do not fit, folders that are not ours.

use std::sync::Arc;

use nevertwice_local::error::{AppendError, OpenError};
use nevertwice_local::folder::{Folder, inspect_marker};
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::support::{append, open, open_with};

#[test]
fn a_failed_write_or_sync_poisons_for_good() {
    for later in 0..2 {
        let storage = MemoryStorage::new(later);
        let mut opened = open(&storage).unwrap();
        append(&mut opened.journal, b"one").unwrap();
        storage.fail_after(later);
        assert!(matches!(append(&mut opened.journal, b"two"), Err(AppendError::Failed(_))));
        let calls = storage.calls();
        for _ in 0..3 {
            assert!(matches!(append(&mut opened.journal, b"three"), Err(AppendError::Poisoned)));
        }
        assert_eq!(storage.calls(), calls, "a poisoned journal touches nothing");
        assert_eq!(opened.journal.durable(), 2, "the seal and the first");
        drop(opened);
        storage.power_loss();
        let opened = open(&storage).unwrap();
        assert_eq!(opened.kept[0], b"one");
        assert!(opened.kept.len() <= 2);
    }
}

#[test]
fn a_full_disk_refuses_before_anything_is_written_and_heals() {
    for segments_ahead in [0, 1] {
        let options = JournalOptions { segment_bytes: 16 << 10, segments_ahead };
        let storage = MemoryStorage::new(3);
        let mut opened = open_with(&storage, &options).unwrap();
        let room = opened.journal.room();
        storage.set_capacity(Some(64 << 10));
        let mut appended = 0;
        let error = loop {
            match append(&mut opened.journal, &[7; 9_000]) {
                Ok(_) => appended += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, AppendError::Full), "{error}");
        assert!((1..=4).contains(&appended), "{appended}");
        assert!(room.left_bytes().is_some_and(|left| left < 16 << 10));
        append(&mut opened.journal, b"what fits into the rest is taken").unwrap();

        storage.set_capacity(None);
        let grown = loop {
            match append(&mut opened.journal, &[8; 9_000]) {
                Ok(batch) => break batch,
                Err(AppendError::Full) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(grown, opened.journal.durable());
        assert_eq!(room.left_bytes(), None);
        drop(opened);
        storage.power_loss();
        assert_eq!(open(&storage).unwrap().kept.len(), appended + 2);
    }
}

#[test]
fn segments_are_filled_by_a_thread_beside_the_writer() {
    let options = JournalOptions { segment_bytes: 16 << 10, segments_ahead: 2 };
    let storage = MemoryStorage::new(4);
    let mut opened = open_with(&storage, &options).unwrap();
    for number in 0..200_u32 {
        append(&mut opened.journal, &number.to_le_bytes()).unwrap();
        if number % 10 == 0 {
            append(&mut opened.journal, &[1; 15_000]).unwrap();
        }
    }
    drop(opened);
    storage.power_loss();
    assert_eq!(open(&storage).unwrap().kept.len(), 220);
}

#[test]
fn a_batch_over_a_segment_is_refused_and_nothing_else_is_harmed() {
    let storage = MemoryStorage::new(5);
    let mut opened = open(&storage).unwrap();
    let max = opened.journal.batch_bytes_max();
    append(&mut opened.journal, &vec![1; max]).unwrap();
    assert!(matches!(
        append(&mut opened.journal, &vec![1; max + 1]),
        Err(AppendError::TooLarge { bytes, bytes_max }) if bytes == max + 1 && bytes_max == max
    ));
    append(&mut opened.journal, b"goes on").unwrap();
    drop(opened);
    assert_eq!(open(&storage).unwrap().kept.len(), 2);
}

#[test]
fn a_folder_has_one_owner() {
    let storage = MemoryStorage::new(6);
    let opened = open(&storage).unwrap();
    assert!(matches!(Folder::claim(Arc::new(storage.clone())).map(|_| ()), Err(OpenError::InUse)));
    assert!(matches!(inspect_marker(&storage), Err(OpenError::InUse)));
    drop(opened);
    inspect_marker(&storage).unwrap();
    open(&storage).unwrap();
}

#[test]
fn a_marker_of_a_newer_version_is_too_new_and_nonsense_is_refused() {
    let storage = MemoryStorage::new(7);
    drop(open(&storage).unwrap());
    let good = String::from_utf8(storage.read("format").unwrap()).unwrap();
    let newer = good.replace("format 1", "format 2");
    storage.put("format", newer.as_bytes());
    assert!(matches!(open(&storage).map(|_| ()), Err(OpenError::TooNew { found: 2, supported: 1, .. })));
    for bad in ["", "nevertwice data\n", "nevertwice data\nformat x\n", "nevertwice data\nformat 1\njournal 12\n"] {
        storage.put("format", bad.as_bytes());
        assert!(matches!(open(&storage).map(|_| ()), Err(OpenError::Marker { .. })), "{bad:?}");
    }
    storage.put("format", &[0xff, 0xfe]);
    assert!(matches!(open(&storage).map(|_| ()), Err(OpenError::Marker { .. })));
    storage.remove("format").unwrap();
    let error = open(&storage).map(|_| ()).unwrap_err();
    assert!(matches!(error, OpenError::Marker { .. }), "segments without a marker: {error}");
}

#[test]
fn pruning_takes_whole_segments_below_the_mark_only() {
    let storage = MemoryStorage::new(8);
    let mut opened = open(&storage).unwrap();
    for number in 0..20_u8 {
        append(&mut opened.journal, &[number; 5_000]).unwrap();
    }
    let reader = opened.journal.reader();
    assert_eq!(reader.prune(0).unwrap(), 0);
    assert!(reader.prune(10).unwrap() > 0);
    assert_eq!(reader.prune(10).unwrap(), 0);
    let mut batches = Vec::new();
    let read = |batches: &mut Vec<u64>, after, upto| {
        reader.read(after, upto, |frame| {
            batches.push(frame.batch);
            Ok::<(), OpenError>(())
        })
    };
    assert_eq!(read(&mut batches, 10, 15).unwrap().0, 15);
    assert_eq!(batches, [11, 12, 13, 14, 15]);
    assert!(matches!(read(&mut batches, 0, 15), Err(OpenError::Damage(_))), "they are gone");
}
