//! Answers that wait for the ledger are those of the core, and the ledger's entries make the same states.

use std::sync::Arc;

use nevertwice_api::{Backend, BoxFuture, NoObserver};
use nevertwice_ledger::{Database, LedgerWriter, Ledgered, LedgeredOptions, Now, WriterOptions, rebuild};
use nevertwice_local::clock::Clock as _;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::conformance::{Plan, Subject, run};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::Scratch;

struct Subjected {
    name: &'static str,
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    database: Database,
    running: Option<Running>,
    _scratch: Scratch,
}

struct Running {
    local: Arc<LocalBackend>,
    ledgered: Ledgered,
    stop: watch::Sender<bool>,
    writer: JoinHandle<()>,
}

impl Subjected {
    async fn new(name: &'static str, scratch: Scratch) -> Subjected {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let database = scratch.open().await;
        let mut subject = Subjected { name, folder, clock: Arc::default(), database, running: None, _scratch: scratch };
        subject.start();
        subject
    }

    fn start(&mut self) {
        let storage = Arc::new(FileStorage::create(self.folder.path()).expect("a temporary folder can be used"));
        let options = LocalOptions { clock_ahead_ms_max: i64::MAX, snapshot_bytes: 64 << 10, ..LocalOptions::default() };
        let (local, _) = LocalBackend::open(storage, self.clock.clone(), Arc::new(NoObserver), &options).expect("it opens");
        let clock = self.clock.clone();
        let now: Now = Arc::new(move || clock.now_ms());
        let options = WriterOptions { is_awaited: true, ..WriterOptions::default() };
        let writer = LedgerWriter::new(self.database.clone(), Arc::new(local.entries()), now.clone(), options);
        let local = Arc::new(local);
        // The workload's clock leaps, so that a lag means nothing here.
        let options = LedgeredOptions { is_default: true, wait_ms: 60_000, lag_ms_max: u64::MAX };
        let ledgered = Ledgered::new(local.clone(), writer.watermarks(), now, options);
        let (stop, stopped) = watch::channel(false);
        self.running = Some(Running { local, ledgered, stop, writer: tokio::spawn(writer.run(stopped)) });
    }

    async fn stop(&mut self) {
        let Running { local, ledgered, stop, writer } = self.running.take().expect("it runs");
        stop.send_replace(true);
        writer.await.expect("it does not panic");
        drop(ledgered);
        local.stop();
    }

    fn local(&self) -> &LocalBackend {
        &self.running.as_ref().expect("it runs").local
    }

    /// Every shard, made of the ledger's entries alone, is what the backend holds.
    async fn compare_with_ledger(&self) {
        for shard in self.local().shards().await.expect("they are told") {
            let (position, hash) = self.local().state_hash(shard.clone()).await.expect("it is told");
            let state = rebuild(&self.database, &shard, (21, 22), |_| {}).await.expect("it can be rebuilt");
            assert_eq!((state.position(), state.state_hash()), (position, hash), "{}: {shard}", self.name);
        }
    }
}

impl Subject for Subjected {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backend(&self) -> &dyn Backend {
        &self.running.as_ref().expect("it runs").ledgered
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }

    fn epoch(&self) -> u32 {
        self.local().epoch()
    }

    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.compare_with_ledger().await;
            self.stop().await;
            self.start();
        })
    }
}

async fn conform(name: &'static str, scratch: fn() -> Scratch) {
    let plan = Plan { seeds: 0..3, steps: 1_000, restart_every: 300 };
    let cases = run(&plan, async |_| Subjected::new(name, scratch()).await).await;
    assert_eq!(cases, 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_sqlite_it_decides_as_the_core_does() {
    conform("ledgered-sqlite", Scratch::sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_postgres_it_decides_as_the_core_does() {
    conform("ledgered-postgres", Scratch::postgres).await;
}
