//! The nevertwice binary.

mod bench;
mod child;
mod demo;
mod doctor;
mod journal;
mod key;
mod manual;
mod output;
mod serve;
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
    /// Recomputes every invariant and the state hash from the journal of a stopped or copied data folder.
    Verify(verify::VerifyArgs),
    /// Looks at the journal of a stopped or copied data folder.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Makes, lists and revokes API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Looks at the disk, the clock, the limits, the settings and the data folder, and says what each finding means.
    Doctor(doctor::DoctorArgs),
    /// Measures how fast it is on this machine, beside baselines of the same run.
    Bench(bench::BenchArgs),
    /// Writes the completions of a shell to standard output.
    Completions(manual::CompletionsArgs),
    /// Writes the manual page to standard output, or all pages into a folder.
    Man(manual::ManArgs),
    /// Serves the baseline of `bench http`.
    #[command(hide = true)]
    BenchBare(bench::BareArgs),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve(arguments) => return serve::run(&arguments),
        Command::Demo(arguments) => arguments.run(),
        Command::Verify(arguments) => arguments.run(),
        Command::Journal(command) => command.run(),
        Command::Key(command) => command.run(),
        Command::Doctor(arguments) => arguments.run(),
        Command::Bench(arguments) => arguments.run(),
        Command::Completions(arguments) => arguments.run(Arguments::command()),
        Command::Man(arguments) => arguments.run(Arguments::command()),
        Command::BenchBare(arguments) => bench::serve_bare(&arguments).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("nevertwice: {}", explain(error.as_ref()));
        ExitCode::FAILURE
    })
}

/// The error, and the code of its page where it has one.
fn explain(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<nevertwice_local::error::OpenError>() {
        Some(open) => format!("{open} [{}]", open.code()),
        None => error.to_string(),
    }
}
