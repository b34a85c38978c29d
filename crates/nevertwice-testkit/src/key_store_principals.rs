//! What stores of keys promise that bound each principal, beside the suite of all stores.

use std::sync::Arc;

use bytes::Bytes;
use nevertwice_api::{AnswerBytes, KeyStore, KeyStoreFailure, Levels, PrincipalMark, ShareBounds};
use nevertwice_core::keys::{CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration, ReleaseKey};

use crate::conformance::count;
use crate::key_store::Subject;

const T0: i64 = 1_790_000_000_000;
const RETENTION_MS: i64 = 61_000;
const ANN: PrincipalMark = PrincipalMark(7);
const BOB: PrincipalMark = PrincipalMark(8);

/// The bounds of one principal in the store that the suite asks for.
pub const OF_ONE: ShareBounds = ShareBounds { records_max: 4, answers_bytes_max: 1_000 };

fn owner(number: u8) -> OwnerId {
    OwnerId([number; 32])
}

/// Claims a key for a principal; its generation.
async fn claim(store: &dyn KeyStore, principal: PrincipalMark, key: u8) -> Result<u64, KeyStoreFailure> {
    let (owner, lapse) = (owner(key), LapsePolicy::Refuse);
    let command = RegisterKey { fingerprint: [7; 32], owner, lease_ms: 1_000, retention_ms: RETENTION_MS, expires_at: None, lapse };
    let told = store.register_for(principal, KeyId([key; 32]), command, Levels::NONE).await?;
    match told.reply.expect("nobody else has it").registration {
        Registration::Fresh(lease) | Registration::Resumed(lease) => Ok(lease.generation),
        other => panic!("{other:?}"),
    }
}

async fn answer(store: &dyn KeyStore, key: u8, generation: u64, length: usize) -> Result<(), KeyStoreFailure> {
    let bytes = AnswerBytes { head: Bytes::from_static(&[0, 0]), body: vec![key; length - 2].into() };
    let command = CompleteKey { owner: owner(key), generation, answer: bytes.describe(200) };
    store.complete(KeyId([key; 32]), command, bytes, Levels::NONE).await?.reply.expect("it is the owner's");
    Ok(())
}

/// Runs the suite; `fresh` makes an empty store that holds 100 records and 1 MiB of answers, and of each principal [`OF_ONE`].
pub async fn run<S: Subject>(fresh: &mut impl FnMut() -> S) -> u64 {
    let mut cases = one_principal_at_its_bound_leaves_room_for_others(&fresh()).await;
    cases += bytes_of_one_principal_are_bounded(&fresh()).await;
    let name = fresh().store().name();
    count(&format!("keys-principals-{name}"), cases);
    cases
}

async fn one_principal_at_its_bound_leaves_room_for_others<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store: Arc<dyn KeyStore> = subject.store();
    for key in 0..4 {
        claim(&*store, ANN, key).await.expect("there is room");
    }
    assert_eq!(claim(&*store, ANN, 4).await, Err(KeyStoreFailure::PrincipalFull));
    claim(&*store, ANN, 0).await.expect("what it has it may ask for again");
    for key in 10..14 {
        claim(&*store, BOB, key).await.expect("another has room of his own");
    }
    for key in 20..40 {
        claim(&*store, PrincipalMark::NOBODY, key).await.expect("nobody has no bound of his own");
    }
    // A key that is given back is still remembered: its record is still there.
    let generation = claim(&*store, ANN, 1).await.expect("it is its own");
    let release = ReleaseKey { owner: owner(1), generation };
    store.release(KeyId([1; 32]), release, Levels::NONE).await.expect("the store answers").reply.expect("it is the owner's");
    assert_eq!(claim(&*store, ANN, 4).await, Err(KeyStoreFailure::PrincipalFull));
    claim(&*store, ANN, 1).await.expect("a free key takes no more room than it has");
    subject.set_now(T0 + RETENTION_MS);
    for _ in 0..1_000 {
        store.sweep(50).await.expect("the store answers");
    }
    for key in 50..54 {
        claim(&*store, ANN, key).await.expect("what was forgotten takes no room");
    }
    assert_eq!(claim(&*store, ANN, 54).await, Err(KeyStoreFailure::PrincipalFull));
    37
}

async fn bytes_of_one_principal_are_bounded<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store: Arc<dyn KeyStore> = subject.store();
    let [first, second, other] = [(ANN, 1), (ANN, 2), (BOB, 3)].map(|(principal, key)| claim(&*store, principal, key));
    let (first, second, other) =
        (first.await.expect("there is room"), second.await.expect("there is room"), other.await.expect("there is room"));
    answer(&*store, 1, first, 600).await.expect("there is room");
    assert_eq!(answer(&*store, 2, second, 401).await, Err(KeyStoreFailure::PrincipalFull));
    answer(&*store, 3, other, 600).await.expect("another has room of his own");
    answer(&*store, 2, second, 400).await.expect("it fits to the byte");
    assert_eq!(claim(&*store, ANN, 5).await, Err(KeyStoreFailure::PrincipalFull), "its bytes are used up");
    claim(&*store, BOB, 6).await.expect("another has room of his own");
    subject.set_now(T0 + RETENTION_MS);
    for _ in 0..1_000 {
        store.sweep(50).await.expect("the store answers");
    }
    claim(&*store, ANN, 5).await.expect("what was forgotten takes no room");
    8
}
