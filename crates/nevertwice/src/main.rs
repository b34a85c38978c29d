//! The nevertwice binary.

mod bench;
mod journal;
mod serve;
mod verify;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Runs the server until it is told to stop (SIGINT or SIGTERM).
    Serve(serve::Arguments),
    /// Measures how fast it is, beside a baseline of the same run.
    Bench(bench::BenchArgs),
    /// The baseline of `bench http`: a bare handler.
    #[command(hide = true)]
    BenchBare(bench::BareArgs),
    /// Looks at the journal of a stopped or copied data folder.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Recomputes every invariant and the state hash of a stopped or copied data folder.
    Verify(verify::VerifyArgs),
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Serve(arguments) => return serve::run(&arguments),
        Command::Bench(arguments) => arguments.run(),
        Command::BenchBare(arguments) => bench::serve_bare(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Journal(command) => command.run(),
        Command::Verify(arguments) => arguments.run(),
    };
    ended.unwrap_or_else(|error: Box<dyn Error>| {
        eprintln!("nevertwice: {error}");
        ExitCode::FAILURE
    })
}
