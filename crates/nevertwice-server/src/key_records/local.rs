//! The store of keys in a folder, with the secret that belongs to it.

use std::path::Path;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, Level};
use nevertwice_local::clock::Clock;
use nevertwice_local::error::OpenError;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KeyStoreOptions, KeysRecovered, LocalKeyStore};

use super::KeyParts;
use crate::config::{Config, KeysStore};
use crate::error::StartError;
use crate::secret_file::SecretFile;

pub(super) const FILE: SecretFile = SecretFile {
    name: "secret of keys",
    setting: "keys_secret_file",
    data_setting: "data",
    word: "keys-secret",
    check: "keys-secret.check",
};

/// A store of keys in a folder, and the secret under which it names them.
pub struct LocalKeys {
    store: Arc<LocalKeyStore>,
    secret: [u8; 32],
}

impl std::fmt::Debug for LocalKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalKeys").finish_non_exhaustive()
    }
}

impl LocalKeys {
    /// Opens the store that the configuration names; none where it wants keys elsewhere. It blocks.
    ///
    /// Another secret than the one with which the folder was made is refused: no key would be known under it, and what was carried
    /// out would run again.
    ///
    /// # Errors
    /// If the folder or the secret can't be used, or don't belong together.
    pub fn open(config: &Config, clock: Arc<dyn Clock>) -> Result<Option<Self>, StartError> {
        match config.keys_store {
            KeysStore::Memory | KeysStore::Redis(_) => return Ok(None),
            KeysStore::Local => {}
        }
        let (data, path) = (config.keys_path(), config.keys_secret_path());
        let secret = FILE.load_or_create(&path, &data)?;
        FILE.check(&path, &data, &secret)?;
        let storage = FileStorage::create(&data).map_err(|error| {
            let wrong = format!("{} can't be used: {error}", data.display());
            StartError::new(
                ErrorCode::DataFolderInvalid,
                format!("{wrong}. Nothing was started. Name a folder that can be made and written with `data`."),
            )
        })?;
        let opened = LocalKeyStore::open(Arc::new(storage), clock, &options(config));
        let (store, report) = opened.map_err(|error| refuse(&data, &error))?;
        FILE.note(&path, &data, &secret)?;
        let KeysRecovered { snapshot, bad_snapshots, changes, records, took, .. } = report;
        tracing::info!(data = %data.display(), ?snapshot, changes, records, ?took, "keys recovered");
        for bad in bad_snapshots {
            tracing::warn!(snapshot = bad, "a snapshot of keys does not count; the one before it does");
        }
        Ok(Some(Self { store: Arc::new(store), secret }))
    }

    /// Whether a start would take the secret that is there, or make one. Nothing is written. None where keys are elsewhere.
    ///
    /// # Errors
    /// If a start would refuse it.
    pub fn inspect_secret(config: &Config) -> Option<Result<(), StartError>> {
        (config.keys_store == KeysStore::Local).then(|| FILE.inspect(&config.keys_secret_path(), &config.keys_path()))
    }

    /// What a server needs of it.
    #[must_use]
    pub fn parts(&self) -> KeyParts {
        KeyParts { store: Arc::clone(&self.store) as Arc<_>, secret: self.secret }
    }

    /// Answers what came before, seals its journal, and refuses whatever comes from now on. It blocks.
    pub fn stop(&self) {
        self.store.stop();
    }
}

/// Standbys don't follow keys, so `replicated` is nothing that their store could wait for: it is `journaled` then.
fn options(config: &Config) -> KeyStoreOptions {
    let level = if config.level == Level::Decided { Level::Decided } else { Level::Journaled };
    KeyStoreOptions {
        level,
        records_max: config.keys_records_max,
        bodies_bytes_max: config.keys_bodies_bytes_max,
        answer_bytes_max: config.keys_answer_bytes_max,
        queue_max: config.queue_max,
        ..KeyStoreOptions::default()
    }
}

fn refuse(data: &Path, error: &OpenError) -> StartError {
    StartError::new(error.code(), format!("{}: {error}.", data.display()))
}
