//! Keys in a database, which several proxies may share.

use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_idempotency::Secrets;
use nevertwice_idempotency::proxy::{ProxyConfig, ProxyError, StoreUrl};
use nevertwice_ledger::keys::{SqlKeyOptions, SqlKeyStore};
use nevertwice_ledger::{Address, Database, DatabaseFailure, DatabaseOptions};

use super::store::{Opened, hexadecimal};
use crate::database;

/// Under which the mark of the secret is noted.
const NOTE: &str = "proxy-secret";

/// Opens the store at an address, and makes its tables if they are not there.
pub(super) async fn open(config: &ProxyConfig, url: &StoreUrl, secrets: Secrets) -> Result<Opened, ProxyError> {
    let address = database::address("store.url", url.reveal(), config.store.password_file.as_deref()).map_err(ProxyError::configuration)?;
    let refuse = |failure: DatabaseFailure| ProxyError {
        code: match failure {
            DatabaseFailure::TooNew { .. } => ErrorCode::DataTooNew,
            _ => ErrorCode::KeyStoreUnavailable,
        },
        detail: format!("{address}: {failure}. The proxy was not started."),
    };
    // A command has to end before whoever asked gives up.
    let command_ms_max = config.store.operation_ms.saturating_mul(3) / 4;
    let options = DatabaseOptions { wait_ms: (command_ms_max / 2).max(1), ..DatabaseOptions::default() };
    let database = Database::open(&address, &options).await.map_err(refuse)?;
    database.migrate().await.map_err(refuse)?;
    note(&database, &address, &secrets).await?;
    let options = SqlKeyOptions {
        records_max: config.store.records_max,
        answers_bytes_max: config.store.answers_bytes_max,
        answer_bytes_max: config.store.answer_bytes_max,
        command_ms_max,
        ..SqlKeyOptions::default()
    };
    let store = SqlKeyStore::open(&database, options).await.map_err(refuse)?;
    tracing::info!(%address, "keys are in a database");
    Ok(Opened { store: Arc::new(store), secrets: Some(secrets) })
}

/// Refuses a secret that is not the one that counts there: no key would be known under it, and what was carried out would run again.
async fn note(database: &Database, address: &Address, secrets: &Secrets) -> Result<(), ProxyError> {
    let refuse = |failure: DatabaseFailure| ProxyError {
        code: ErrorCode::KeyStoreUnavailable,
        detail: format!("{address}: {failure}. The proxy was not started."),
    };
    let marks: Vec<String> = secrets.marks().iter().map(|mark| hexadecimal(mark)).collect();
    let [current, ..] = &marks[..] else { return Ok(()) };
    let noted = database.note_first(NOTE, current).await.map_err(refuse)?;
    let is_noted = match marks.contains(&noted) {
        true if noted == *current => true,
        true => database.note_instead(NOTE, &noted, current).await.map_err(refuse)?,
        false => false,
    };
    if is_noted {
        return Ok(());
    }
    Err(ProxyError::configuration(format!(
        "The keys in {address} were named under another secret than the one of `secret_file`: under this one none would be known, and retries would run again. Give every proxy of this database the same file; to change the secret, name the old one by `previous_secret_file` for one retention"
    )))
}
