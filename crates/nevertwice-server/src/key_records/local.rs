//! The store of keys in a folder, with the secret that belongs to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use nevertwice_api::{ErrorCode, Level};
use nevertwice_local::clock::Clock;
use nevertwice_local::error::OpenError;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KeyStoreOptions, KeysRecovered, LocalKeyStore};

use super::KeyParts;
use super::open::of_one;
use crate::config::{Config, KeysStore};
use crate::error::StartError;
use crate::secret_change::{SecretChangeError, check_secret_change, note_secret_change};
use crate::secret_file::{Noted, SecretFile};

/// The small file in a folder of keys that tells the right secret from another: it goes with a copy.
pub const KEYS_NOTE: &str = "keys-secret.check";

pub(super) const FILE: SecretFile =
    SecretFile { name: "secret of keys", setting: "keys_secret_file", data_setting: "data", word: "keys-secret", check: KEYS_NOTE };

/// The file with the secret before it.
pub(super) struct PreviousFile(SecretFile);

pub(super) const PREVIOUS: PreviousFile =
    PreviousFile(SecretFile { name: "previous secret of keys", setting: "keys_previous_secret_file", ..FILE });

impl PreviousFile {
    pub(super) fn load_if_named(&self, config: &Config) -> Result<Option<[u8; 32]>, StartError> {
        config.keys_previous_secret_file.as_deref().map(|path| self.0.load_existing(path)).transpose()
    }

    /// The folder may still say that its keys are named under the previous secret: this start changes it.
    fn check(&self, config: &Config, data: &Path, previous: Option<&[u8; 32]>, refused: StartError) -> Result<(), StartError> {
        match (&config.keys_previous_secret_file, previous) {
            (Some(path), Some(previous)) if self.0.is_noted(data) => self.0.check(path, data, previous).map_err(|_| refused),
            _ => Err(refused),
        }
    }
}

/// A store of keys in a folder, and the secret under which it names them.
pub struct LocalKeys {
    store: Arc<LocalKeyStore>,
    data: PathBuf,
    secret: [u8; 32],
    previous_secret: Option<[u8; 32]>,
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
        match &config.keys_store {
            KeysStore::Memory | KeysStore::Redis(_) => return Ok(None),
            KeysStore::Local => {}
        }
        let (data, path) = (config.keys_path(), config.keys_secret_path());
        let secret = FILE.load_or_create(&path, &data)?;
        let previous = PREVIOUS.load_if_named(config)?;
        FILE.check(&path, &data, &secret).or_else(|refused| PREVIOUS.check(config, &data, previous.as_ref(), refused))?;
        let storage = FileStorage::create(&data).map_err(|error| {
            let wrong = format!("{} can't be used: {error}", data.display());
            StartError::new(
                ErrorCode::DataFolderInvalid,
                format!("{wrong}. Nothing was started. Name a folder that can be made and written with `data`."),
            )
        })?;
        let now_ms = clock.now_ms();
        let marks: Vec<String> = std::iter::once(&secret).chain(&previous).map(|secret| FILE.mark(secret)).collect();
        check_secret_change(&data, &marks, now_ms).map_err(|error| change_refused(&data, &error))?;
        let opened = LocalKeyStore::open(Arc::new(storage), clock, &options(config));
        let (store, report) = opened.map_err(|error| refuse(&data, &error))?;
        if let [_, previous] = &marks[..] {
            let until_ms = now_ms.saturating_add(config.keys_retention_ms);
            note_secret_change(&data, previous, until_ms).map_err(|error| change_refused(&data, &error))?;
        }
        FILE.note_anew(&path, &data, &secret)?;
        if previous.is_some() {
            tracing::info!(retention_ms = config.keys_retention_ms, "the secret of keys is being changed: keys are known under both");
        }
        let KeysRecovered { snapshot, bad_snapshots, changes, records, took, .. } = report;
        tracing::info!(data = %data.display(), ?snapshot, changes, records, ?took, "keys recovered");
        for bad in bad_snapshots {
            tracing::warn!(snapshot = bad, "a snapshot of keys does not count; the one before it does");
        }
        Ok(Some(Self { store: Arc::new(store), data, secret, previous_secret: previous }))
    }

    /// Whether a start would take the secret that is there, or make one. Nothing is written. None where keys are elsewhere.
    ///
    /// # Errors
    /// If a start would refuse it.
    pub fn inspect_secret(config: &Config) -> Option<Result<(), StartError>> {
        let data = config.keys_path();
        let inspect = || {
            let previous = PREVIOUS.load_if_named(config)?;
            let refused = FILE.inspect(&config.keys_secret_path(), &data);
            refused.or_else(|refused| PREVIOUS.check(config, &data, previous.as_ref(), refused))
        };
        (config.keys_store == KeysStore::Local).then(inspect)
    }

    /// Since when keys have been named under the present secret, by the note in their folder: after one retention from then on the
    /// previous one may go. None where the secret is not being changed, or no start has changed it yet.
    #[must_use]
    pub fn changing_since(config: &Config) -> Option<SystemTime> {
        config.keys_previous_secret_file.as_ref()?;
        let path = config.keys_secret_path();
        let noted = FILE.inspect_note(&path, &config.keys_path());
        noted.is_ok_and(|noted| noted == Noted::Compared).then(|| FILE.noted_at(&config.keys_path()))?
    }

    /// What a server needs of it.
    #[must_use]
    pub fn parts(&self) -> KeyParts {
        KeyParts {
            store: Arc::clone(&self.store) as Arc<_>,
            secret: self.secret,
            previous_secret: self.previous_secret,
            copied: Some((Arc::clone(&self.store), self.data.clone())),
        }
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
        answers_bytes_max: config.keys_answers_bytes_max,
        of_one: of_one(config),
        answer_bytes_max: config.keys_answer_bytes_max,
        queue_max: config.queue_max,
        ..KeyStoreOptions::default()
    }
}

fn change_refused(data: &Path, error: &SecretChangeError) -> StartError {
    let detail = format!("{}: {error} (`keys_previous_secret_file`). Nothing was started.", data.display());
    StartError::new(ErrorCode::ConfigurationInvalid, detail)
}

fn refuse(data: &Path, error: &OpenError) -> StartError {
    StartError::new(error.code(), format!("{}: {error}.", data.display()))
}
