//! Which benchmarks run, and how their figures are shown.

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::figure::{Figure, table};
use super::{core, http, keys, keys_memory, local, memory, recovery, standby};

/// Measures how fast it is on this machine.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Which to run; all if none is named.
    #[arg(value_enum)]
    names: Vec<Bench>,
    /// Shows one JSON object a figure instead of a table.
    #[arg(long)]
    json: bool,
    /// Runs a tenth of the work: to see that it runs, not how fast.
    #[arg(long)]
    quick: bool,
}

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// `decide` plus `apply`, alone.
    Core,
    /// The in-process backend, with fsync.
    Local,
    /// The server over HTTP.
    Http,
    /// The layer and the proxy of keys.
    Keys,
    /// Memory of a million keys, of requests whose bodies come slowly, and of clients that do not read.
    KeysMemory,
    /// Memory per remembered key, and the cost of a decision as they grow to ten million.
    Memory,
    /// Recovery of a million entries.
    Recovery,
    /// A primary with a standby: its lag, and answers that wait for it.
    Standby,
}

impl BenchArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let all = Bench::value_variants();
        let chosen = if self.names.is_empty() { all } else { self.names.as_slice() };
        let scale = if self.quick { Scale::Quick } else { Scale::Full };
        let mut figures = Vec::new();
        for bench in chosen {
            eprintln!("measuring {} ...", bench.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()));
            let measured = match bench {
                Bench::Core => core::measure(scale),
                Bench::Local => local::measure(scale)?,
                Bench::Http => http::measure(scale)?,
                Bench::Keys => keys::measure(scale)?,
                Bench::KeysMemory => keys_memory::measure(scale)?,
                Bench::Memory => memory::measure(scale),
                Bench::Recovery => recovery::measure(scale)?,
                Bench::Standby => standby::measure(scale)?,
            };
            let measured: Vec<Figure> = measured.into_iter().map(|figure| scale.mark(figure)).collect();
            if self.json {
                for figure in &measured {
                    println!("{}", serde_json::to_string(figure)?);
                }
            }
            figures.extend(measured);
        }
        if !self.json {
            println!("{}", table(&figures));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How much work a benchmark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// What the figures in the docs were measured with.
    Full,
    /// A tenth.
    Quick,
}

impl Scale {
    /// A figure of a tenth of the work must not pass for one of all of it.
    fn mark(self, mut figure: Figure) -> Figure {
        if self == Self::Quick {
            figure.name.push_str("-quick");
            figure.about = "a tenth of the work: no figure to quote";
        }
        figure
    }

    pub(super) const fn of(self, full: u64) -> u64 {
        match self {
            Self::Full => full,
            Self::Quick => full / 10,
        }
    }
}
