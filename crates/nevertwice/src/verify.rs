//! `nevertwice verify`: recomputes every invariant and the state hash of a stopped or copied data folder.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nevertwice_core::ShardId;
use nevertwice_core::model::{Auditor, audit_records};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;

/// Recomputes every invariant and the state hash from the journal of a stopped or copied data folder.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The data folder.
    #[arg(long)]
    data: PathBuf,
}

impl VerifyArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let inspection = Inspection::open(Arc::new(FileStorage::open(&self.data)?))?;
        let total: u64 = inspection.frames()?.iter().map(|frame| u64::from(frame.entries)).sum();
        let bar = ProgressBar::new(total).with_style(ProgressStyle::with_template("{bar:40} {pos}/{len} entries {per_sec}")?);
        let mut faults = Vec::new();

        let mut auditors: BTreeMap<ShardId, Auditor> = BTreeMap::new();
        let mut whole = BTreeMap::new();
        let contents = inspection.replay(|state, entry| {
            bar.inc(1);
            // A shard whose first entry lies below the oldest snapshot is judged by its records alone.
            if entry.position.seq == 1 {
                auditors.insert(entry.shard.clone(), Auditor::new(entry.shard.clone()));
            }
            if let Some(auditor) = auditors.get_mut(&entry.shard)
                && let Err(violation) = auditor.follow(entry)
            {
                whole.entry(state.shard().clone()).or_insert(format!("{}: at {}: {violation}", entry.shard, entry.position));
            }
        })?;
        bar.finish_and_clear();
        faults.extend(whole.into_values());
        faults.extend(contents.damage.map(|damage| damage.to_string()));
        for (name, snapshot) in inspection.snapshots()? {
            match snapshot {
                Ok(verified) => println!("{name}: good, {} records after batch {}", verified.records, verified.floor.batch),
                Err(bad) => faults.push(format!("{name} does not count: {bad}")),
            }
        }

        let started = inspection.contents()?;
        for state in contents.states.shards() {
            let hash = state.state_hash();
            println!("{} at {}: hash {hash}", state.shard(), state.position());
            if let Some(auditor) = auditors.get_mut(state.shard())
                && let Err(violation) = auditor.compare(state)
            {
                faults.push(format!("{}: {violation}", state.shard()));
            }
            let mut records = Vec::new();
            state.export(&mut |record| records.push(record));
            if let Err(violation) = audit_records(records) {
                faults.push(format!("{}: {violation}", state.shard()));
            }
            let from_snapshot = started.states.shard(state.shard()).map(nevertwice_core::State::state_hash);
            if from_snapshot != Some(hash) {
                faults.push(format!("{}: a start from the newest snapshot makes another state", state.shard()));
            }
        }
        println!("{} entries applied, {} bytes of torn tail", contents.report.entries, contents.report.journal.cut_bytes);
        for fault in &faults {
            println!("FAULT {fault}");
        }
        println!("{}", if faults.is_empty() { "clean" } else { "not clean" });
        Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
