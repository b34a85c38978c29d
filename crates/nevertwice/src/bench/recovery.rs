//! Recovery: a million entries from the journal alone, with the same hash.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use nevertwice_api::{Backend, Levels, NoObserver, Request};
use nevertwice_core::{Position, StateHash};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};

use super::command::Scale;
use super::figure::Figure;
use super::orders::{account, command, instrument, market, opening, order};
use super::scratch;

const ACCOUNTS: usize = 1_000;
const INSTRUMENTS: usize = 64;

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let entries = scale.of(1_000_000);
    let folder = scratch::folder()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    // No snapshot: every entry is read and applied again.
    let options = LocalOptions { snapshot_bytes: 0, ..LocalOptions::default() };
    let open = || -> Result<_, Box<dyn Error>> {
        let storage = Arc::new(FileStorage::create(folder.path())?);
        Ok(LocalBackend::open(storage, Arc::new(SystemClock), Arc::new(NoObserver), &options)?)
    };

    let (backend, _) = open()?;
    let before = runtime.block_on(fill(&backend, entries))?;
    drop(backend);
    let start = Instant::now();
    let (backend, report) = open()?;
    let took = start.elapsed();
    let after = runtime.block_on(backend.state_hash(market()))?;
    if after != before {
        return Err(format!("recovery made another state: {after:?}, not {before:?}").into());
    }
    let per_second = report.entries as f64 / took.as_secs_f64();
    Ok(vec![
        Figure::new("recovery/1m", took.as_secs_f64(), "s", "a start on a million entries without a snapshot, to the same hash"),
        Figure::new("recovery/entries", per_second, "entries/s", "entries read, checked and applied"),
    ])
}

async fn fill(backend: &LocalBackend, entries: u64) -> Result<(Position, StateHash), Box<dyn Error>> {
    let mut waiting = std::collections::VecDeque::new();
    let names: Vec<_> = (0..ACCOUNTS).map(account).collect();
    let instruments: Vec<_> = (0..INSTRUMENTS).map(instrument).collect();
    let orders = (0..entries).map(|at| {
        let who = (at / 2) as usize % ACCOUNTS;
        command(at, order(&names[who], &instruments[who % INSTRUMENTS], at, 1))
    });
    for command in opening(INSTRUMENTS, ACCOUNTS).into_iter().chain(orders) {
        waiting.push_back(backend.submit(Request { shard: market(), command, levels: Levels::NONE }));
        if waiting.len() >= 4_096
            && let Some(first) = waiting.pop_front()
        {
            first.await?;
        }
    }
    for answer in waiting {
        answer.await?;
    }
    Ok(backend.state_hash(market()).await?)
}
