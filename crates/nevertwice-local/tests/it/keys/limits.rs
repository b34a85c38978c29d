//! What is bounded, and that nobody who holds a claim is left alone at a bound.

use nevertwice_api::{AnswerBytes, Health, KeyStore, KeyStoreFailure, Levels, PrincipalMark, Registered, ShareBounds};
use nevertwice_core::keys::{CompleteKey, Completion, OwnerId, RegisterKey, Registration, RenewLease};
use nevertwice_local::journal::{JournalOptions, is_segment};
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeyStoreOptions, is_answers};
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{LEASE_MS, RETENTION_MS, Steps, T0, answer, id, look, options, register};

#[test]
fn a_full_queue_refuses_at_once() {
    let storage = MemoryStorage::new(1);
    let options = KeyStoreOptions { queue_max: 2, ..options() };
    let steps = Steps::open(&storage, T0, &options).unwrap();
    let store = steps.store.front();
    let _waiting = [store.inspect(id(1)), store.inspect(id(2))];
    assert_eq!(look(&mut store.inspect(id(3))), Some(Err(KeyStoreFailure::Unavailable)));
}

/// Claims and renewals are refused on a full disk; those who have claimed find the room that was kept for them.
#[test]
fn on_a_full_disk_every_claim_can_still_be_ended() {
    const CLAIMS: u8 = 22;
    let storage = MemoryStorage::new(2);
    let journal = JournalOptions { segment_bytes: 64 << 10, segments_ahead: 1 };
    let mut steps = Steps::open(&storage, T0, &KeyStoreOptions { journal, ..options() }).unwrap();
    let segments = || storage.list().unwrap().into_iter().filter(|name| is_segment(name)).count();
    while segments() < 2 {
        std::thread::yield_now();
    }
    // From here on there are the two segments and nothing more: one claim a block fills the first, and a third of the second.
    storage.set_capacity(Some(storage.used()));
    for key in 0..CLAIMS {
        steps.claim(key, key);
    }
    while steps.store.front().health() != Health::Full {
        // The thread that fills segments has still to find out.
        steps.ask(|store| store.inspect(id(0))).unwrap();
        std::thread::yield_now();
    }
    let generation = T0 as u64;
    assert_eq!(steps.register(100, 100), Err(KeyStoreFailure::Full));
    let renewal = RenewLease { owner: OwnerId([0; 32]), generation, lease_ms: LEASE_MS };
    assert_eq!(steps.ask(|store| store.renew(id(0), renewal)), Err(KeyStoreFailure::Full));
    assert_eq!(steps.complete(0, 0, generation, &answer(0, 100)), Err(KeyStoreFailure::Full), "its bytes find no room");
    let store = steps.store.front().clone();
    let mut ended: Vec<_> = (0..CLAIMS)
        .map(|key| {
            let command = CompleteKey { owner: OwnerId([key; 32]), generation, answer: AnswerBytes::tombstone(200, 1 << 20) };
            store.complete(id(key), command, AnswerBytes::default(), Levels::NONE)
        })
        .collect();
    while steps.store.decide() && steps.store.write() {}
    for told in &mut ended {
        assert_eq!(look(told).expect("there is room for it").unwrap().reply, Ok(Completion::Kept));
    }
    storage.set_capacity(None);
}

/// A file of answers goes once nothing in it is remembered, and its bytes count no more.
#[test]
fn answers_are_bounded_by_their_files_and_files_go_with_their_last_answer() {
    let storage = MemoryStorage::new(3);
    let options = KeyStoreOptions { answers_bytes_max: 16_384, ..options() };
    let mut steps = Steps::open(&storage, T0, &options).unwrap();
    let files = || storage.list().unwrap().into_iter().filter(|name| is_answers(name)).count();
    for round in 0..3_i64 {
        steps.clock.set(T0 + round * RETENTION_MS);
        let mut kept = 0;
        let generation = (T0 + round * RETENTION_MS) as u64;
        for key in 0..8 {
            if steps.ask(|store| store.register(id(key), register(key), Levels::NONE)).is_err() {
                break;
            }
            match steps.complete(key, key, generation, &answer(key, 3_000)) {
                Ok(told) => kept += usize::from(told.reply == Ok(Completion::Kept)),
                Err(failure) => assert_eq!(failure, KeyStoreFailure::Full),
            }
        }
        assert_eq!(kept, 4, "as many as fit, in round {round}");
        let status = steps.store.front().status();
        assert!(status.answer_bytes <= status.answer_bytes_max && status.answer_bytes >= 4 * 3_000, "{status:?}");
        assert!(files() >= 1);
        steps.clock.set(T0 + (round + 1) * RETENTION_MS);
        while steps.ask(|store| store.sweep(16)).unwrap().freed > 0 {}
        while steps.store.read() {}
        assert_eq!((steps.store.front().status().answer_bytes, files()), (0, 0), "round {round}");
    }
}

#[test]
fn what_is_held_is_counted_alike_before_and_after_a_restart() {
    let storage = MemoryStorage::new(6);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    for key in 0..5 {
        let lease = steps.claim(key, key);
        steps.complete(key, key, lease.generation, &answer(key, 700)).unwrap().reply.unwrap();
    }
    steps.claim(9, 9);
    let before = steps.store.front().status();
    assert!(before.records == 6 && before.answer_bytes >= 5 * 702, "{before:?}");
    steps.stop();
    let steps = Steps::open(&storage, T0, &options()).unwrap();
    assert_eq!(steps.store.front().status(), before);
}

/// One answer that is kept for long does not keep the room of those beside it that are kept for a short time.
#[test]
fn answers_of_long_and_of_short_retention_lie_in_files_of_their_own() {
    let storage = MemoryStorage::new(7);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let names = || storage.list().unwrap().into_iter().filter(|name| is_answers(name)).count();
    for (key, retention_ms) in [(1, RETENTION_MS), (2, 100 * RETENTION_MS), (3, RETENTION_MS + 1)] {
        let command = RegisterKey { retention_ms, ..register(key) };
        steps.ask(|store| store.register(id(key), command, Levels::NONE)).unwrap().reply.unwrap();
        steps.complete(key, key, T0 as u64, &answer(key, 100)).unwrap().reply.unwrap();
    }
    assert_eq!(names(), 2);
    steps.clock.set(T0 + RETENTION_MS + 1);
    assert_eq!(steps.ask(|store| store.sweep(10)).unwrap().freed, 2);
    while steps.store.read() {}
    assert_eq!(names(), 1);
    assert_eq!(steps.replayed(2).bytes, answer(2, 100));
}

/// After a failed sync nobody is told what nobody knows, and nothing more is decided; what was safe before is still told.
#[test]
fn a_failed_sync_poisons_and_what_was_safe_is_still_told() {
    let storage = MemoryStorage::new(4);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    let lease = steps.claim(1, 1);
    let bytes = answer(1, 500);
    steps.complete(1, 1, lease.generation, &bytes).unwrap().reply.unwrap();
    storage.fail_after(1);
    assert_eq!(steps.register(2, 2), Err(KeyStoreFailure::OutcomeUnknown), "it may be on the disk");
    assert_eq!(steps.store.front().health(), Health::Poisoned);
    assert_eq!(steps.register(2, 3), Err(KeyStoreFailure::Unavailable), "nobody knows whether somebody has it");
    assert_eq!(steps.register(3, 3), Err(KeyStoreFailure::Unavailable), "nothing more is decided");
    assert_eq!(steps.replayed(1).bytes, bytes);
    storage.power_loss();
    drop(steps);
    let mut steps = Steps::open(&storage, T0, &options()).unwrap();
    assert_eq!(steps.replayed(1).bytes, bytes);
    steps.claim(3, 3);
}

/// The level `decided` answers before the sync, and says so; who asks for more waits for more.
#[test]
fn an_answer_at_decided_says_that_it_is_not_safe_yet() {
    use nevertwice_api::Level;

    let storage = MemoryStorage::new(5);
    let options = KeyStoreOptions { level: Level::Decided, ..options() };
    let mut steps = Steps::open(&storage, T0, &options).unwrap();
    let store = steps.store.front().clone();
    let mut early = store.register(id(1), register(1), Levels::NONE);
    let mut safe = store.register(id(1), register(2), Levels::reached(Level::Journaled));
    assert!(steps.store.decide());
    let told = look(&mut early).expect("it does not wait").unwrap();
    assert!(told.reply.is_ok() && told.levels == Levels::reached(Level::Decided), "{told:?}");
    assert_eq!(look(&mut safe), None, "a refusal that rests on what is not safe waits, if asked to");
    assert!(steps.store.write());
    let told = look(&mut safe).expect("it is safe now").unwrap();
    assert!(told.reply.is_err() && told.levels == Levels::reached(Level::Journaled), "{told:?}");
}

#[test]
fn what_a_principal_holds_is_known_after_a_restart_from_snapshot_and_journal() {
    let (ann, bob) = (PrincipalMark(9), PrincipalMark(10));
    let of_one = ShareBounds { records_max: 2, answers_bytes_max: 1_000 };
    let options = KeyStoreOptions { of_one, ..options() };
    let storage = MemoryStorage::new(1);
    let claim = |steps: &mut Steps, principal, key| {
        let told = steps.ask(|store| store.register_for(principal, id(key), register(key), Levels::NONE));
        told.map(|told| match told.reply {
            Ok(Registered { registration: Registration::Fresh(lease), .. }) => lease.generation,
            other => panic!("{other:?}"),
        })
    };
    let mut steps = Steps::open(&storage, T0, &options).unwrap();
    let first = claim(&mut steps, ann, 1).unwrap();
    steps.complete(1, 1, first, &answer(1, 600)).unwrap().reply.unwrap();
    let mut made = steps.store.front().snapshot();
    assert!(steps.store.snapshot());
    look(&mut made).unwrap().unwrap();
    let second = claim(&mut steps, ann, 2).unwrap();
    drop(steps);
    storage.kill();
    let mut steps = Steps::open(&storage, T0, &options).unwrap();
    assert!(steps.report.snapshot.is_some() && steps.report.changes > 0, "{:?}", steps.report);
    assert_eq!(claim(&mut steps, ann, 3), Err(KeyStoreFailure::PrincipalFull));
    assert_eq!(steps.complete(2, 2, second, &answer(2, 400)).map(|told| told.reply), Err(KeyStoreFailure::PrincipalFull));
    claim(&mut steps, bob, 4).unwrap();
    steps.stop();
}
