//! Where keys are kept: in a database, on a Redis server, in a folder, or in memory.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, KeyStore};
use nevertwice_idempotency::proxy::{ProxyConfig, ProxyError};
use nevertwice_idempotency::{MemoryStore, Secrets};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KeyStoreOptions, LocalKeyStore};
use tokio::runtime::Runtime;

use super::{database, redis_store};

/// What tells in the folder with which secret its keys were named, without telling the secret.
const NOTE: &str = "proxy-secret.check";

/// A store, and the secret that belongs to it.
pub(super) struct Opened {
    pub(super) store: Arc<dyn KeyStore>,
    pub(super) secrets: Option<Secrets>,
}

/// Opens the store that the settings name. It blocks. Connections that it makes live on the runtime.
pub(super) fn open(config: &ProxyConfig, runtime: &Runtime) -> Result<Opened, ProxyError> {
    let secrets = config.secrets()?;
    let known = |setting: &str| {
        secrets.clone().ok_or_else(|| {
            ProxyError::configuration(format!(
                "`{setting}` came without `secret_file`: keys that outlive this process need a secret that does; make one by `openssl rand -hex 32`"
            ))
        })
    };
    if let Some(url) = &config.store.url {
        let known = known("store.url")?;
        return match url.scheme() {
            "redis" | "rediss" => runtime.block_on(redis_store::open(config, url, known)),
            _ => runtime.block_on(database::open(config, url, known)),
        };
    }
    let Some(data) = &config.data else {
        return Ok(Opened { store: Arc::new(MemoryStore::new(config.store.memory_bounds())), secrets });
    };
    let known = known("data")?;
    let storage = FileStorage::create(data).map_err(|error| ProxyError {
        code: ErrorCode::DataFolderInvalid,
        detail: format!("{} can't be used: {error}. Nothing was started. Name a folder that can be made and written.", data.display()),
    })?;
    check(data, &known)?;
    let options = KeyStoreOptions {
        records_max: config.store.records_max,
        answers_bytes_max: config.store.answers_bytes_max,
        of_one: config.store.of_one(),
        answer_bytes_max: config.store.answer_bytes_max,
        ..KeyStoreOptions::default()
    };
    let opened = LocalKeyStore::open(Arc::new(storage), Arc::new(SystemClock), &options);
    let (store, report) = opened.map_err(|error| ProxyError { code: error.code(), detail: format!("{}: {error}.", data.display()) })?;
    note(data, &known)?;
    tracing::info!(data = %data.display(), records = report.records, took = ?report.took, "keys recovered");
    for bad in report.bad_snapshots {
        tracing::warn!(snapshot = bad, "a snapshot of keys does not count; the one before it does");
    }
    Ok(Opened { store: Arc::new(store), secrets: Some(known) })
}

/// Refuses a secret that is not the folder's: no key would be known under it, and what was carried out would run again.
fn check(data: &Path, secrets: &Secrets) -> Result<(), ProxyError> {
    let noted = match std::fs::read_to_string(data.join(NOTE)) {
        Ok(noted) => noted,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(data, &error)),
    };
    if secrets.marks().iter().any(|mark| hexadecimal(mark) == noted.trim_end()) {
        return Ok(());
    }
    Err(ProxyError::configuration(format!(
        "The keys in {} were named under another secret than the one of `secret_file`: under this one none would be known, and retries would run again. Name the right file; to change the secret, name the old one by `previous_secret_file` for one retention",
        data.display()
    )))
}

/// Notes the secret that counts from now on, unless it is noted. The note appears whole or not at all: a half of it would be taken for
/// another secret's.
fn note(data: &Path, secrets: &Secrets) -> Result<(), ProxyError> {
    let [mark, ..] = secrets.marks()[..] else { return Ok(()) };
    let (file, text) = (data.join(NOTE), format!("{}\n", hexadecimal(&mark)));
    let written = || {
        if std::fs::read_to_string(&file).is_ok_and(|noted| noted == text) {
            return Ok(());
        }
        let new = file.with_extension("tmp");
        let mut making = File::create(&new)?;
        making.write_all(text.as_bytes())?;
        making.sync_all()?;
        std::fs::rename(&new, &file)?;
        File::open(data)?.sync_all()
    };
    written().map_err(|error: std::io::Error| unusable(data, &error))
}

fn unusable(data: &Path, error: &std::io::Error) -> ProxyError {
    let note = data.join(NOTE);
    ProxyError { code: ErrorCode::DataFolderInvalid, detail: format!("{} can't be used: {error}. Nothing was started.", note.display()) }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_secret_than_the_folders_is_refused_and_a_change_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path();
        let (one, two) = (Secrets::new([1; 32]), Secrets::new([2; 32]));
        assert!(check(data, &one).is_ok(), "nothing is noted yet");
        note(data, &one).expect("it is noted");
        assert!(check(data, &one).is_ok());
        let refused = check(data, &two).expect_err("it is another");
        assert_eq!(refused.code, ErrorCode::ConfigurationInvalid);
        let changing = Secrets::changing([2; 32], [1; 32]);
        assert!(check(data, &changing).is_ok());
        note(data, &changing).expect("it is noted");
        assert!(check(data, &two).is_ok() && check(data, &one).is_err());
        let noted = std::fs::read_to_string(data.join(NOTE)).expect("it is there");
        assert!(!noted.contains(&hexadecimal(&[2; 32])), "the secret itself is not noted");
    }
}
