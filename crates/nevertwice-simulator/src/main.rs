//! `cargo xtask simulate` runs this program.

use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use nevertwice_simulator::{Campaign, Found, Report, Trace};

/// How many lines of the trace a finding comes with: the last ones, and the last ones that speak of it.
const LINES: usize = 60;

#[derive(Parser)]
#[command(name = "cargo xtask simulate", about = "Runs seeded histories of clients, API, backend and disk, and judges them")]
struct Cli {
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Run the store of keys alone
    #[arg(long)]
    keys: bool,
    /// How many decisions each seed makes, at least, before it becomes quiet
    #[arg(long, default_value_t = 20_000)]
    decisions: u64,
    /// How many seeds run at a time; as many as there are cores if absent
    #[arg(long)]
    threads: Option<usize>,
    /// Write the whole trace of the first seed to the terminal, and run no other
    #[arg(long)]
    trace: bool,
    /// Plant a bug, and succeed only if a seed finds it
    #[cfg(feature = "mutants")]
    #[arg(long, value_parser = mutant)]
    mutant: Option<(&'static str, nevertwice_simulator::Mutant)>,
}

#[cfg(feature = "mutants")]
fn mutant(name: &str) -> Result<(&'static str, nevertwice_simulator::Mutant), String> {
    let all = nevertwice_simulator::Mutant::ALL;
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    all.into_iter().find(|(known, _)| *known == name).ok_or_else(|| format!("there are {}", names.join(", ")))
}

impl Cli {
    fn campaign(&self) -> Campaign {
        Campaign {
            seed: self.seed,
            seeds: self.seeds,
            decisions: self.decisions,
            is_of_keys: self.keys,
            threads: self.threads.unwrap_or_else(|| available_parallelism().map_or(1, Into::into)),
            #[cfg(feature = "mutants")]
            mutant: self.mutant.map(|(_, mutant)| mutant),
        }
    }

    const fn wants_to_find(&self) -> bool {
        #[cfg(feature = "mutants")]
        return self.mutant.is_some();
        #[cfg(not(feature = "mutants"))]
        false
    }

    /// The command that runs one seed again.
    fn again(&self, seed: u64) -> String {
        let mut command = format!("cargo xtask simulate --seed {seed}");
        if self.keys {
            command.push_str(" --keys");
        }
        if self.decisions != 20_000 {
            command.push_str(&format!(" --decisions {}", self.decisions));
        }
        #[cfg(feature = "mutants")]
        if let Some((name, _)) = self.mutant {
            command.push_str(&format!(" --mutant {name}"));
        }
        command
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let campaign = cli.campaign();
    if cli.trace {
        let (ended, trace) = campaign.run_seed(cli.seed, Trace::kept());
        print!("{}", trace.text());
        return if ended.is_ok() == cli.wants_to_find() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let bar = ProgressBar::new(cli.seeds);
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} seeds, {elapsed}, about {eta} more  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.tick();
    let report = campaign.run(|seed, counts| {
        bar.set_message(format!("seed {seed}: {} decisions", counts.decisions));
        bar.inc(1);
    });
    bar.finish_and_clear();
    tell(&cli, &campaign, &report);
    if report.found.is_some() == cli.wants_to_find() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(cli: &Cli, campaign: &Campaign, report: &Report) {
    match &report.found {
        Some(found) if cli.wants_to_find() => {
            println!(
                "the planted bug was found by seed {}, after {} seeds that found nothing: {}",
                found.seed, report.seeds, found.finding
            );
            println!("to see it again: {}", cli.again(found.seed));
        }
        Some(found) => tell_finding(cli, campaign, found),
        None => println!("{} seeds, from {} on: nothing was found", report.seeds, cli.seed),
    }
    let counts: Vec<String> = report
        .counts
        .named()
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {count}", name.replace('_', " ")))
        .collect();
    println!("in all: {}", counts.join(", "));
}

/// A finding, its trace, and how to see it again.
fn tell_finding(cli: &Cli, campaign: &Campaign, found: &Found) {
    let (again, trace) = campaign.run_seed(found.seed, Trace::kept());
    println!("seed {} has found: {}", found.seed, found.finding);
    println!("\nthe last lines of its trace that speak of it:");
    trace.about(&found.finding.about, LINES).iter().for_each(|line| println!("{line}"));
    println!("\nthe last lines of its trace:\n{}", trace.tail(LINES));
    if again.err().as_ref() != Some(&found.finding) {
        println!("the same seed found something else the second time: the simulator does not repeat itself, which is a fault of its own");
    }
    println!("to see it again: {}", cli.again(found.seed));
    println!("with the whole trace: {} --trace", cli.again(found.seed));
}
