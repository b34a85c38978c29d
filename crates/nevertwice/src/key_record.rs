//! `nevertwice key-record`: what a server keeps of a key of somebody's guard, and an operator's hand in it.
//!
//! Whoever renews or releases names the generation that it has seen: so a command that comes late, or twice, never frees the claim of
//! somebody who came in between.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use nevertwice_api::wire::{KeyRecord, KeyReleased, KeyState, LeaseRenewed, ReleaseKey, RenewLease};
use nevertwice_core::{IdempotencyKey, Principal};

use crate::explain::{read_key, read_principal};
use crate::output::report;
use crate::source::ServerArgs;

/// Looks at what a server keeps of a key, renews or releases a claim.
#[derive(Subcommand, Debug)]
pub(crate) enum KeyRecordCommand {
    /// Shows what is kept of a key: its state, owner, generation and times. Never the answer.
    Inspect(InspectArgs),
    /// Moves the end of a claim's lease, so that nobody takes it over while somebody finds out.
    Renew(RenewArgs),
    /// Gives a claimed key back, because it is known that nothing has happened. The next request with it runs.
    Release(ReleaseArgs),
}

/// Which key.
#[derive(Args, Debug)]
struct Which {
    #[command(flatten)]
    server: ServerArgs,
    /// Whose key it is.
    #[arg(long, value_name = "PRINCIPAL", value_parser = read_principal)]
    principal: Principal,
    /// Its scope, if it has one.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// The idempotency key.
    #[arg(long, value_name = "KEY", value_parser = read_key)]
    key: IdempotencyKey,
}

/// What to look at.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    which: Which,
    /// Writes it as one JSON text.
    #[arg(long)]
    json: bool,
}

/// Which claim to renew.
#[derive(Args, Debug)]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    which: Which,
    /// The generation that `inspect` has shown: another claim than that is left alone.
    #[arg(long, value_name = "NUMBER")]
    generation: u64,
    /// How long the lease is from now on, in milliseconds; the server's default if absent.
    #[arg(long, value_name = "MS")]
    lease_ms: Option<i64>,
}

/// Which claim to release.
#[derive(Args, Debug)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    which: Which,
    /// The generation that `inspect` has shown: another claim than that is left alone.
    #[arg(long, value_name = "NUMBER")]
    generation: u64,
}

impl KeyRecordCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        match self {
            Self::Inspect(arguments) => arguments.run(),
            Self::Renew(arguments) => arguments.run(),
            Self::Release(arguments) => arguments.run(),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

impl InspectArgs {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let Which { server, principal, scope, key } = &self.which;
        let mut asked = vec![("key", key.to_string())];
        asked.extend(scope.iter().map(|scope| ("scope", scope.clone())));
        let record: KeyRecord = server.open()?.get_of("/v1/keys/inspect", principal.as_str(), &asked)?;
        report(|out| {
            if self.json {
                serde_json::to_writer_pretty(&mut *out, &record)?;
                return Ok(writeln!(out)?);
            }
            show_record(out, &record)
        })
    }
}

impl RenewArgs {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let Self { which: Which { server, principal, scope, key }, generation, lease_ms } = self;
        let asked = RenewLease { key: key.to_string(), scope: scope.clone(), owner: None, generation: *generation, lease_ms: *lease_ms };
        let renewed: LeaseRenewed = server.open()?.post("/v1/keys/renew", principal.as_str(), &asked)?;
        let left_ms = renewed.lease_expires_at.saturating_sub(renewed.at_ms);
        report(|out| {
            Ok(writeln!(
                out,
                "{key} of {principal}: the lease of generation {generation} ends at {}, {left_ms} ms from now; until then nobody takes it over",
                renewed.lease_expires_at
            )?)
        })
    }
}

impl ReleaseArgs {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let Self { which: Which { server, principal, scope, key }, generation } = self;
        let asked = ReleaseKey { key: key.to_string(), scope: scope.clone(), owner: None, generation: *generation };
        let released: KeyReleased = server.open()?.post("/v1/keys/release", principal.as_str(), &asked)?;
        report(|out| {
            Ok(writeln!(
                out,
                "{key} of {principal}: generation {generation} is released, and its owner {} can't complete it any more; the next request with this key runs",
                released.owner
            )?)
        })
    }
}

/// What is kept of a key, in lines for people.
pub(crate) fn show_record(out: &mut dyn Write, record: &KeyRecord) -> Result<(), Box<dyn Error>> {
    let KeyRecord { principal, scope, key, owner, generation, changed_at, forgotten_at, at_ms, .. } = record;
    let scope = scope.as_ref().map(|scope| format!(" in scope {scope}")).unwrap_or_default();
    writeln!(out, "key {key} of {principal}{scope}, as of {at_ms}: {}", state(record))?;
    writeln!(out, "  generation {generation}, owner {owner}")?;
    Ok(writeln!(out, "  changed at {changed_at}, remembered until {forgotten_at}")?)
}

fn state(record: &KeyRecord) -> String {
    let (word, lease) = (record.state.word(), record.lease_expires_at.unwrap_or_default());
    match (record.state, record.is_lapsed) {
        (KeyState::Free, _) => format!("{word}: it was given back, nothing has happened, and the next request runs"),
        (KeyState::InProgress, false) => format!("{word}: somebody works on it, with a lease until {lease}"),
        (KeyState::InProgress, true) => format!("{word}: the lease ended at {lease}, and nobody knows what became of the work"),
        (KeyState::Completed, _) => {
            let kept = if record.is_kept == Some(true) { "which a retry gets again" } else { "which was not kept" };
            format!(
                "{word}: answered with status {} and {} bytes of body, {kept}",
                record.status.unwrap_or_default(),
                record.body_bytes.unwrap_or_default()
            )
        }
    }
}
