//! `nevertwice explain`: what became of one tap.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use nevertwice_api::Sought;
use nevertwice_api::wire::{Attempts, Explanation, Later, Told};
use nevertwice_core::{Entry, IdempotencyKey, Principal, Query, ShardId, State, View};
use nevertwice_local::inspect::Inspection;
use nevertwice_server::{Known, explain};

use crate::audit::{read_shard, who};
use crate::key_record::show_record;
use crate::output::report;
use crate::source::{Source, SourceArgs};

/// Tells what became of one tap: attempts, the entry that it made, the answer that a retry gets, and what came later.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Whose tap it was.
    #[arg(long, value_name = "PRINCIPAL", value_parser = read_principal)]
    principal: Principal,
    /// Its idempotency key.
    #[arg(long, value_name = "KEY", value_parser = read_key)]
    key: IdempotencyKey,
    /// Looks in this market or sale alone, written `market/NAME` or `sale/NAME`.
    #[arg(long, value_name = "SHARD", value_parser = read_shard)]
    shard: Option<ShardId>,
    /// The scope, of a key of somebody's own guard: only a running server knows those.
    #[arg(long, value_name = "SCOPE", requires = "server")]
    scope: Option<String>,
    /// Writes it as one JSON text.
    #[arg(long)]
    json: bool,
}

/// Reads a principal.
pub(crate) fn read_principal(text: &str) -> Result<Principal, String> {
    Principal::new(text).map_err(|error| error.to_string())
}

/// Reads an idempotency key.
pub(crate) fn read_key(text: &str) -> Result<IdempotencyKey, String> {
    IdempotencyKey::new(text).map_err(|error| error.to_string())
}

impl ExplainArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let explanation = match self.source.open()? {
            Source::Folder(inspection) => self.of_folder(&inspection)?,
            Source::Server(mut server) => {
                let mut asked = vec![("principal", self.principal.to_string()), ("key", self.key.to_string())];
                asked.extend(self.shard.iter().map(|shard| ("shard", shard.to_string())));
                asked.extend(self.scope.iter().map(|scope| ("scope", scope.clone())));
                server.get("/v1/explain", &asked)?
            }
        };
        report(|out| {
            if self.json {
                serde_json::to_writer_pretty(&mut *out, &explanation)?;
                return Ok(writeln!(out)?);
            }
            show(out, &explanation)
        })?;
        // Whoever asks in a script must not take half of the journal for all of it.
        Ok(if explanation.journal.is_read_to_end { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// What is remembered is judged as of each shard's last entry: a folder has no clock.
    fn of_folder(&self, inspection: &Inspection) -> Result<Explanation, Box<dyn Error>> {
        let contents = inspection.contents()?;
        let is_asked = |state: &&State| self.shard.as_ref().is_none_or(|shard| shard == state.shard());
        let known: Vec<Entry> = contents.states.shards().filter(is_asked).filter_map(|state| self.remembered(state)).collect();
        let places: Vec<_> = known.iter().map(|entry| (entry.shard.clone(), entry.position)).collect();
        let sought = Sought { shard: self.shard.clone(), principal: self.principal.clone(), key: self.key.clone(), known };
        let finding = inspection.follow(&sought)??;
        let attempts = Attempts::default();
        Ok(explain(Known { principal: &self.principal, key: &self.key, attempts, remembered: &places, finding: &finding, record: None }))
    }

    fn remembered(&self, state: &State) -> Option<Entry> {
        let query = Query::Intent { principal: self.principal.clone(), key: self.key.clone() };
        let Ok(View::Intent(Some(known))) = state.read(&query) else { return None };
        let (shard, intent, events) = (state.shard().clone(), known.intent, known.events);
        Some(Entry { shard, position: known.position, at_ms: known.at_ms, intent, events, origin: None, before: None })
    }
}

fn show(out: &mut dyn Write, explanation: &Explanation) -> Result<(), Box<dyn Error>> {
    let Explanation { principal, key, says, attempts, found, is_cut, journal, key_record } = explanation;
    writeln!(out, "{key} of {principal}")?;
    writeln!(out, "{says}")?;
    show_attempts(out, attempts)?;
    if let Some(record) = key_record {
        show_record(out, record)?;
    }
    for told in found {
        show_told(out, told)?;
    }
    if *is_cut {
        writeln!(out, "more entries were found than are shown")?;
    }
    let end = if journal.is_read_to_end { "its end" } else { "not its end" };
    Ok(writeln!(out, "journal: read from batch {} to batch {}, {end}", journal.first_batch, journal.read_to)?)
}

fn show_attempts(out: &mut dyn Write, attempts: &Attempts) -> Result<(), Box<dyn Error>> {
    let Attempts { seen, since_ms, is_cut } = attempts;
    let Some(since_ms) = since_ms else {
        return Ok(writeln!(out, "attempts: only a running server knows those that it saw")?);
    };
    let forgotten = if *is_cut { ", the oldest of all keys forgotten" } else { "" };
    writeln!(out, "attempts since {since_ms}, as the process remembers them{forgotten}: {}", seen.len())?;
    for attempt in seen {
        let position = attempt.position.as_ref().map(|position| format!(" at {position}")).unwrap_or_default();
        writeln!(out, "  {} {}{position}", attempt.at_ms, attempt.outcome)?;
    }
    Ok(())
}

fn show_told(out: &mut dyn Write, told: &Told) -> Result<(), Box<dyn Error>> {
    let origin = told.origin.as_ref().map(|origin| format!(", called by {}", who(origin))).unwrap_or_default();
    let expires = told.expires_at.map(|expires_at| format!(", given up from {expires_at} on")).unwrap_or_default();
    writeln!(out, "{} {} {} {}{origin}{expires}", told.at_ms, told.shard, told.position, told.command)?;
    let remembered = if told.is_remembered { "a retry is answered with" } else { "not remembered; it was answered with" };
    writeln!(out, "  {remembered} {}", told.result)?;
    if !told.is_in_journal {
        writeln!(out, "  the journal has not got it any more: it is known from the memory of intents")?;
    }
    if told.later_left_out > 0 {
        writeln!(out, "  {} later entries are not shown", told.later_left_out)?;
    }
    for Later { position, at_ms, command, principal, key, result } in &told.later {
        writeln!(out, "  later {at_ms} {position} {command} of {principal} with {key}: {result}")?;
    }
    Ok(())
}
