//! The development tasks of nevertwice: what CI runs, and what a contributor runs at home.
//!
//! `cargo xtask ci` is the whole gate. Each of its steps is a command of its own, so that whoever broke one can repeat
//! that one alone. The steps only look and report; nothing here formats, fixes or publishes.

mod clients;
mod codes;
mod install;
mod licences;
mod lints;
mod lua;
mod runner;
mod schemathesis;
mod simulate;
mod step;
mod suite;
mod tidy;
mod walls;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

use step::Step;
use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Development tasks of nevertwice")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and every test, the cheap ones first; stop at the first failure
    Ci {
        /// Run all steps even if one fails
        #[arg(long)]
        keep_going: bool,
    },
    /// Run seeded histories of clients, API, backend and disk, and judge them
    Simulate(simulate::SimulateArgs),
    #[command(flatten)]
    Step(Step),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let workspace = match Workspace::find() {
        Ok(workspace) => workspace,
        Err(failure) => {
            eprintln!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    let passed = match cli.task {
        Task::Simulate(asked) => match simulate::ask(&workspace, &asked) {
            Ok(_) => true,
            Err(failure) => {
                eprintln!("{failure}");
                false
            }
        },
        Task::Ci { keep_going } => runner::run(&workspace, &Step::ALL, keep_going),
        Task::Step(step) => runner::run(&workspace, &[step], false),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
