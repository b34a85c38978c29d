//! Secrets: what a store sees, and how they change without forgetting a key.

use nevertwice_api::KeyStore;
use nevertwice_idempotency::{Keys, KeysError, Policy, Routes, Secrets};
use std::sync::Arc;
use std::time::Duration;

use crate::house::{Handled, House, memory, respond};

fn handler(_: usize, _: http::Request<axum::body::Body>) -> Handled {
    Box::pin(async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        respond(201, "charged")
    })
}

const OLD: [u8; 32] = [1; 32];
const NEW: [u8; 32] = [2; 32];

#[tokio::test(start_paused = true)]
async fn a_change_of_the_secret_forgets_no_key() {
    let store: Arc<dyn KeyStore> = memory();
    let with = |secrets| House::with_store(store.clone(), secrets, Policy::ietf(), handler);
    let (before, during, after) = (with(Secrets::new(OLD)), with(Secrets::changing(NEW, OLD)), with(Secrets::new(NEW)));
    before.post("a", "{}").await;
    assert!(during.post("a", "{}").await.is_replay(), "a key of before is known");
    during.post("b", "{}").await;
    assert!(before.post("b", "{}").await.is_replay(), "a process that is not yet changed knows it, too");
    assert!(after.post("b", "{}").await.is_replay());
    assert_eq!((before.runs(), during.runs(), after.runs()), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn during_a_change_two_processes_never_both_run() {
    for turned in [false, true] {
        let store: Arc<dyn KeyStore> = memory();
        let with = |secrets| House::with_store(store.clone(), secrets, Policy::ietf(), handler);
        let mut houses = [with(Secrets::new(OLD)), with(Secrets::changing(NEW, OLD))];
        if turned {
            houses.reverse();
        }
        let first = houses[0].spawn("k", "{}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(houses[1].post("k", "{}").await.code(), "key_in_progress");
        first.await.expect("it answers");
        assert!(houses[1].post("k", "{}").await.is_replay());
        assert_eq!(houses[1].runs(), 0);
    }
}

#[test]
fn secrets_are_not_printed() {
    assert_eq!(format!("{:?}", Secrets::changing(NEW, OLD)), "Secrets(..)");
}

#[test]
fn nonsense_is_refused_at_start_and_doubts_are_said() {
    let keys = |policy| Keys::new(memory(), None, Routes::new().guard(&[http::Method::POST], "/a/{id}", policy));
    let start = |policy| keys(policy).map(|keys| keys.warnings());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let _entered = runtime.enter();
    for policy in [
        Policy { lease_ms: 86_400_000, ..Policy::ietf() },
        Policy { retention_ms: 1, ..Policy::ietf() },
        Policy { lapse: nevertwice_core::keys::LapsePolicy::Ask, ..Policy::ietf() },
        Policy { mismatch_status: 200, ..Policy::ietf() },
    ] {
        assert!(matches!(start(policy), Err(KeysError::Policy { .. })));
    }
    let levels = nevertwice_api::Levels::reached(nevertwice_api::Level::Journaled);
    assert!(matches!(start(Policy { levels, ..Policy::ietf() }), Err(KeysError::LevelUnavailable { .. })));
    let warnings = start(Policy { retry_budget_ms: Some(30_000), ..Policy::ietf() }).expect("it is allowed");
    assert!(warnings.iter().any(|warning| warning.contains("60000 ms")), "{warnings:?}");
}
