//! `nevertwice verify`: recomputes every invariant and the state hash of a stopped or copied data folder.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nevertwice_core::model::{Auditor, audit_records};
use nevertwice_core::{ShardId, State};
use nevertwice_local::inspect::{Contents, Inspection};
use nevertwice_local::storage::{FileStorage, Storage};
use nevertwice_local::{KEYS_FOLDER, KeysInspection, inspect_keys_copy};
use nevertwice_server::{NotedPersonKey, inspect_person_note, person_key_of};

use crate::copies::keys_line;
use crate::output::report;

/// Recomputes every invariant and the state hash from the journal of a stopped or copied data folder, and reads its keys with every
/// answer.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The data folder.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl VerifyArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template("{spinner} {pos} entries, {per_sec}")?);
        let verdict = verify(&self.data, || bar.inc(1))?;
        bar.finish_and_clear();
        let clean = verdict.faults.is_empty();
        report(|out| {
            for line in &verdict.lines {
                writeln!(out, "{line}")?;
            }
            for fault in &verdict.faults {
                writeln!(out, "FAULT {fault}")?;
            }
            Ok(writeln!(out, "{}", if clean { "clean" } else { "not clean" })?)
        })?;
        Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What a folder was found to be.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What is in it.
    pub(crate) lines: Vec<String>,
    /// What is wrong with it.
    pub(crate) faults: Vec<String>,
    /// Entries that were applied again.
    pub(crate) entries: u64,
}

/// Applies again what the journal has, and compares with what a start of the server would make of the folder. A shard whose first
/// entry is there is judged entry by entry; of any other its records are, and whether its later entries fit.
pub(crate) fn verify(data: &Path, mut progress: impl FnMut()) -> Result<Verdict, Box<dyn Error>> {
    let inspection = Inspection::open(Arc::new(FileStorage::open(data)?))?;
    let mut verdict = Verdict::default();
    let (contents, mut auditors) = replay(&inspection, &mut verdict, &mut progress)?;
    verdict.faults.extend(contents.damage.as_ref().map(ToString::to_string));
    for (name, snapshot) in inspection.snapshots()? {
        match snapshot {
            Ok(verified) => verdict.lines.push(format!("{name}: good, {} records after batch {}", verified.records, verified.floor.batch)),
            Err(bad) => verdict.faults.push(format!("{name} does not count: {bad}")),
        }
    }
    verdict.faults.extend(inspection.audit_faults()?);
    verdict.faults.extend(inspection.file_faults()?);
    let key = person_key_of(data);
    match inspect_person_note(&key, data) {
        Ok(NotedPersonKey::Compared | NotedPersonKey::Absent) => {}
        Ok(NotedPersonKey::NotCompared) => verdict.lines.push(format!("{} is not there to be compared with the folder", key.display())),
        Err(error) => verdict.faults.push(error.detail),
    }
    let started = inspection.contents()?;
    for state in contents.states.shards() {
        verdict.lines.push(format!("{} at {}: hash {}", state.shard(), state.position(), state.state_hash()));
        let auditor = auditors.get_mut(state.shard());
        if auditor.is_none() {
            verdict.lines.push(format!("{}: judged from its records: its first entries lie below the oldest snapshot", state.shard()));
        }
        verdict.faults.extend(judge(state, auditor, started.states.shard(state.shard())));
    }
    verify_keys(&data.join(KEYS_FOLDER), &mut verdict, &mut progress)?;
    verdict.entries = contents.report.entries;
    verdict.lines.push(format!("{} entries applied, {} bytes of torn tail", contents.report.entries, contents.report.journal.cut_bytes));
    Ok(verdict)
}

/// Reads the keys, if the folder has any: every record, and every byte of every answer.
fn verify_keys(keys: &Path, verdict: &mut Verdict, progress: &mut impl FnMut()) -> Result<(), Box<dyn Error>> {
    if !keys.is_dir() {
        return Ok(());
    }
    let storage: Arc<dyn Storage> = Arc::new(FileStorage::open(keys)?);
    match inspect_keys_copy(&storage) {
        Ok(Some(copied)) => {
            verdict.lines.push(keys_line(&copied));
            return Ok(());
        }
        // A server that keeps none in a folder.
        Ok(None) if keys.with_file_name("backup.manifest").exists() => return Ok(()),
        Ok(None) => {}
        Err(error) => {
            verdict.faults.push(format!("{KEYS_FOLDER}: {error}"));
            return Ok(());
        }
    }
    let found = KeysInspection::open(storage)?.verify(progress)?;
    verdict.lines.push(format!(
        "{} keys: {} claims, {} answers of {} bytes, {} of them tombstones",
        found.report.records, found.claims, found.answers, found.answer_bytes, found.tombstones
    ));
    verdict.faults.extend(found.faults.into_iter().map(|fault| format!("{KEYS_FOLDER}: {fault}")));
    Ok(())
}

/// An auditor for every shard whose history is there from its first entry.
type Auditors = BTreeMap<ShardId, Auditor>;

fn replay(inspection: &Inspection, verdict: &mut Verdict, progress: &mut impl FnMut()) -> Result<(Contents, Auditors), Box<dyn Error>> {
    let mut auditors = Auditors::new();
    let mut broken: BTreeMap<ShardId, String> = BTreeMap::new();
    let contents = inspection.replay(|_, entry| {
        progress();
        // Without its first entry an auditor would know nothing of what is in the shard already.
        if entry.position.seq == 1 {
            auditors.insert(entry.shard.clone(), Auditor::new(entry.shard.clone()));
        }
        if let Some(auditor) = auditors.get_mut(&entry.shard)
            && let Err(violation) = auditor.follow(entry)
        {
            broken.entry(entry.shard.clone()).or_insert_with(|| format!("{} at {}: {violation}", entry.shard, entry.position));
        }
    })?;
    verdict.faults.extend(broken.into_values());
    Ok((contents, auditors))
}

fn judge(state: &State, auditor: Option<&mut Auditor>, started: Option<&State>) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(auditor) = auditor
        && let Err(violation) = auditor.compare(state)
    {
        faults.push(format!("{}: {violation}", state.shard()));
    }
    let mut records = Vec::new();
    state.export(&mut |record| records.push(record));
    if let Err(violation) = audit_records(records) {
        faults.push(format!("{}: {violation}", state.shard()));
    }
    if started.map(State::state_hash) != Some(state.state_hash()) {
        faults.push(format!("{}: a start from the newest snapshot makes another state", state.shard()));
    }
    faults
}
