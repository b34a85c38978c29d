//! Snapshots count only when they are whole.

use std::sync::Arc;

use nevertwice_local::folder::JournalId;
use nevertwice_local::journal::Floor;
use nevertwice_local::snapshot::{self, SnapshotReader, SnapshotWriter, Verified, snapshot_name};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

const ID: JournalId = JournalId(0x0102_0304_0506_0708);

fn write(storage: &MemoryStorage, batch: u64, records: usize) -> Result<Verified, String> {
    let floor = Floor { batch, crc: batch as u32 ^ 77 };
    let mut writer = SnapshotWriter::create(Arc::new(storage.clone()), ID, floor).map_err(|e| e.to_string())?;
    for number in 0..records {
        writer.record(&vec![number as u8; number * 37]).map_err(|e| e.to_string())?;
    }
    writer.finish().map_err(|e| e.to_string())
}

fn records(storage: &MemoryStorage, batch: u64) -> Vec<Vec<u8>> {
    let mut reader = SnapshotReader::open(storage, ID, batch).unwrap().unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        all.push(record.to_vec());
    }
    all
}

#[test]
fn what_was_written_is_read_and_the_newest_good_one_counts() {
    let storage = MemoryStorage::new(1);
    write(&storage, 10, 50).unwrap();
    let newest = write(&storage, 20, 300).unwrap();
    assert_eq!(newest.records, 300);
    assert_eq!(records(&storage, 20)[299], vec![43; 299 * 37]);
    assert_eq!(snapshot::newest(&storage, ID).unwrap(), (Some(newest), vec![]));
    assert_eq!(snapshot::newest(&storage, JournalId(1)).unwrap().0, None, "another folder's");

    let len = storage.read(&snapshot_name(20)).unwrap().len();
    for at in (0..len).step_by(29_989).chain([0, 5, 7, 17, 25, 30, 33, len - 16, len - 9, len - 1]) {
        let storage = storage.fork(2);
        storage.flip(&snapshot_name(20), at, 0x10);
        let (found, bad) = snapshot::newest(&storage, ID).unwrap();
        assert_eq!((found.unwrap().floor.batch, bad.len()), (10, 1), "byte {at}");
    }
    for cut in (0..len as u64).step_by(30_011).chain([len as u64 - 1]) {
        let storage = storage.fork(3);
        storage.truncate(&snapshot_name(20), cut).unwrap();
        assert_eq!(snapshot::newest(&storage, ID).unwrap().0.unwrap().floor.batch, 10, "cut at {cut}");
    }
    let mut longer = storage.read(&snapshot_name(20)).unwrap();
    longer.push(0);
    storage.put(&snapshot_name(20), &longer);
    assert_eq!(snapshot::newest(&storage, ID).unwrap().0.unwrap().floor.batch, 10);
}

#[test]
fn a_crash_at_every_call_leaves_the_one_before_or_the_new_one() {
    let dry = MemoryStorage::new(1);
    write(&dry, 1, 40).unwrap();
    let before = dry.calls();
    write(&dry, 2, 60).unwrap();
    let calls = dry.calls() - before;
    for seed in 0..20 {
        for crash in 0..calls {
            let storage = MemoryStorage::new(seed);
            write(&storage, 1, 40).unwrap();
            storage.crash_after(crash);
            write(&storage, 2, 60).unwrap_err();
            storage.power_loss();
            let newest = snapshot::newest(&storage, ID).unwrap().0.unwrap();
            match newest.floor.batch {
                1 => assert_eq!(records(&storage, 1).len(), 40),
                _ => assert_eq!(records(&storage, 2).len(), 60),
            }
            write(&storage, 3, 5).unwrap();
            assert_eq!(snapshot::newest(&storage, ID).unwrap().0.unwrap().floor.batch, 3);
        }
    }
}

#[test]
fn pruning_keeps_the_two_that_are_named() {
    let storage = MemoryStorage::new(1);
    for batch in [3, 5, 8, 13] {
        write(&storage, batch, 2).unwrap();
    }
    snapshot::prune(&storage, [8, 13]).unwrap();
    assert_eq!(snapshot::list(&storage).unwrap(), [13, 8]);
}

#[test]
fn a_full_disk_leaves_the_one_before() {
    let storage = MemoryStorage::new(1);
    write(&storage, 1, 20).unwrap();
    storage.set_capacity(Some(storage.used() + 100));
    write(&storage, 2, 20).unwrap_err();
    assert_eq!(snapshot::newest(&storage, ID).unwrap().0.unwrap().floor.batch, 1);
}
