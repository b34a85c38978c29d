//! The local backend decides as the core does, step by step, through restarts and snapshots.

use std::sync::Arc;

use nevertwice_api::{Backend, BoxFuture, NoObserver};
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::conformance::{Plan, Subject, run};

struct Local {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    backend: Option<LocalBackend>,
    starts: u32,
}

impl Local {
    fn start(&mut self) {
        let storage = Arc::new(FileStorage::create(self.folder.path()).expect("a temporary folder can be used"));
        // The workload's clock leaps back and forth; what a start says to that has a test of its own.
        let options = LocalOptions { clock_ahead_ms_max: i64::MAX, snapshot_bytes: 64 << 10, ..LocalOptions::default() };
        let opened = LocalBackend::open(storage, self.clock.clone(), Arc::new(NoObserver), &options);
        self.backend = Some(opened.expect("the folder can be opened").0);
        self.starts += 1;
    }
}

impl Subject for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn backend(&self) -> &dyn Backend {
        self.backend.as_ref().expect("it runs")
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }

    fn epoch(&self) -> u32 {
        self.backend.as_ref().expect("it runs").epoch()
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let backend = self.backend.take().expect("it runs");
            if self.starts.is_multiple_of(2) {
                backend.snapshot().await.expect("a snapshot can be made");
            }
            drop(backend);
            self.start();
            assert_eq!(self.epoch(), self.starts, "every start is an adoption");
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn local_decides_as_the_core_does() {
    let plan = Plan { seeds: 0..8, steps: 2_500, restart_every: 400 };
    let cases = run(&plan, async |_| {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut local = Local { folder, clock: Arc::default(), backend: None, starts: 0 };
        local.start();
        local
    })
    .await;
    assert_eq!(cases, 20_000);
}
