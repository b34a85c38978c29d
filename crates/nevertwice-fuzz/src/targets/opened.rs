//! What every folder is held to, whatever lies in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, NoObserver};
use nevertwice_core::{Position, ShardId, StateHash};
use nevertwice_local::error::OpenError;
use nevertwice_local::folder::JournalId;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::Storage as _;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

/// The journal id of every folder that targets make.
pub const ID: JournalId = JournalId(0x0102_0304_0506_0708);

/// The smallest segments, filled by the writer itself.
pub(crate) const SMALL: JournalOptions = JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 };

/// Where each shard is, and its state there.
pub(crate) type Shown = BTreeMap<ShardId, (Position, StateHash)>;

/// Looks at the folder, then serves it, then looks again. What may be served: its shards. Both must agree; a folder that is
/// refused is left as it was; one that was served has no torn tail, and what it held.
pub(crate) fn open(storage: &MemoryStorage) -> Result<Shown, ErrorCode> {
    let before = files(storage);
    let seen = look(storage);
    match serve(storage) {
        Err(error) => {
            let code = error.code();
            assert_eq!(seen.map_err(|error| error.code()), Err(code), "looking and serving agree: {error}");
            assert_eq!(files(storage), before, "{code}: a folder that is refused is left as it was");
            assert!(!error.to_string().contains("\n"), "{error}");
            Err(code)
        }
        Ok(()) => {
            let (shown, _) = seen.unwrap_or_else(|error| panic!("it is served, and looking says: {error}"));
            let (again, cut_bytes) = look(storage).unwrap_or_else(|error| panic!("it was served, and then: {error}"));
            assert_eq!(again, shown, "serving changes no state");
            assert_eq!(cut_bytes, 0, "serving leaves no torn tail");
            Ok(shown)
        }
    }
}

/// What a look shows, and how many bytes of torn tail there are.
fn look(storage: &MemoryStorage) -> Result<(Shown, u64), OpenError> {
    let inspection = Inspection::open(Arc::new(storage.clone()))?;
    // These say what is wrong piece by piece; here they must only come to an end.
    let _ = inspection.snapshots();
    let _ = inspection.frames();
    let _ = inspection.replay(|_, _| {});
    let _ = inspection.batches(|batch| batch.entries.iter().all(Result::is_ok));
    let contents = inspection.contents()?;
    let (_, audit_fault) = inspection.audit()?;
    match (contents.damage, audit_fault) {
        (Some(damage), _) => Err(damage.into()),
        (None, Some(what)) => Err(OpenError::Audit { what }),
        (None, None) => {
            let shards = contents.states.shards().map(|state| (state.shard().clone(), (state.position(), state.state_hash())));
            Ok((shards.collect(), contents.report.journal.cut_bytes))
        }
    }
}

fn serve(storage: &MemoryStorage) -> Result<(), OpenError> {
    let options = LocalOptions { snapshot_bytes: 0, journal: SMALL, ..LocalOptions::default() };
    // No forged entry is ahead of it: its clock is not what the folder is judged by.
    let clock = ManualClock::new(i64::MAX);
    let (backend, _) = LocalBackend::open(Arc::new(storage.clone()), Arc::new(clock), Arc::new(NoObserver), &options)?;
    backend.stop();
    Ok(())
}

/// All files with their bytes.
pub(crate) fn files(storage: &MemoryStorage) -> BTreeMap<String, Vec<u8>> {
    let names = storage.list().expect("a folder in memory can be listed");
    names.into_iter().map(|name| (name.clone(), storage.read(&name).expect("a file in memory can be read"))).collect()
}
