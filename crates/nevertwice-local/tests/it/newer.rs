//! What a later version wrote is refused, wherever it stands: this one would take it for a torn tail and cut it off, or for a bad
//! snapshot and pass it over.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_api::encoding::{ENTRY_VERSION, RECORD_VERSION, encode_entry, encode_record};
use nevertwice_core::State;
use nevertwice_local::folder::Folder;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::is_audit;
use nevertwice_local::journal::{Floor, FrameBuffer, FrameRef};
use nevertwice_local::snapshot::{SnapshotWriter, snapshot_name};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{Twin, accepted, market, open, opening, submit, wait};
use crate::support::{crc32c, open as open_journal};

fn segment(number: u64) -> String {
    format!("journal-{number:020}.segment")
}

/// A folder with a snapshot, left as after a kill or orderly, and where its frames lie.
fn written(stopped: bool) -> (MemoryStorage, Vec<FrameRef>) {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    for (number, request) in opening().iter().enumerate() {
        accepted(submit(&backend, request));
        if number == 2 {
            wait(backend.snapshot()).unwrap();
        }
    }
    let left = if stopped {
        backend.stop();
        drop(backend);
        storage
    } else {
        storage.fork(2)
    };
    let frames = Inspection::open(Arc::new(left.clone())).unwrap().frames().unwrap();
    (left, frames)
}

fn files(storage: &MemoryStorage) -> BTreeMap<String, Vec<u8>> {
    storage.list().unwrap().into_iter().map(|name| (name.clone(), storage.read(&name).unwrap())).collect()
}

/// Serving and looking both refuse, and nothing is changed.
fn refused(storage: &MemoryStorage, what: &str) {
    let before = files(storage);
    let calls = storage.calls();
    let error = open(storage).map(|_| ()).expect_err(what);
    assert_eq!(error.code(), ErrorCode::DataTooNew, "{what}: {error}");
    let told = error.to_string();
    assert!(told.contains("newer version") && told.contains("nothing was done") && told.contains(what), "{what}: {told}");
    let looked = Inspection::open(Arc::new(storage.clone())).and_then(|inspection| inspection.contents().map(|_| ()));
    assert_eq!(looked.expect_err(what).code(), ErrorCode::DataTooNew, "{what}");
    assert_eq!((files(storage), storage.calls()), (before, calls), "{what}: nothing was written");
}

/// Gives the frame another version, and the checksum that goes with it.
fn raise(storage: &MemoryStorage, frame: &FrameRef, version: u16) {
    let name = segment(frame.segment);
    let mut bytes = storage.read(&name).unwrap();
    let at = frame.offset as usize;
    let end = at + 64 + u32::from_le_bytes(bytes[at + 44..at + 48].try_into().unwrap()) as usize;
    bytes[at + 4..at + 6].copy_from_slice(&version.to_le_bytes());
    // Whatever else a later version puts into the header is its own.
    bytes[at + 56..at + 60].fill(0xab);
    let crc = crc32c(&[&bytes[at..at + 60], &bytes[at + 64..end]].concat());
    bytes[at + 60..at + 64].copy_from_slice(&crc.to_le_bytes());
    storage.put(&name, &bytes);
}

#[test]
fn a_frame_of_a_later_version_is_refused_at_every_place() {
    for stopped in [true, false] {
        let (storage, frames) = written(stopped);
        for frame in &frames {
            for version in [2, 3, u16::MAX] {
                let storage = storage.fork(3);
                raise(&storage, frame, version);
                refused(&storage, "a frame");
            }
        }
    }
}

/// The seal of a later version's start is all that tells of it, where it was killed before it did anything.
#[test]
fn one_frame_of_a_later_version_behind_the_end_is_not_cut_off() {
    let (storage, frames) = written(false);
    let last = frames.last().unwrap();
    let name = segment(last.segment);
    let mut bytes = storage.read(&name).unwrap();
    bytes.copy_within(last.offset as usize..last.end as usize, last.end as usize);
    storage.put(&name, &bytes);
    assert!(open(&storage.fork(4)).is_ok(), "the same frame again is a stray, and is cut");
    let mut behind = *last;
    behind.offset = last.end;
    raise(&storage, &behind, 2);
    refused(&storage, "a frame");
}

#[test]
fn a_damaged_version_is_damage_and_a_damaged_frame_of_a_later_version_is_no_frame() {
    let (storage, frames) = written(true);
    let frame = &frames[2];
    let flipped = storage.fork(5);
    flipped.flip(&segment(frame.segment), frame.offset as usize + 4, 2);
    assert_eq!(open(&flipped).map(|_| ()).unwrap_err().code(), ErrorCode::JournalDamaged);
    raise(&storage, frame, 2);
    storage.flip(&segment(frame.segment), frame.offset as usize + 70, 1);
    assert_eq!(open(&storage).map(|_| ()).unwrap_err().code(), ErrorCode::JournalDamaged);
}

#[test]
fn a_snapshot_of_a_later_version_is_refused_and_not_passed_over() {
    let (storage, _) = written(true);
    let name = storage.list().unwrap().into_iter().find(|name| name.starts_with("snapshot-")).unwrap();
    let mut bytes = storage.read(&name).unwrap();
    bytes[4] = 2;
    storage.put(&name, &bytes);
    assert!(open(&storage.fork(6)).is_ok(), "with a wrong checksum it is a bad one: the journal has it all");
    let crc = crc32c(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    storage.put(&name, &bytes);
    refused(&storage, "a snapshot");
    let listed = Inspection::open(Arc::new(storage)).and_then(|inspection| inspection.snapshots().map(|_| ()));
    assert_eq!(listed.unwrap_err().code(), ErrorCode::DataTooNew);
}

#[test]
fn a_frame_of_the_audit_of_a_later_version_is_refused() {
    let (storage, _) = written(true);
    let name = storage.list().unwrap().into_iter().find(|name| is_audit(name)).unwrap();
    let bytes = storage.read(&name).unwrap();
    let frames: Vec<usize> = (0..bytes.len()).step_by(4096).filter(|at| bytes[*at..].starts_with(b"nvtA")).collect();
    assert_eq!(frames.len(), 2, "one at the snapshot and one at the end");
    for at in frames {
        let mut raised = bytes.clone();
        raised[at + 4] = 2;
        let storage = storage.fork(at as u64);
        storage.put(&name, &raised);
        let code = open(&storage.fork(1)).map(|_| ()).err().map(|error| error.code());
        // The last frame with a wrong checksum is a torn one, which the journal makes up for.
        assert_eq!(code, (at == 0).then_some(ErrorCode::HistoryDamaged), "a damaged version is damage");
        // Whatever else a later version puts into the header is its own.
        raised[at + 72..at + 76].fill(0xab);
        let crc = crc32c(&raised[at..at + 76]);
        raised[at + 76..at + 80].copy_from_slice(&crc.to_le_bytes());
        storage.put(&name, &raised);
        refused(&storage, "a frame of the audit");
    }
}

#[test]
fn an_entry_and_a_record_of_a_later_encoding_are_refused() {
    let mut twin = Twin::new();
    for request in opening() {
        twin.decide(&request);
    }
    let (state, entries) = twin.shard(&market());

    let storage = MemoryStorage::new(7);
    let mut opened = open_journal(&storage).unwrap();
    for (number, entry) in entries.iter().enumerate() {
        let mut batch = FrameBuffer::new();
        batch.push(|bytes| {
            let mut encoded = Vec::new();
            encode_entry(entry, &mut encoded);
            if number == 3 {
                encoded[0] = ENTRY_VERSION + 1;
            }
            bytes.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&encoded);
        });
        opened.journal.append(&mut batch).unwrap();
    }
    opened.journal.close().unwrap();
    drop(opened._folder);
    refused(&storage, "an entry or a record");

    let (storage, frames) = written(true);
    let last = frames.iter().rfind(|frame| frame.entries > 0).unwrap();
    let folder = Folder::claim(Arc::new(storage.clone())).unwrap();
    let floor = Floor { batch: last.batch, crc: last.crc };
    let mut writer = SnapshotWriter::create(Arc::new(storage.clone()), folder.id(), floor).unwrap();
    for (number, mut record) in records(state).into_iter().enumerate() {
        if number == 4 {
            record[0] = RECORD_VERSION + 1;
        }
        writer.record(&record).unwrap();
    }
    writer.finish().unwrap();
    drop(folder);
    assert!(storage.list().unwrap().contains(&snapshot_name(last.batch)));
    refused(&storage, "an entry or a record");
}

fn records(state: &State) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    state.export(&mut |record| {
        let mut bytes = Vec::new();
        encode_record(&record, &mut bytes);
        records.push(bytes);
    });
    records
}

#[test]
fn the_folder_and_its_reach_of_a_later_version_are_refused() {
    let (storage, _) = written(true);
    let marker = String::from_utf8(storage.read("format").unwrap()).unwrap();
    let newer = storage.fork(8);
    // What stands in the other lines of a later version is its own.
    newer.put("format", marker.replace("format 1", "format 2").replace("journal", "journals").as_bytes());
    refused(&newer, "the folder");
    for (text, code) in [
        ("reach 2\nbatch 7 of epoch 1\n", ErrorCode::DataTooNew),
        ("reach 4294967295\n", ErrorCode::DataTooNew),
        ("reach 1\nbatch 7\n", ErrorCode::JournalDamaged),
        ("reach\n", ErrorCode::JournalDamaged),
        ("", ErrorCode::JournalDamaged),
    ] {
        let storage = storage.fork(9);
        storage.put("reach", text.as_bytes());
        if code == ErrorCode::DataTooNew {
            refused(&storage, "the file `reach`");
        }
        assert_eq!(open(&storage).map(|_| ()).unwrap_err().code(), code, "{text:?}");
    }
}

/// A folder of which only `reach` is left had a journal once: a new one would forget it without a word.
#[test]
fn a_reach_without_its_marker_is_no_empty_folder() {
    let storage = MemoryStorage::new(10);
    storage.put("reach", b"batch 7\n");
    assert_eq!(open(&storage).map(|_| ()).unwrap_err().code(), ErrorCode::DataFolderInvalid);
    assert_eq!(storage.list().unwrap(), ["reach"]);
}
