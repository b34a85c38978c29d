//! The nevertwice binary.

mod asking;
mod audit;
mod backup;
mod bench;
mod child;
mod conformance;
mod copies;
mod database;
mod demo;
mod doctor;
mod explain;
mod journal;
mod key;
mod key_record;
mod keys_opened;
mod manual;
mod migrate;
mod output;
mod promote;
mod proxy;
mod publish;
mod restore;
mod serve;
mod source;
mod standby;
mod stop;
mod verify;

use std::error::Error;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

// What grows with traffic is many small allocations that live for a day: measured, this allocator makes a decision with ten
// million remembered keys a fifth cheaper than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Never charge twice, never sell a seat twice, never fill an order twice.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows both hard jobs on real input: a World Cup market and a flash sale, with lost replies and a killed server.
    Demo(demo::DemoArgs),
    /// Runs the server until it is told to stop (SIGINT or SIGTERM).
    Serve(serve::Arguments),
    /// Makes the tables of the ledger, or brings them to this version; the server does so by itself at its start.
    Migrate(migrate::MigrateArgs),
    /// Recomputes every invariant and the state hash from the journal of a stopped or copied data folder.
    Verify(verify::VerifyArgs),
    /// Looks at the journal of a stopped or copied data folder.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Shows what operators did: who, from where, when, what was before and what is after.
    Audit(audit::AuditArgs),
    /// Tells what became of one tap: attempts, its entry, the answer that a retry gets, and what came later.
    Explain(explain::ExplainArgs),
    /// Makes, lists and revokes API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Looks at what a running server keeps of a key of somebody's guard; renews or releases a claim.
    #[command(subcommand)]
    KeyRecord(key_record::KeyRecordCommand),
    /// Copies the journal of a running server, or of a stopped data folder; run again, it fetches only what is new.
    Backup(backup::BackupArgs),
    /// Makes a data folder out of a backup, which ends exactly at a position.
    Restore(restore::RestoreArgs),
    /// Looks at the disk, the clock, the limits, the settings and the data folder, and says what each finding means.
    Doctor(doctor::DoctorArgs),
    /// Follows another server's journal in a folder of its own, and decides nothing until it is promoted.
    Standby(standby::StandbyArgs),
    /// Makes a standby the server that decides.
    Promote(promote::PromoteArgs),
    /// Asks an HTTP service whether it keeps the `Idempotency-Key` contract, rule by rule.
    Conformance(conformance::ConformanceArgs),
    /// Puts the Idempotency-Key contract in front of a service in any language.
    Proxy(proxy::ProxyArgs),
    /// Tells webhooks what services have left in their outboxes, at least once and in order.
    Publish(publish::PublishArgs),
    /// Measures how fast it is on this machine, beside baselines of the same run.
    Bench(bench::BenchArgs),
    /// Writes the completions of a shell to standard output.
    Completions(manual::CompletionsArgs),
    /// Writes the manual page to standard output, or all pages into a folder.
    Man(manual::ManArgs),
    /// Serves the baseline of `bench http`.
    #[command(hide = true)]
    BenchBare(bench::BareArgs),
    /// Serves what `bench keys` measures.
    #[command(hide = true)]
    BenchKeys(bench::KeysTargetArgs),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve(arguments) => return serve::run(&arguments),
        Command::Migrate(arguments) => return migrate::run(&arguments),
        Command::Standby(arguments) => return standby::run(&arguments),
        Command::Proxy(arguments) => return proxy::run(&arguments),
        Command::Demo(arguments) => arguments.run(),
        Command::Verify(arguments) => arguments.run(),
        Command::Journal(command) => command.run(),
        Command::Audit(arguments) => arguments.run(),
        Command::Explain(arguments) => arguments.run(),
        Command::Key(command) => command.run(),
        Command::KeyRecord(command) => command.run(),
        Command::Backup(arguments) => arguments.run(),
        Command::Restore(arguments) => arguments.run(),
        Command::Doctor(arguments) => arguments.run(),
        Command::Promote(arguments) => arguments.run(),
        Command::Conformance(arguments) => arguments.run(),
        Command::Publish(arguments) => arguments.run(),
        Command::Bench(arguments) => arguments.run(),
        Command::Completions(arguments) => arguments.run(Arguments::command()),
        Command::Man(arguments) => arguments.run(Arguments::command()),
        Command::BenchBare(arguments) => bench::serve_bare(&arguments).map(|()| ExitCode::SUCCESS),
        Command::BenchKeys(arguments) => bench::serve_keys_target(&arguments).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("nevertwice: {}", told(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// The error, and the code of its page where it has one.
fn told(error: &(dyn Error + 'static)) -> String {
    let open = error.downcast_ref::<nevertwice_local::error::OpenError>().map(nevertwice_local::error::OpenError::code);
    let copy = error.downcast_ref::<nevertwice_local::backup::BackupError>().map(nevertwice_local::backup::BackupError::code);
    match open.or(copy) {
        Some(code) => format!("{error} [{code}]"),
        None => error.to_string(),
    }
}
