//! The suite that every backend passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_api::{Backend, BoxFuture, NoObserver};
use nevertwice_local::storage::{FileStorage, Storage};
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::conformance::{Plan, Subject, run};
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{StillClock, small_options};

struct Local<S> {
    storage: S,
    clock: Arc<StillClock>,
    options: LocalOptions,
    backend: Option<LocalBackend>,
}

impl<S: Storage + Clone> Local<S> {
    fn start(storage: S, options: LocalOptions) -> Local<S> {
        let mut local = Local { storage, clock: Arc::new(StillClock(AtomicI64::new(0))), options, backend: None };
        local.open();
        local
    }

    fn open(&mut self) {
        self.backend = None;
        let clock = Arc::clone(&self.clock);
        let opened = LocalBackend::open(Arc::new(self.storage.clone()), clock, Arc::new(NoObserver), &self.options);
        self.backend = Some(opened.unwrap().0);
    }
}

impl<S: Storage + Clone> Subject for Local<S> {
    fn name(&self) -> &'static str {
        "local"
    }

    fn backend(&self) -> &dyn Backend {
        self.backend.as_ref().unwrap()
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.0.store(at_ms, Ordering::Relaxed);
    }

    fn epoch(&self) -> u32 {
        1
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A snapshot now and then, so that the next start begins with one.
            if let Some(backend) = &self.backend {
                backend.snapshot().await.unwrap();
            }
            self.open();
        })
    }
}

#[tokio::test]
async fn conformance_in_memory() {
    // The workload's clock steps back and forth, and a restart must not refuse for that.
    let options = LocalOptions { clock_ahead_ms_max: i64::MAX, ..small_options() };
    let plan = Plan { seeds: 0..4, steps: 400, restart_every: 57 };
    let cases = run(&plan, async |seed| Local::start(MemoryStorage::new(seed), options.clone())).await;
    assert_eq!(cases, 1_600);
}

#[tokio::test]
async fn conformance_on_disk() {
    let options = LocalOptions { clock_ahead_ms_max: i64::MAX, ..small_options() };
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { seeds: 4..6, steps: 300, restart_every: 100 };
    let cases = run(&plan, async |seed| {
        let storage = FileStorage::create(folder.path().join(seed.to_string())).unwrap();
        Local::start(storage, options.clone())
    });
    assert_eq!(cases.await, 600);
}
