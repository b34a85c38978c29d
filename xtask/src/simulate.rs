//! Runs the simulator: seeded histories of clients, API, backend and disk, each judged.

use std::process::Command;

use clap::Args;

use crate::step::Failure;
use crate::workspace::{Workspace, stream};

/// How many seeds CI runs.
const SEEDS: u64 = 200;

/// How many seeds of the store of keys CI runs, and how many commands each of them decides, at least.
const KEYS_SEEDS: u64 = 200;
const KEYS_COMMANDS: u64 = 5_000;

/// Bugs that are planted one after the other, and how many seeds each of them may take to be found.
const PLANTED: &[(&str, u64)] = &[
    ("skipped-sync", 10),
    ("early-answer", 10),
    ("early-replay", 10),
    ("release-without-owner", 10),
    ("early-purge", 10),
    ("early-confirmation", 10),
];

const WEAKER: &str = "the simulator no longer sees this planted bug: its judge or its faults have become weaker";

const REMEDY: &str = "the command that runs the failing seed again stands above; docs/proof.md tells how to read its trace";

/// The same of the store of keys.
const PLANTED_IN_KEYS: &[(&str, u64)] = &[("skipped-sync", 10), ("early-key-answer", 10), ("unsynced-answer", 10)];

/// What goes to the simulator as it stands here.
#[derive(Args)]
pub(crate) struct SimulateArgs {
    /// Arguments of the simulator: `--seed N`, `--seeds M`, `--trace`, `--mutant NAME`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs what somebody asked for.
pub(crate) fn ask(workspace: &Workspace, asked: &SimulateArgs) -> Result<String, Failure> {
    let plants = asked.arguments.iter().any(|argument| argument.starts_with("--mutant"));
    stream(simulator(workspace, plants).args(&asked.arguments), REMEDY)?;
    Ok("the simulator has said what it found".into())
}

/// Runs CI's share: seeds that must find nothing, and planted bugs that must be found.
pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    stream(simulator(workspace, false).args(["--seeds", &SEEDS.to_string()]), REMEDY)?;
    let of_keys = ["--keys", "--decisions", &KEYS_COMMANDS.to_string()];
    stream(simulator(workspace, false).args(of_keys).args(["--seeds", &KEYS_SEEDS.to_string()]), REMEDY)?;
    for (bug, seeds) in PLANTED {
        stream(simulator(workspace, true).args(["--mutant", bug, "--seeds", &seeds.to_string()]), WEAKER)?;
    }
    for (bug, seeds) in PLANTED_IN_KEYS {
        stream(simulator(workspace, true).args(of_keys).args(["--mutant", bug, "--seeds", &seeds.to_string()]), WEAKER)?;
    }
    let planted = PLANTED.len() + PLANTED_IN_KEYS.len();
    Ok(format!("{SEEDS} seeds and {KEYS_SEEDS} of the keys found nothing, and {planted} planted bugs were found"))
}

fn simulator(workspace: &Workspace, plants: bool) -> Command {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--profile", "simulate", "-p", "nevertwice-simulator"]);
    if plants {
        command.args(["--features", "mutants"]);
    }
    command.arg("--");
    command
}
