//! Where keys are kept: in a database, on a Redis server, in a folder, or in memory.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, KeyStore};
use nevertwice_idempotency::proxy::{ProxyConfig, ProxyError};
use nevertwice_idempotency::{MemoryStore, Secrets};
use nevertwice_local::clock::{Clock as _, SystemClock};
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{KeyStoreOptions, LocalKeyStore};
use nevertwice_server::{SecretChangeError, check_secret_change, note_secret_change, write_note};
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
                "`{setting}` came without `secret_file`: keys that outlive this process need a secret that does; make one by `(umask 077 && openssl rand -hex 32 > FILE)`"
            ))
        })
    };
    if let Some(url) = &config.store.url {
        let known = known("store.url")?;
        return match url.scheme() {
            "redis" | "rediss" => runtime.block_on(redis_store::open(config, url, known)),
            "sqlite" | "postgres" | "postgresql" => runtime.block_on(database::open(config, url, known)),
            _ => Err(ProxyError::configuration("`store.url` begins with redis://, rediss://, postgres:// or sqlite:")),
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
    check_note(data, &known)?;
    let now_ms = SystemClock.now_ms();
    check_change(data, &known, now_ms)?;
    let options = KeyStoreOptions {
        records_max: config.store.records_max,
        answers_bytes_max: config.store.answers_bytes_max,
        of_one: config.store.of_one(),
        answer_bytes_max: config.store.answer_bytes_max,
        ..KeyStoreOptions::default()
    };
    let opened = LocalKeyStore::open(Arc::new(storage), Arc::new(SystemClock), &options);
    let (store, report) = opened.map_err(|error| ProxyError { code: error.code(), detail: format!("{}: {error}.", data.display()) })?;
    note(data, &known, now_ms.saturating_add(config.retention_ms_max()))?;
    tracing::info!(data = %data.display(), records = report.records, took = ?report.took, "keys recovered");
    for bad in report.bad_snapshots {
        tracing::warn!(snapshot = bad, "a snapshot of keys does not count; the one before it does");
    }
    Ok(Opened { store: Arc::new(store), secrets: Some(known) })
}

/// Refuses a secret that is not the folder's: no key would be known under it, and what was carried out would run again.
pub(crate) fn check_note(data: &Path, secrets: &Secrets) -> Result<(), ProxyError> {
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

/// Refuses to go on without the secret before this one while keys that it has named are remembered.
pub(crate) fn check_change(data: &Path, secrets: &Secrets, now_ms: i64) -> Result<(), ProxyError> {
    let marks: Vec<String> = secrets.marks().iter().map(|mark| hexadecimal(mark)).collect();
    check_secret_change(data, &marks, now_ms).map_err(|error| change_refused(data, &error))
}

fn change_refused(data: &Path, error: &SecretChangeError) -> ProxyError {
    ProxyError::configuration(format!("{}: {error} (`previous_secret_file`)", data.display()))
}

/// Notes the secret that counts from now on, unless it is noted, and until when the one before it is needed.
fn note(data: &Path, secrets: &Secrets, needed_until_ms: i64) -> Result<(), ProxyError> {
    let marks = secrets.marks();
    if let [_, previous, ..] = &marks[..] {
        note_secret_change(data, &hexadecimal(previous), needed_until_ms).map_err(|error| change_refused(data, &error))?;
    }
    let [mark, ..] = marks[..] else { return Ok(()) };
    let text = format!("{}\n", hexadecimal(&mark));
    if std::fs::read_to_string(data.join(NOTE)).is_ok_and(|noted| noted == text) {
        return Ok(());
    }
    write_note(data, NOTE, &text).map_err(|error| unusable(data, &error))
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
        assert!(check_note(data, &one).is_ok(), "nothing is noted yet");
        note(data, &one, 1_000).expect("it is noted");
        assert!(check_note(data, &one).is_ok());
        let refused = check_note(data, &two).expect_err("it is another");
        assert_eq!(refused.code, ErrorCode::ConfigurationInvalid);
        let changing = Secrets::changing([2; 32], [1; 32]);
        assert!(check_note(data, &changing).is_ok());
        note(data, &changing, 1_000).expect("it is noted");
        assert!(check_note(data, &two).is_ok() && check_note(data, &one).is_err());
        let refused = check_change(data, &two, 999).expect_err("the one before is left out while it is needed");
        assert!(refused.detail.contains("previous_secret_file"), "{refused}");
        assert!(check_change(data, &changing, 999).is_ok() && check_change(data, &two, 1_000).is_ok());
        let noted = std::fs::read_to_string(data.join(NOTE)).expect("it is there");
        assert!(!noted.contains(&hexadecimal(&[2; 32])), "the secret itself is not noted");
    }
}
