//! The machine: its disk, its clock, and the one process that may run on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nevertwice_api::Backend;
use nevertwice_local::clock::Clock as _;
use nevertwice_local::error::OpenError;
use nevertwice_local::storage::Storage;
use nevertwice_local::{RestoreReport, SteppedBackend};
use nevertwice_server::config::Secret;
use nevertwice_server::{Config, InProcess, Metrics, Parts, Sweeper};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

use crate::chance::SeededChance;
use crate::gateway::{Gateway, Line};
use crate::plan::{Plan, START_MS};
use crate::record::{Recorder, Shared};

/// The keys of the API.
pub(crate) const OPERATOR_KEY: &str = "operator-key-of-the-simulator";
pub(crate) const SERVICE_KEY: &str = "service-key-of-the-simulator";

/// The machine.
pub(crate) struct Machine {
    pub(crate) storage: MemoryStorage,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) gateway: Gateway,
    chance: Arc<SeededChance>,
    record: Shared,
    config: Config,
    plan: Plan,
    /// How many lives the process has had.
    pub(crate) life: u32,
    pub(crate) running: Option<Running>,
    /// A process that has stopped, whose last answers are on their way.
    remains: Option<Remains>,
}

/// What is left of a process between its stop and its end.
struct Remains {
    _recorder: Arc<Recorder>,
    _api: InProcess,
    is_alive: Arc<AtomicBool>,
}

/// A life of the process.
pub(crate) struct Running {
    pub(crate) backend: SteppedBackend,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) api: InProcess,
    /// The steward; absent while it sweeps.
    pub(crate) sweeper: Option<Sweeper>,
    /// Whether requests are taken: not any more once it is about to stop.
    pub(crate) is_open: bool,
    is_alive: Arc<AtomicBool>,
}

impl Machine {
    pub(crate) fn new(plan: &Plan, record: Shared) -> Self {
        let hold_ms = plan.desk.as_ref().map_or(plan.workload.hold_ms, |desk| desk.hold_ms);
        let config = Config {
            operator_key: Some(Secret::new(OPERATOR_KEY)),
            service_key: Some(Secret::new(SERVICE_KEY)),
            retention_ms: plan.workload.retention_ms,
            hold_ms,
            sweep_ms: u64::try_from(hold_ms / 4).unwrap_or(10).max(10),
            closing_grace_ms: plan.server.grace_ms,
            answer_deadline_ms: plan.server.answer_deadline_ms,
            requests_max: plan.server.requests_max,
            ..Config::default()
        };
        Self {
            storage: MemoryStorage::new(plan.seed ^ 0xd15c),
            clock: Arc::new(ManualClock::new(START_MS)),
            gateway: Gateway::new(plan.seed ^ 0x9a7e, plan.gateway.clone()),
            chance: Arc::new(SeededChance::new(plan.seed ^ 0xc4a9ce)),
            record,
            config,
            plan: plan.clone(),
            life: 0,
            running: None,
            remains: None,
        }
    }

    /// Starts the process: recovers what is on the disk, and opens the API.
    pub(crate) fn start(&mut self) -> Result<RestoreReport, OpenError> {
        let storage = Arc::new(self.storage.clone()) as Arc<dyn Storage>;
        let metrics = Arc::new(Metrics::new());
        let (clock, chance) = (Arc::clone(&self.clock), Arc::clone(&self.chance));
        let (backend, report) = SteppedBackend::open(storage, clock, chance, Arc::clone(&metrics) as _, &self.plan.backend)?;
        self.life += 1;
        let is_alive = Arc::new(AtomicBool::new(true));
        let recorder =
            Arc::new(Recorder { backend: Arc::clone(backend.front()), record: self.record.clone(), is_alive: Arc::clone(&is_alive) });
        let mut parts = Parts::new(Arc::clone(&recorder) as Arc<dyn Backend>, [7; 32]);
        parts.metrics = metrics;
        parts.clock = Arc::clone(&self.clock) as _;
        parts.gateway = Some(Arc::new(Line { gateway: self.gateway.clone(), is_alive: Arc::clone(&is_alive) }));
        let api = InProcess::new(&self.config, parts).expect("the configuration is one that a server takes");
        let sweeper = Some(api.sweeper());
        self.running = Some(Running { backend, recorder, api, sweeper, is_open: true, is_alive });
        Ok(report)
    }

    /// The process stops in order: what came before is answered, and the journal is sealed.
    pub(crate) fn stop(&mut self) {
        let Some(Running { backend, recorder, api, is_alive, .. }) = self.running.take() else { return };
        backend.stop();
        self.remains = Some(Remains { _recorder: recorder, _api: api, is_alive });
    }

    /// Whether a process has stopped and is not gone yet.
    pub(crate) const fn has_remains(&self) -> bool {
        self.remains.is_some()
    }

    /// The process is gone, and what it was about to do is not done any more.
    pub(crate) fn end(&mut self) {
        let lives = self.running.as_ref().map(|running| &running.is_alive);
        let lives = lives.into_iter().chain(self.remains.as_ref().map(|remains| &remains.is_alive));
        lives.for_each(|is_alive| is_alive.store(false, Ordering::Relaxed));
        self.running = None;
        self.remains = None;
    }

    /// What the clock shows.
    pub(crate) fn clock_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
