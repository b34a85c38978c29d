//! The in-process backend: independent callers, each waiting for its own answer, every "yes" fsynced.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nevertwice_api::{Backend, Levels, NoObserver, Request};
use nevertwice_bots::load::Latency;
use nevertwice_core::{Command, Decision};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};

use super::command::Scale;
use super::figure::Figure;
use super::orders::{account, command, instrument, market, opening, order};
use super::scratch;

const INSTRUMENTS: usize = 1_248;

/// What one run measured.
struct Run {
    per_second: f64,
    latency: Latency,
}

/// Which instruments the callers trade.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    Hot,
    All,
}

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let many = run(scale, 1_024, Spread::Hot, LocalOptions::default())?;
    let few = run(scale, 64, Spread::Hot, LocalOptions::default())?;
    // The way it is often done: one decision, one sync, one answer.
    let alone = LocalOptions { group_items_max: 1, ..LocalOptions::default() };
    let baseline = run(scale, 64, Spread::Hot, alone)?;
    // One after the other in turns, so that whatever disturbs the machine disturbs both.
    let (mut hot, mut spread) = (0.0, 0.0);
    for _ in 0..3 {
        hot += run(scale, 1_024, Spread::Hot, LocalOptions::default())?.per_second;
        spread += run(scale, 1_024, Spread::All, LocalOptions::default())?.per_second;
    }
    let figure = |name: &str, run: &Run, about| {
        Figure::new(name, run.per_second, "decisions/s", about).latency(run.latency.percentile_us(50.0), run.latency.percentile_us(99.0))
    };
    Ok(vec![
        figure("local/inflight-1024", &many, "1,024 callers, one hot instrument; ratio to a sync each")
            .ratio(many.per_second / baseline.per_second),
        figure("local/inflight-64", &few, "64 callers; ratio to a sync each").ratio(few.per_second / baseline.per_second),
        figure("local/sync-each", &baseline, "64 callers, one sync for each decision: the baseline"),
        Figure::new("local/hot", hot / 3.0, "decisions/s", "one hot instrument; ratio to all 1,248").ratio(hot / spread),
    ])
}

fn run(scale: Scale, in_flight: usize, spread: Spread, options: LocalOptions) -> Result<Run, Box<dyn Error>> {
    let folder = scratch::folder()?;
    let storage = Arc::new(FileStorage::create(folder.path())?);
    let (backend, _) = LocalBackend::open(storage, Arc::new(SystemClock), Arc::new(NoObserver), &options)?;
    let backend = Arc::new(backend);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build()?;
    let measured = runtime.block_on(load(&backend, in_flight, spread, Duration::from_millis(scale.of(5_000))));
    backend.stop();
    measured
}

async fn load(backend: &Arc<LocalBackend>, in_flight: usize, spread: Spread, time: Duration) -> Result<Run, Box<dyn Error>> {
    for command in opening(INSTRUMENTS, in_flight) {
        accepted(backend.as_ref(), command).await?;
    }
    let traded: Vec<_> = match spread {
        Spread::Hot => vec![instrument(0)],
        Spread::All => (0..INSTRUMENTS).map(instrument).collect(),
    };
    let traded = Arc::new(traded);
    // One for all: a histogram for each caller would be a hundred megabytes, which the processor's caches lack.
    let latency = Arc::new(Mutex::new(Latency::new()));
    let start = Instant::now();
    let warm = start + time / 5;
    let end = start + time;
    let callers = (0..in_flight).map(|caller| {
        let (backend, traded, latency) = (Arc::clone(backend), Arc::clone(&traded), Arc::clone(&latency));
        tokio::spawn(async move {
            let account = account(caller);
            let mut turn = 0_u64;
            loop {
                // Both halves of a round trip go to the same instrument.
                let which = (caller + turn as usize / 2 * 7) % traded.len();
                let order = order(&account, &traded[which], turn, 1);
                let asked = Instant::now();
                if asked >= end {
                    return Ok::<_, String>(());
                }
                accepted(backend.as_ref(), command((caller as u64) << 40 | turn, order)).await?;
                if asked >= warm {
                    latency.lock().map_err(|error| error.to_string())?.record(asked.elapsed());
                }
                turn += 1;
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    for caller in callers {
        caller.await??;
    }
    let latency = latency.lock().map_err(|error| error.to_string())?.clone();
    Ok(Run { per_second: latency.count() as f64 / (end - warm).as_secs_f64(), latency })
}

async fn accepted(backend: &LocalBackend, command: Command) -> Result<(), String> {
    let answer = backend.submit(Request { shard: market(), command, levels: Levels::NONE }).await;
    match answer.map(|answer| answer.decision) {
        Ok(Decision::Accepted(_)) => Ok(()),
        other => Err(format!("a benchmark's command was not accepted: {other:?}")),
    }
}
