//! `nevertwice promote`: makes a standby the server that decides.

use std::error::Error;
use std::process::ExitCode;

use clap::Args;
use nevertwice_server::Target;

use crate::asking::AskingArgs;
use crate::output::report;

/// Makes a standby the server that decides. Fence the old server first: stop it, or cut it off from its clients.
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// The standby, such as `http://10.0.0.2:8080` or `https://standby.example`.
    #[arg(long, value_name = "URL")]
    standby: Target,
    #[command(flatten)]
    asking: AskingArgs,
}

impl PromoteArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let promoted = self.asking.remote(&self.standby)?.promote()?;
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
