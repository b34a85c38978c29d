//! A primary and a standby on this machine: how far the standby is behind, and what it costs to wait for it.
//!
//! The primary runs in this process, so that its own observer can be asked; the standby is a process of its own, with a folder
//! of its own on the same disk.

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nevertwice_api::{GroupReport, Observer};
use nevertwice_bots::http::Target;
use nevertwice_bots::load::{Latency, Measured, Plan, closed, open};
use nevertwice_local::LocalBackend;
use nevertwice_local::clock::SystemClock;
use nevertwice_local::feed::JournalHost as _;
use nevertwice_server::config::Config;
use nevertwice_server::{Parts, Server, load_or_create_person_secret, note_person_secret, open_local};
use tokio::sync::oneshot;

use super::command::Scale;
use super::figure::Figure;
use super::http::{CONNECTIONS, checked, middle, open_market, path, requester};
use super::scratch;
use crate::child;

/// How often it is looked whether the standby is there.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long it may take until it is.
const JOIN_MAX: Duration = Duration::from_secs(30);

/// Hears how long confirmations take.
#[derive(Default)]
struct Lag(Mutex<Latency>);

impl Lag {
    /// What was heard since it was last taken.
    fn take(&self) -> Latency {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), Latency::new())
    }
}

impl Observer for Lag {
    fn group(&self, _report: GroupReport) {}
    fn snapshot(&self, _records: u64, _took: Duration) {}
    fn poisoned(&self) {}

    fn confirmed(&self, after: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(after);
    }
}

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let plan = Plan { warm_up: Duration::from_millis(scale.of(1_000)), measured: Duration::from_millis(scale.of(3_000)) };
    let folder = scratch::folder()?;
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        data: folder.path().join("primary"),
        replicas_min: 1,
        replicas_wait_ms: 10_000,
        ..Config::default()
    };
    let secret = load_or_create_person_secret(&config.person_key_path(), &config.data)?;
    let lag = Arc::new(Lag::default());
    let (backend, _) = open_local(&config, Arc::new(SystemClock), Arc::clone(&lag) as Arc<dyn Observer>)?;
    note_person_secret(&config.person_key_path(), &config.data, &secret)?;
    let backend = Arc::new(backend);
    let mut parts = Parts::new(Arc::clone(&backend) as Arc<_>, secret);
    parts.journal = Some(Arc::clone(&backend) as Arc<_>);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let measured = runtime.block_on(async {
        let server = Server::bind(&config, parts).await?;
        let url = server.url();
        let (stop, stopped) = oneshot::channel::<()>();
        let ran = tokio::spawn(server.run(async move { drop(stopped.await) }));
        let measured = beside_a_standby(&url, &config, folder.path(), &backend, &lag, plan).await;
        drop(stop);
        ran.await?;
        measured
    });
    backend.stop();
    measured
}

async fn beside_a_standby(
    url: &str,
    config: &Config,
    folder: &Path,
    backend: &LocalBackend,
    lag: &Lag,
    plan: Plan,
) -> Result<Vec<Figure>, Box<dyn Error>> {
    let target = Target::parse(url)?;
    open_market(&target).await?;
    let key = format!("person_key_file={}", path(&config.person_key_path())?);
    let data = folder.join("standby");
    let standby = ["standby", "--from", url, "--log", "error", "--listen", "127.0.0.1:0", "--data", path(&data)?, "--set", &key];
    let _standby = child::Server::start(standby)?;
    joined(backend).await?;
    // In turns, so that whatever disturbs the machine disturbs both.
    let (mut journaled, mut replicated) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        journaled.push(saturate(&target, None, plan).await?);
        replicated.push(saturate(&target, Some(REPLICATED), plan).await?);
    }
    let (journaled, replicated) = (middle(journaled), middle(replicated));
    lag.take();
    at_rate(&target, None, journaled.per_second() / 2.0, plan).await?;
    let behind = lag.take();
    let waited = at_rate(&target, Some(REPLICATED), replicated.per_second() / 2.0, plan).await?;
    let of = |latency: &Latency, percent| latency.percentile_us(percent);
    let figure = |name: &str, measured: &Measured, about| {
        Figure::new(name, measured.per_second(), "orders/s", about).latency(of(&measured.latency, 50.0), of(&measured.latency, 99.0))
    };
    Ok(vec![
        Figure::new(
            "standby/lag",
            of(&behind, 99.0) as f64 / 1_000.0,
            "ms (p99)",
            "from durable here until the standby confirmed, at half of the capacity",
        )
        .latency(of(&behind, 50.0), of(&behind, 99.0)),
        figure("standby/journaled", &journaled, "256 connections, a standby follows and nobody waits for it: the baseline"),
        figure("standby/replicated", &replicated, "the same, each answer waits for the standby; ratio to not waiting")
            .ratio(replicated.per_second() / journaled.per_second()),
        figure("standby/replicated-latency", &waited, "open loop at half of that"),
    ])
}

const REPLICATED: &str = "replicated";

/// Waits until the standby has confirmed all that there is.
async fn joined(backend: &LocalBackend) -> Result<(), Box<dyn Error>> {
    let is_there =
        || backend.feed().and_then(|feed| feed.replicas()).is_some_and(|is| !is.short && is.batch >= backend.journal().durable());
    let joining = async {
        while !is_there() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(JOIN_MAX, joining).await.map_err(|_| "the standby did not come; it says why above".into())
}

/// Keeps all connections busy.
async fn saturate(target: &Target, level: Option<&str>, plan: Plan) -> Result<Measured, Box<dyn Error>> {
    let requesters = (0..CONNECTIONS).map(|number| requester(target, number, level)).collect::<Result<Vec<_>, _>>()?;
    checked(closed(requesters, plan).await)
}

/// Asks so often, whether or not earlier answers have come.
async fn at_rate(target: &Target, level: Option<&str>, per_second: f64, plan: Plan) -> Result<Measured, Box<dyn Error>> {
    let requesters = (0..CONNECTIONS).map(|number| requester(target, number, level)).collect::<Result<Vec<_>, _>>()?;
    let measured = checked(open(requesters, per_second, plan).await)?;
    if measured.unsent > 0 {
        eprintln!("{} requests came due and were never sent: the latency is that of an overloaded machine", measured.unsent);
    }
    Ok(measured)
}
