//! `cargo xtask simulate` runs this program.

use std::process::ExitCode;

use clap::Parser;
use nevertwice_simulator::{Plan, Trace, World};

/// How many lines of the trace a finding comes with.
const TAIL: usize = 60;

#[derive(Parser)]
#[command(about = "Runs seeded histories of clients, API, backend and disk, and judges them")]
struct Cli {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// How many decisions each seed makes before it becomes quiet
    #[arg(long, default_value_t = 20_000)]
    decisions: u64,
    /// Write the whole trace of the first seed
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    for seed in cli.seed..cli.seed + cli.seeds {
        let started = std::time::Instant::now();
        let plan = Plan::of(seed, cli.decisions);
        let (ended, trace) = World::run(&plan, if cli.trace { Trace::kept() } else { Trace::default() });
        if cli.trace {
            print!("{}", trace.text());
        }
        match ended {
            Ok(counts) => println!("seed {seed}: {:?} {counts:?}", started.elapsed()),
            Err(finding) => {
                println!("seed {seed}: {finding}");
                if !cli.trace {
                    let (_, trace) = World::run(&plan, Trace::kept());
                    println!("{}", trace.about(&finding.about, TAIL).join("\n"));
                    println!("...\n{}", trace.tail(TAIL));
                }
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
