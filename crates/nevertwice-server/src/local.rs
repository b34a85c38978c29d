//! Opens the local backend as the configuration says.

use std::sync::Arc;

use nevertwice_api::{ErrorCode, Observer};
use nevertwice_local::clock::Clock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions, RestoreReport};

use crate::config::Config;
use crate::error::StartError;

/// Opens the local backend: claims the data folder and recovers what is in it. It blocks.
///
/// # Errors
/// If the folder can't be used.
pub fn open_local(
    config: &Config,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
) -> Result<(LocalBackend, RestoreReport), StartError> {
    let storage = FileStorage::create(&config.data).map_err(|error| {
        StartError::new(
            ErrorCode::DataFolderInvalid,
            format!(
                "{} can't be used: {error}. Nothing was started. Name a folder that can be made and written with `data`.",
                config.data.display()
            ),
        )
    })?;
    let options =
        LocalOptions { level: config.level, queue_max: config.queue_max, snapshot_bytes: config.snapshot_bytes, ..LocalOptions::default() };
    LocalBackend::open(Arc::new(storage), clock, observer, &options)
        .map_err(|error| StartError::new(error.code(), format!("{}: {error}.", config.data.display())))
}
