//! Keys on a Redis server, which several proxies may share.

use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_idempotency::Secrets;
use nevertwice_idempotency::proxy::{ProxyConfig, ProxyError, StoreUrl};
use nevertwice_redis::clock::MachineClock;
use nevertwice_redis::{Address, KeyStoreOpenError, LinkOptions, RedisKeyOptions, RedisKeyStore};

use super::store::Opened;

/// Opens the store at that address, and looks whether its keys were named under one of these secrets.
pub(super) async fn open(config: &ProxyConfig, url: &StoreUrl, secrets: Secrets) -> Result<Opened, ProxyError> {
    let address: Address =
        url.reveal().parse().map_err(|error| ProxyError::configuration(format!("`store.url` is no address: {error}")))?;
    let shown = address.to_string();
    let store = RedisKeyStore::open(address, options(config), Arc::new(MachineClock)).await.map_err(|error| refuse(&shown, &error))?;
    match store.note_secret(&secrets.marks()).await {
        Ok(true) => {}
        Ok(false) => {
            return Err(ProxyError::configuration(format!(
                "The keys at {shown} were named under another secret than the one of `secret_file`: under this one none would be known, and retries would run again. Give every process the same file; to change the secret, name the old one by `previous_secret_file` for one retention"
            )));
        }
        Err(failure) => return Err(unavailable(&shown, &failure)),
    }
    tracing::info!(store = shown, "keys are kept on a server");
    Ok(Opened { store: Arc::new(store), secrets: Some(secrets) })
}

fn options(config: &ProxyConfig) -> RedisKeyOptions {
    let store = &config.store;
    RedisKeyOptions {
        records_max: store.records_max,
        bodies_bytes_max: store.answers_bytes_max,
        answer_bytes_max: store.answer_bytes_max,
        level: store.level,
        replicas: store.replicas,
        wait_ms: store.replicas_wait_ms,
        is_fsync_vouched: store.fsync_vouched,
        link: LinkOptions { connect_ms: store.operation_ms, reply_ms: store.operation_ms },
        ..RedisKeyOptions::default()
    }
}

fn refuse(shown: &str, error: &KeyStoreOpenError) -> ProxyError {
    match error {
        KeyStoreOpenError::Link(_) | KeyStoreOpenError::Refused(_) => unavailable(shown, error),
        KeyStoreOpenError::Unfit(_) => ProxyError::configuration(format!("The server at {shown} can't keep keys: {error}")),
    }
}

fn unavailable(shown: &str, error: &dyn std::error::Error) -> ProxyError {
    let detail = format!("{shown}: {error}. Nothing was started. Look whether the server runs there, and lets this process in.");
    ProxyError { code: ErrorCode::KeyStoreUnavailable, detail }
}
