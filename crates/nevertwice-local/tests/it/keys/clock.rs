//! The clock goes where it wants.

use nevertwice_api::ErrorCode;
use nevertwice_core::keys::{KeyRejection, Registration};
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{LEASE_MS, RETENTION_MS, Steps, T0, answer, id, options};

/// What a sweep has freed is gone, and its answer's file with it. Were it remembered again when the clock goes back, a replay would
/// find nothing; were it forgotten at an earlier instant, its generation would come again.
#[test]
fn what_was_swept_stays_forgotten_when_the_clock_goes_back_and_over_a_restart() {
    let storage = MemoryStorage::new(1);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let first = steps.claim(1, 1);
    steps.complete(1, 1, first.generation, &answer(1, 100)).unwrap().reply.unwrap();
    steps.clock.set(T0 + RETENTION_MS);
    assert_eq!(steps.ask(|store| store.sweep(10)).unwrap().freed, 1);
    for restart in [false, true] {
        if restart {
            steps.stop();
            steps = Steps::open(&storage, T0, &options()).unwrap();
            assert_eq!(steps.report.records, 0);
        }
        steps.clock.set(T0);
        assert_eq!(steps.ask(|store| store.inspect(id(1))).unwrap(), None);
    }
    let second = steps.claim(1, 2);
    assert!(second.generation > first.generation, "{} after {}", second.generation, first.generation);
    assert_eq!(second.expires_at, T0 + RETENTION_MS + LEASE_MS, "as long as was asked for, from the sweep on");
}

#[test]
fn a_clock_that_goes_back_makes_no_lease_longer_and_no_record_absent() {
    let storage = MemoryStorage::new(2);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let lease = steps.claim(1, 1);
    assert_eq!(lease.expires_at, T0 + LEASE_MS);
    steps.clock.set(T0 - 5_000);
    let told = steps.register(1, 2).unwrap();
    assert_eq!(told.unwrap_err(), KeyRejection::KeyInProgress { generation: lease.generation, lease_expires_at: lease.expires_at });
    steps.stop();
    let mut steps = Steps::open(&storage, T0 - 5_000, &options()).unwrap();
    let told = steps.register(1, 1).unwrap().unwrap();
    assert_eq!(told.registration, Registration::Resumed(lease), "its owner finds it after a restart, as it was");
}

#[test]
fn a_record_far_ahead_of_the_clock_refuses_the_start() {
    let storage = MemoryStorage::new(3);
    let options = options();
    let mut steps = Steps::open(&storage, T0, &options).unwrap();
    steps.claim(1, 1);
    steps.stop();
    let behind = T0 - options.clock_ahead_ms_max;
    assert!(Steps::open(&storage, behind, &options).is_ok());
    let refused = Steps::open(&storage, behind - 1, &options).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ClockBehind, "{refused}");
}
