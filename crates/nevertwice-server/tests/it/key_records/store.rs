//! Stores that are in trouble, and servers that have no say.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, Swept};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use nevertwice_idempotency::MemoryStore;
use nevertwice_server::KeyParts;
use serde_json::json;

use super::guard::{call, completion, created, owner, registration};
use crate::house::{House, Plan, eventually};
use crate::standby::Annex;

const FINE: u8 = 0;
const DOWN: u8 = 1;
const LOST: u8 = 2;
const NEWER: u8 = 3;
/// Only sweeps fail.
const UNSWEPT: u8 = 4;
/// Whoever has the key completes it just before somebody else releases it.
const RIVAL: u8 = 5;

/// A store in memory that does what it is told to.
struct Troubled {
    store: MemoryStore,
    trouble: Arc<AtomicU8>,
}

impl Troubled {
    fn ask<T: Send + 'static>(
        &self,
        asked: impl FnOnce(&MemoryStore) -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
    ) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
        let failure = match self.trouble.load(Relaxed) {
            DOWN => KeyStoreFailure::Unavailable,
            NEWER => KeyStoreFailure::TooNew,
            LOST => {
                // It is done, and the reply is lost on its way.
                drop(asked(&self.store));
                KeyStoreFailure::OutcomeUnknown
            }
            _ => return asked(&self.store),
        };
        Box::pin(std::future::ready(Err(failure)))
    }
}

impl KeyStore for Troubled {
    fn name(&self) -> &'static str {
        "troubled"
    }
    fn offers(&self) -> Levels {
        self.store.offers()
    }
    fn outlives_process(&self) -> bool {
        true
    }
    fn answer_bytes_max(&self) -> u64 {
        self.store.answer_bytes_max()
    }
    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.ask(|store| store.register(id, command, levels))
    }
    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        self.ask(|store| store.complete(id, command, bytes, levels))
    }
    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        self.ask(|store| store.renew(id, command))
    }
    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        if self.trouble.load(Relaxed) == RIVAL {
            let complete = CompleteKey { owner: command.owner, generation: command.generation, answer: AnswerBytes::tombstone(200, 0) };
            drop(self.store.complete(id, complete, AnswerBytes::default(), levels));
        }
        self.ask(|store| store.release(id, command, levels))
    }
    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        self.ask(|store| store.inspect(id))
    }
    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        match self.trouble.load(Relaxed) {
            UNSWEPT => Box::pin(std::future::ready(Err(KeyStoreFailure::Unavailable))),
            _ => self.store.sweep(records_max),
        }
    }
    fn status(&self) -> KeyStoreStatus {
        self.store.status()
    }
}

async fn troubled(change: impl FnOnce(&mut Plan)) -> (House, Arc<AtomicU8>) {
    let trouble = Arc::new(AtomicU8::new(FINE));
    let store = Arc::new(Troubled { store: MemoryStore::default(), trouble: Arc::clone(&trouble) });
    let mut plan = Plan { keys: Some(KeyParts { store, secret: [3; 32], previous_secret: None, copied: None }), ..Plan::default() };
    change(&mut plan);
    (House::with(plan).await, trouble)
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_told_and_claims_nothing() {
    let (house, trouble) = troubled(|_| ()).await;
    let claim = json!({"key": "k", "owner": owner(1), "generation": 1});
    let mut failures = 0.0;
    for (kind, code) in [(DOWN, "key_store_unavailable"), (NEWER, "key_store_unavailable"), (LOST, "outcome_unknown")] {
        trouble.store(kind, Relaxed);
        for (verb, body) in [
            ("register", registration(1)),
            ("complete", completion(1, &json!(1), created())),
            ("renew", claim.clone()),
            ("release", claim.clone()),
        ] {
            let answer = house.ask_keys(verb, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (503, code), "{verb}");
            failures += 1.0;
        }
        assert_eq!(house.inspect("key=k").await.code(), code);
        failures += 1.0;
        assert_eq!(house.metric("nevertwice_key_store_failures_total").await, failures);
    }
    // What was asked for while replies were lost has happened, and its owner finds out.
    trouble.store(FINE, Relaxed);
    assert_eq!(house.on_keys("register", registration(1)).await["registration"], "resumed");
    assert_eq!(house.ask_keys("register", registration(2)).await.code(), "key_in_progress");
}

#[tokio::test]
async fn a_sweep_that_fails_is_no_whole_sweep_and_leaves_the_rest_to_be_done() {
    let (house, trouble) = troubled(|plan| plan.config.sweep_ms = 10).await;
    trouble.store(UNSWEPT, Relaxed);
    eventually("the steward fails", async || (house.metric("nevertwice_steward_failures_total").await > 0.0).then_some(())).await;
    assert!(house.metric("nevertwice_key_store_failures_total").await > 0.0);
    let house = house.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    house.later(600_000);
    let closing = async || Some(house.booking(&booked["result"]["booking"]).await).filter(|booking| booking["state"] == "closing");
    eventually("holds end all the same", closing).await;
}

#[tokio::test]
async fn a_standby_claims_no_keys() {
    let house = House::open().await;
    let annex = Annex::of(&house).await;
    let claim = json!({"key": "k", "owner": owner(1), "generation": 1});
    for (verb, body) in
        [("register", registration(1)), ("complete", completion(1, &json!(1), created())), ("renew", claim.clone()), ("release", claim)]
    {
        assert_eq!(annex.send(call(verb, &body)).await.code(), "standby_follows", "{verb}");
    }
    let shown = annex.send(crate::client::Ask::get("/v1/keys/inspect?key=k")).await;
    assert_eq!(shown.code(), "standby_follows");
    annex.close().await;
}

#[tokio::test]
async fn a_command_of_an_operator_that_a_rival_overtook_is_in_the_audit_as_refused() {
    let (house, trouble) = troubled(|_| ()).await;
    let claimed = house.ask_keys("register", registration(1)).await.json();
    trouble.store(RIVAL, Relaxed);
    let release = json!({"key": "k", "generation": claimed["generation"]});
    assert_eq!(house.ask_keys("release", release).await.code(), "key_completed");
    let page = house.get("/v1/audit").await.json();
    let facts = page["facts"].as_array().expect("a page has facts");
    assert_eq!(facts.len(), 2, "{page}");
    assert!(facts.iter().all(|fact| fact["command"] == "release_key" && fact["before"]["state"] == "in_progress"), "{page}");
    assert_eq!((&facts[0]["after"]["state"], &facts[1]["after"]["refused"]), (&json!("free"), &json!(true)), "{page}");
}
