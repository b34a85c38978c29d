//! What every handler needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nevertwice_api::person::SaleKey;
use nevertwice_api::{Answer, Backend, LedgerWatch, Level, Levels, Request};
use nevertwice_core::{Command, Name, Position, Query, ShardId, View};
use nevertwice_local::clock::Clock;
use nevertwice_local::feed::JournalHost;
use nevertwice_local::standby::Standby;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::access::Door;
use crate::attempts::Attempts;
use crate::config::{Config, Networks};
use crate::convert;
use crate::error::StartError;
use crate::honeypot::Feigned;
use crate::hosts::Hosts;
use crate::key_records::KeyRecords;
use crate::limits::Limiter;
use crate::machine::{Machine, ThisMachine};
use crate::metrics::Metrics;
use crate::payment::{PaymentGateway, Sandbox};
use crate::refusal::Refusal;
use crate::router::Router;
use crate::telemetry::{self, Recorder};
use crate::trace::Steps;

/// How many requests read files of the journal at a time: they take a core each.
const JOURNAL_READS_MAX: usize = 2;

/// The bounds of requests.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) body_bytes_max: usize,
    /// Of a call that brings an answer to be kept with a key.
    pub(crate) answer_call_bytes_max: usize,
    pub(crate) batch_lines_max: usize,
    pub(crate) batch_line_bytes_max: usize,
    pub(crate) headers_bytes_max: usize,
    pub(crate) headers_max: usize,
    pub(crate) request_read: Duration,
    pub(crate) answer_deadline: Duration,
}

/// What every handler needs.
pub(crate) struct App {
    pub(crate) backend: Arc<dyn Backend>,
    /// Where the journal is, if the backend has one that can be copied.
    pub(crate) journal: Option<Arc<dyn JournalHost>>,
    /// The records of keys.
    pub(crate) keys: KeyRecords,
    /// What this server is as long as it is not promoted.
    pub(crate) standby: Option<Arc<Standby>>,
    /// What tells how the ledger follows, if there is one.
    pub(crate) ledger: Option<Arc<dyn LedgerWatch>>,
    /// How many read its files at a time.
    pub(crate) journal_reads: Arc<Semaphore>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) gateway: Arc<dyn PaymentGateway>,
    /// The sandbox, if it is the gateway: its pages confirm payments on nobody's word but their own.
    pub(crate) sandbox: Option<Arc<Sandbox>>,
    pub(crate) door: Door,
    pub(crate) trusted_proxies: Networks,
    pub(crate) hosts: Hosts,
    pub(crate) limits: Limits,
    pub(crate) retention_ms: i64,
    pub(crate) hold_ms: i64,
    pub(crate) sweep_ms: u64,
    pub(crate) closing_grace_ms: i64,
    pub(crate) stopping: AtomicBool,
    /// Whether those who have not sent their whole request yet are told that it is too late.
    pub(crate) last_call: Arc<AtomicBool>,
    pub(crate) limiter: Limiter,
    /// Where the times of limits come from.
    pub(crate) steady: Arc<dyn Clock>,
    /// Held by everything that has to be finished before the server stops.
    pub(crate) work: mpsc::Sender<()>,
    /// What arrived, for who asks what became of it.
    pub(crate) attempts: Attempts,
    pub(crate) steps: Steps,
    /// What records requests, if traces are sent.
    pub(crate) recorder: Option<Recorder>,
    /// What programs were told that are no people.
    pub(crate) feigned: Feigned,
    /// One search through what has happened is under way at a time.
    pub(crate) explaining: Semaphore,
    /// Who answers which request.
    pub(crate) router: Router,
    person_secret: [u8; 32],
}

/// What was read, as of when.
pub(crate) struct ReadOf {
    pub(crate) view: View,
    pub(crate) position: Position,
    pub(crate) levels: Levels,
}

impl App {
    pub(crate) fn new(
        config: &Config,
        parts: crate::Parts,
        base_url: &str,
        work: mpsc::Sender<()>,
        recorder: Option<Recorder>,
    ) -> Result<Self, StartError> {
        let (gateway, sandbox) = match parts.gateway {
            Some(gateway) => (gateway, None),
            None => {
                let sandbox = Arc::new(Sandbox::new(base_url));
                (Arc::clone(&sandbox) as Arc<dyn PaymentGateway>, Some(sandbox))
            }
        };
        let door = Door::open(config, &parts.metrics)?;
        Ok(Self {
            attempts: Attempts::since(parts.clock.now_ms()),
            steps: Steps::new(),
            recorder,
            feigned: Feigned::default(),
            explaining: Semaphore::new(1),
            backend: parts.backend,
            journal: parts.journal,
            keys: KeyRecords::open(config, parts.keys, &parts.clock, &parts.metrics)?,
            standby: parts.standby,
            ledger: parts.ledger,
            journal_reads: Arc::new(Semaphore::new(JOURNAL_READS_MAX)),
            metrics: parts.metrics,
            clock: parts.clock,
            machine: parts.machine.unwrap_or_else(|| Arc::new(ThisMachine::new(&config.data))),
            gateway,
            sandbox,
            door,
            trusted_proxies: config.trusted_proxies.clone(),
            hosts: Hosts::of(config),
            limits: config.limits(),
            retention_ms: config.retention_ms,
            hold_ms: config.hold_ms,
            sweep_ms: config.sweep_ms,
            closing_grace_ms: config.closing_grace_ms,
            stopping: AtomicBool::new(false),
            last_call: Arc::default(),
            limiter: Limiter::new(config.limiter()),
            steady: parts.steady,
            work,
            router: Router::new(),
            person_secret: parts.person_secret,
        })
    }

    /// The key of a sale's persons.
    pub(crate) fn sale_key(&self, sale: &Name) -> SaleKey {
        SaleKey::derive(&self.person_secret, sale.as_str())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether what has not arrived is not waited for any more.
    pub(crate) fn is_last_call(&self) -> bool {
        self.last_call.load(Ordering::Relaxed)
    }

    /// Submits a command and waits for its answer, within the deadline. It stands in the queue once this was first polled,
    /// and goes on whatever becomes of who asked.
    pub(crate) async fn submit(&self, shard: ShardId, command: Command, levels: Levels) -> Result<Answer, Refusal> {
        let answer = self.backend.submit(Request { shard, command, levels });
        telemetry::step(self.recorder.as_ref(), "decide", self.within_deadline(answer)).await
    }

    /// Waits for an answer, within the deadline.
    pub(crate) async fn within_deadline<T>(&self, answer: impl Future<Output = Result<T, nevertwice_api::Failure>>) -> Result<T, Refusal> {
        self.until(Instant::now() + self.limits.answer_deadline, answer).await
    }

    /// Waits for an answer until an instant.
    pub(crate) async fn until<T>(
        &self,
        deadline: Instant,
        answer: impl Future<Output = Result<T, nevertwice_api::Failure>>,
    ) -> Result<T, Refusal> {
        match timeout_at(deadline, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) => Err(failure.into()),
            Err(_) => Err(Refusal::outcome_unknown()),
        }
    }

    /// Does work of several steps in a task of its own: it goes on whatever becomes of who asked, and the server waits for it
    /// before it stops. Whoever asked waits within the deadline.
    pub(crate) async fn see_through<T: Send + 'static>(
        &self,
        steps: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let work = self.work.clone();
        let recording = self.recorder.as_ref().and_then(|_| telemetry::current());
        let task = tokio::spawn(async move {
            let done = match recording {
                None => steps.await,
                Some(recording) => recording.scope(Box::pin(steps)).await,
            };
            drop(work);
            done
        });
        match timeout(self.limits.answer_deadline, task).await {
            Ok(done) => done.map_err(|_| Refusal::internal("steps that panicked"))?,
            Err(_) => Err(Refusal::outcome_unknown()),
        }
    }

    /// Reads, within the deadline.
    pub(crate) async fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> Result<ReadOf, Refusal> {
        let reading = self.within_deadline(self.backend.read(shard, query, level));
        let reading = telemetry::step(self.recorder.as_ref(), "read", reading).await?;
        match reading.view {
            Ok(view) => Ok(ReadOf { view, position: reading.position, levels: reading.levels }),
            Err(rejection) => Err(convert::refuse(&rejection, reading.position)),
        }
    }
}
