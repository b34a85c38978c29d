//! `nevertwice promote`: makes a standby the server that decides.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nevertwice_server::{Remote, Target};

use crate::copies::read_key;
use crate::output::report;

/// Makes a standby the server that decides. Fence the old server first: stop it, or cut it off from its clients.
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// The standby, such as `http://10.0.0.2:8080`.
    #[arg(long, value_name = "URL")]
    standby: Target,
    /// A file with the standby's operator key; none if it has no keys.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl PromoteArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let key = self.api_key_file.as_deref().map(read_key).transpose()?;
        let promoted = Remote::new(self.standby.clone(), key)?.promote()?;
        report(|out| {
            let before = if promoted.replayed { "had been promoted before" } else { "is promoted" };
            writeln!(out, "{} {before}: it decides from batch {} on, in epoch {}", self.standby, promoted.batch + 1, promoted.epoch)?;
            for shard in &promoted.shards {
                writeln!(out, "{} at {}", shard.shard, shard.position)?;
            }
            writeln!(out, "what the old server acknowledged after that is not here: clients that ask again with their keys find out")?;
            Ok(())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
