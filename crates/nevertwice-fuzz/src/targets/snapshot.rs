//! Any bytes as a snapshot, with their own checksums or with right ones.

use std::sync::Arc;

use nevertwice_local::error::OpenError;
use nevertwice_local::snapshot::{ReadError, SnapshotReader, SnapshotWriter, snapshot_name, verify};
use nevertwice_local::states::States;
use nevertwice_local::storage::Storage as _;
use nevertwice_testkit::storage::MemoryStorage;

use super::ID;
use crate::{Verdict, forge};

/// The batch after which the snapshot is made.
pub(crate) const BATCH: u64 = 9;

/// The input is one byte, then the file. An odd byte makes all checksums right.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((flags, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let mut bytes = bytes.to_vec();
    if flags & 1 == 1 {
        forge::snapshot(&mut bytes, BATCH);
    }
    let storage = MemoryStorage::new(0);
    storage.put(&snapshot_name(BATCH), &bytes);
    let verified = match verify(&storage, ID, BATCH) {
        Ok(verified) => verified,
        Err(OpenError::TooNew { found, supported, .. }) => {
            assert!(found > supported);
            return Verdict::Refused;
        }
        Err(error) => panic!("memory can be read: {error}"),
    };
    let records = read(&storage);
    assert_eq!(verified.as_ref().ok().map(|verified| verified.records), records.as_ref().map(|records| records.len() as u64));
    let (Ok(verified), Some(records)) = (verified, records) else { return Verdict::Refused };

    // The file is canonical: the same records make the same bytes.
    let copy = MemoryStorage::new(0);
    let mut writer = SnapshotWriter::create(Arc::new(copy.clone()), ID, verified.floor).expect("memory can be written");
    for record in &records {
        writer.record(record).expect("memory can be written");
    }
    assert_eq!(writer.finish().expect("what was written is good"), verified);
    assert_eq!(copy.read(&snapshot_name(BATCH)).expect("it is there"), bytes, "what was read is written as it was");

    let Ok(Ok(states)) = States::load(&storage, ID, BATCH, (1, 2)) else { return Verdict::Refused };
    for state in states.shards() {
        super::state::copy(state);
    }
    Verdict::Accepted
}

fn read(storage: &MemoryStorage) -> Option<Vec<Vec<u8>>> {
    let mut reader = SnapshotReader::open(storage, ID, BATCH).expect("memory can be read").ok()?;
    let mut records = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return Some(records),
            Err(ReadError::Bad(_)) => return None,
            Err(ReadError::Io(failure)) => panic!("memory can be read: {failure}"),
        }
    }
}
