//! Opens the local backend, or a standby of another server, as the configuration says.

use std::sync::Arc;

use nevertwice_api::{ErrorCode, Level, Observer};
use nevertwice_local::clock::Clock;
use nevertwice_local::error::OpenError;
use nevertwice_local::standby::{Standby, StandbyOptions};
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions, RestoreReport};

use crate::config::Config;
use crate::error::StartError;
use crate::remote::Remote;

/// How long a standby lets the other server wait for the next batch: well under its lease.
const WAIT_MS: u64 = 1_000;

/// Opens the local backend: claims the data folder and recovers what is in it. It blocks.
///
/// # Errors
/// If the folder can't be used.
pub fn open_local(
    config: &Config,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
) -> Result<(LocalBackend, RestoreReport), StartError> {
    let storage = Arc::new(folder(config)?);
    LocalBackend::open(storage, clock, observer, &options(config)).map_err(|error| refuse(config, &error))
}

/// Opens a standby of another server in the data folder. It blocks.
///
/// # Errors
/// If the folder can't be used, or holds something else than a standby's copy.
pub fn open_standby(
    config: &Config,
    source: Remote,
    name: &str,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
) -> Result<Standby, StartError> {
    if config.ledger.is_some() {
        return Err(StartError::new(
            ErrorCode::ConfigurationInvalid,
            "`ledger` is set, and a standby writes none. Nothing was started. Leave it out; once the standby is promoted and stopped, start its folder with `serve` and the ledger.",
        ));
    }
    let storage = Arc::new(folder(config)?);
    let interrupt = source.interrupt();
    let options = StandbyOptions { name: name.to_owned(), wait_ms: WAIT_MS, local: options(config) };
    Standby::open(storage, clock, observer, Box::new(source), move || interrupt.interrupt(), options)
        .map_err(|error| refuse(config, &error))
}

fn folder(config: &Config) -> Result<FileStorage, StartError> {
    FileStorage::create(&config.data).map_err(|error| {
        StartError::new(
            ErrorCode::DataFolderInvalid,
            format!(
                "{} can't be used: {error}. Nothing was started. Name a folder that can be made and written with `data`.",
                config.data.display()
            ),
        )
    })
}

fn options(config: &Config) -> LocalOptions {
    LocalOptions {
        // A ledger follows what is durable here.
        level: if config.level == Level::Ledgered { Level::Journaled } else { config.level },
        queue_max: config.queue_max,
        snapshot_bytes: config.snapshot_bytes,
        replicas_min: config.replicas_min,
        replicas_wait_ms: config.replicas_wait_ms,
        ..LocalOptions::default()
    }
}

fn refuse(config: &Config, error: &OpenError) -> StartError {
    StartError::new(error.code(), format!("{}: {error}.", config.data.display()))
}
