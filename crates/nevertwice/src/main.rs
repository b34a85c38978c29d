//! The nevertwice binary.

mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
    }
}
