//! `nevertwice migrate`: makes the tables of the ledger.

use std::process::ExitCode;

use nevertwice_server::config::load;
use nevertwice_server::migrate_ledger;

use crate::serve;

/// The settings are those of `serve`, and the server makes the tables by itself at its start: this is for who lets nobody but himself
/// change tables.
#[derive(Debug, clap::Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    settings: serve::Arguments,
}

/// Makes the tables; what stops it is told on stderr.
pub(crate) fn run(arguments: &MigrateArgs) -> ExitCode {
    match arguments.settings.sources().and_then(|sources| load(&sources)).and_then(|config| migrate_ledger(&config)) {
        Ok(address) => {
            println!("the tables of the ledger {address} are those of this version");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("nevertwice migrate: {error}");
            ExitCode::FAILURE
        }
    }
}
