//! The memory store: the suite of all stores, and its own bounds.

use std::sync::Arc;

use nevertwice_api::KeyStore;
use nevertwice_idempotency::{MemoryBounds, MemoryStore};
use nevertwice_testkit::key_store::{self, Subject};
use nevertwice_testkit::key_store_principals;

use crate::clock::SetClock;

struct Memory(Arc<MemoryStore>, Arc<SetClock>);

impl Subject for Memory {
    fn store(&self) -> Arc<dyn KeyStore> {
        self.0.clone()
    }

    fn set_now(&self, at_ms: i64) {
        self.1.set(at_ms);
    }
}

fn memory(records_max: u64, answers_bytes_max: u64) -> Memory {
    let clock = Arc::new(SetClock::default());
    let bounds = MemoryBounds { records_max, answers_bytes_max, answer_bytes_max: 4_096, ..MemoryBounds::default() };
    Memory(Arc::new(MemoryStore::with_clock(bounds, clock.clone())), clock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_is_a_key_store() {
    let cases = key_store::run(&mut memory).await;
    assert!(cases > 4_000, "{cases} cases");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_principal_does_not_fill_the_memory_store() {
    let cases = key_store_principals::run(&mut || {
        let clock = Arc::new(SetClock::default());
        let of_one = key_store_principals::OF_ONE;
        let bounds = MemoryBounds { records_max: 100, answers_bytes_max: 1 << 20, of_one, ..MemoryBounds::default() };
        Memory(Arc::new(MemoryStore::with_clock(bounds, clock.clone())), clock)
    })
    .await;
    assert_eq!(cases, 45);
}
