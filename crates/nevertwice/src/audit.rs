//! `nevertwice audit`: what operators did.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use nevertwice_api::wire::{AuditFact, AuditPage, Caller};
use nevertwice_api::{AuditAsk, KeyDeed};
use nevertwice_core::{Name, ShardId};
use nevertwice_local::inspect::Inspection;
use serde_json::{Map, Value};

use crate::output::report;
use crate::source::{Server, Source, SourceArgs};

/// Shows what operators did, the oldest first: who, from where, when, what was before and what is after.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Shows this market or sale alone, written `market/NAME` or `sale/NAME`.
    #[arg(long, value_name = "SHARD", value_parser = read_shard)]
    shard: Option<ShardId>,
    /// Shows what was done from this instant on, in milliseconds since 1970.
    #[arg(long, value_name = "MS")]
    from: Option<i64>,
    /// Shows what was done before this instant.
    #[arg(long, value_name = "MS")]
    until: Option<i64>,
    /// Writes each as a JSON text, a line each.
    #[arg(long)]
    json: bool,
}

/// Reads the name of a shard.
pub(crate) fn read_shard(text: &str) -> Result<ShardId, String> {
    let (kind, name) = text.split_once('/').ok_or("it is not written market/NAME or sale/NAME")?;
    let name = Name::new(name).map_err(|error| error.to_string())?;
    match kind {
        "market" => Ok(ShardId::market(name)),
        "sale" => Ok(ShardId::sale(name)),
        _ => Err("it is not written market/NAME or sale/NAME".to_owned()),
    }
}

/// What is shown before the first fact, and after the last one.
#[derive(Default)]
struct Told {
    begins_after: u64,
    is_whole: bool,
    fault: Option<String>,
}

impl AuditArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let mut source = self.source.open()?;
        // A reader who leaves early is told nothing more.
        let mut told = Told { is_whole: true, ..Told::default() };
        report(|out| {
            told = match &mut source {
                Source::Folder(inspection) => self.of_folder(inspection, out)?,
                Source::Server(server) => self.of_server(server, out)?,
            };
            if let Some(fault) = &told.fault {
                writeln!(out, "FAULT {fault}; what is shown is what could be read before that")?;
            }
            Ok(())
        })?;
        if told.begins_after > 0 {
            eprintln!("The audit begins after batch {}: what was done before it is not in it.", told.begins_after);
        }
        if !told.is_whole && told.fault.is_none() {
            eprintln!("What was done most recently is missing, since it could not be written; a restart of the server adds it.");
        }
        Ok(if told.fault.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn of_folder(&self, inspection: &Inspection, out: &mut dyn Write) -> Result<Told, Box<dyn Error>> {
        let (audit, mut fault) = inspection.audit()?;
        let mut asked = AuditAsk { shard: self.shard.clone(), from_ms: self.from, until_ms: self.until, cursor: None };
        loop {
            let page = match audit.page(&asked) {
                Ok(page) => page,
                Err(failure) => {
                    fault = fault.or_else(|| Some(failure.to_string()));
                    return Ok(Told { fault, ..Told::default() });
                }
            };
            page.facts.iter().filter_map(AuditFact::of).try_for_each(|fact| self.show(out, &fact))?;
            match page.next {
                Some(next) => asked.cursor = Some(next),
                None => return Ok(Told { begins_after: page.begins_after, is_whole: page.is_whole, fault }),
            }
        }
    }

    fn of_server(&self, server: &mut Server, out: &mut dyn Write) -> Result<Told, Box<dyn Error>> {
        let mut asked: Vec<(&str, String)> = Vec::new();
        asked.extend(self.shard.iter().map(|shard| ("shard", shard.to_string())));
        asked.extend(self.from.iter().map(|from| ("from", from.to_string())));
        asked.extend(self.until.iter().map(|until| ("until", until.to_string())));
        loop {
            let page: AuditPage = server.get("/v1/audit", &asked)?;
            page.facts.iter().try_for_each(|fact| self.show(out, fact))?;
            asked.retain(|(name, _)| *name != "cursor");
            match page.next {
                Some(next) => asked.push(("cursor", next)),
                None => return Ok(Told { begins_after: page.begins_after, is_whole: page.is_whole, fault: None }),
            }
        }
    }

    fn show(&self, out: &mut dyn Write, fact: &AuditFact) -> Result<(), Box<dyn Error>> {
        if self.json {
            serde_json::to_writer(&mut *out, fact)?;
            return Ok(writeln!(out)?);
        }
        Ok(writeln!(out, "{}", line(fact))?)
    }
}

/// Whether a command is about the record of a key of somebody's guard.
fn is_of_key(command: &str) -> bool {
    [KeyDeed::Registered, KeyDeed::Completed, KeyDeed::Renewed, KeyDeed::Released].iter().any(|deed| deed.word() == command)
}

fn line(fact: &AuditFact) -> String {
    let AuditFact { shard, position, at_ms, origin, principal, key, command, about, before, after } = fact;
    let about = about.as_ref().map(|about| format!(" {about}")).unwrap_or_default();
    let nobody = if key.is_some() { "somebody whose name was not kept" } else { "whoever started it on the machine" };
    let who = origin.as_ref().map_or_else(|| nobody.to_owned(), who);
    let place = match (shard, position) {
        (Some(shard), Some(position)) => format!("{shard} {position}"),
        _ if is_of_key(command) => "the record of a key".to_owned(),
        _ => "the folder".to_owned(),
    };
    let intent = match (principal, key) {
        (Some(principal), Some(key)) => format!(" as {principal} with {key}"),
        _ => String::new(),
    };
    let members = |members: &Map<String, Value>| Value::Object(members.clone()).to_string();
    let unknown = if is_of_key(command) { "nothing" } else { "nothing is known" };
    let before = before.as_ref().map_or_else(|| unknown.to_owned(), members);
    format!("{at_ms} {place} {command}{about} by {who}{intent}: before {before}, after {}", members(after))
}

/// Who called, in a few words.
pub(crate) fn who(caller: &Caller) -> String {
    let Caller { name, role, address, trace } = caller;
    let address = address.as_ref().map(|address| format!(" from {address}")).unwrap_or_default();
    let trace = trace.as_ref().map(|trace| format!(" in trace {trace}")).unwrap_or_default();
    format!("{name} ({role}){address}{trace}")
}
