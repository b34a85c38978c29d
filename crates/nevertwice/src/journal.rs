//! `nevertwice journal inspect`: shows what lies in the journal of a stopped or copied data folder.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use nevertwice_core::Entry;
use nevertwice_local::inspect::{Batch, Inspection};
use nevertwice_local::storage::FileStorage;

use crate::output::report;

/// Looks at a journal.
#[derive(Subcommand, Debug)]
pub(crate) enum JournalCommand {
    /// Shows batches and entries of a stopped or copied data folder. Nothing is changed.
    Inspect(InspectArgs),
}

/// What to show.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The data folder.
    #[arg(long)]
    data: PathBuf,
    /// Shows every entry, not only batches.
    #[arg(long)]
    entries: bool,
    /// Shows only entries of this shard, written `market/NAME` or `sale/NAME`; it implies `--entries`.
    #[arg(long)]
    shard: Option<String>,
    /// Begins with this batch.
    #[arg(long, default_value_t = 0)]
    from_batch: u64,
    /// Stops after so many lines.
    #[arg(long, default_value_t = u64::MAX)]
    lines: u64,
}

impl JournalCommand {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        match self {
            Self::Inspect(arguments) => arguments.run(),
        }
    }
}

impl InspectArgs {
    fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let inspection = Inspection::open(Arc::new(FileStorage::open(&self.data)?))?;
        let mut code = ExitCode::SUCCESS;
        report(|out| {
            for (name, snapshot) in inspection.snapshots()? {
                match snapshot {
                    Ok(verified) => writeln!(out, "snapshot {name}: {} records after batch {}", verified.records, verified.floor.batch)?,
                    Err(bad) => writeln!(out, "snapshot {name} does not count: {bad}")?,
                }
            }
            let mut lines = 0;
            let mut written = Ok(());
            let damage = inspection.batches(|batch| {
                if batch.frame.batch >= self.from_batch {
                    written = self.show(out, batch, &mut lines);
                }
                written.is_ok() && lines < self.lines
            })?;
            written?;
            if let Some(damage) = damage {
                code = ExitCode::FAILURE;
                writeln!(out, "DAMAGE {damage}")?;
            }
            Ok(())
        })?;
        Ok(code)
    }

    fn show(&self, out: &mut dyn Write, batch: &Batch<'_>, lines: &mut u64) -> io::Result<()> {
        let frame = batch.frame;
        if self.shard.is_none() {
            writeln!(
                out,
                "segment {} byte {}: batch {}, {} entries, {} bytes",
                frame.segment,
                frame.offset,
                frame.batch,
                frame.entries,
                frame.payload.len()
            )?;
            *lines += 1;
        }
        if !self.entries && self.shard.is_none() {
            return Ok(());
        }
        for entry in &batch.entries {
            match entry {
                Ok(entry) if self.shard.as_ref().is_none_or(|shard| entry.shard.to_string() == *shard) => writeln!(out, "{}", line(entry))?,
                Ok(_) => continue,
                Err(error) => writeln!(out, "  an entry can't be read: {error}")?,
            }
            *lines += 1;
        }
        Ok(())
    }
}

fn line(entry: &Entry) -> String {
    let Entry { shard, position, at_ms, intent, events, origin, before } = entry;
    let mut line = format!("  {shard} {position} at {at_ms} by {} with {}: {events:?}", intent.principal, intent.key);
    if let Some(origin) = origin {
        line += &format!(", called by {} ({})", origin.caller, origin.role.word());
        line.extend(origin.address.iter().map(|address| format!(" from {address}")));
        line.extend(origin.trace.iter().map(|trace| format!(" in trace {trace}")));
    }
    line.extend(before.iter().map(|before| format!(", before: {before:?}")));
    line
}
