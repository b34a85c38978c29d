//! The store of keys of `serve` and `standby`, as the configuration names it.

use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_local::clock::SystemClock;
use nevertwice_redis::clock::MachineClock;
use nevertwice_redis::{Address, KeyStoreOpenError, LinkOptions, RedisKeyOptions, RedisKeyStore};
use nevertwice_server::config::{Config, KeysStore};
use nevertwice_server::{KeyParts, LocalKeys, SharedKeysSecret, StartError};
use tokio::runtime::Runtime;

/// A store of keys that was opened.
pub(crate) enum KeysOpened {
    /// None: the server makes one in its memory.
    Memory,
    /// In a folder.
    Local(LocalKeys),
    /// On a Redis server.
    Redis(KeyParts),
}

impl KeysOpened {
    /// Opens the store. It blocks. A connection that it makes lives on the runtime.
    pub(crate) fn open(config: &Config, runtime: &Runtime) -> Result<Self, StartError> {
        if let KeysStore::Redis(address) = &config.keys_store {
            return runtime.block_on(on_redis(config, address.reveal())).map(Self::Redis);
        }
        let local = LocalKeys::open(config, Arc::new(SystemClock))?;
        Ok(local.map_or(Self::Memory, Self::Local))
    }

    /// What a server needs of it.
    pub(crate) fn parts(&self) -> Option<KeyParts> {
        match self {
            Self::Memory => None,
            Self::Local(keys) => Some(keys.parts()),
            Self::Redis(parts) => Some(parts.clone()),
        }
    }

    /// Ends what this process has begun. It blocks.
    pub(crate) fn stop(&self) {
        match self {
            Self::Local(keys) => keys.stop(),
            Self::Memory | Self::Redis(_) => {}
        }
    }
}

async fn on_redis(config: &Config, address: &str) -> Result<KeyParts, StartError> {
    let address: Address = address.parse().map_err(|error| refuse(format!("`keys_store` is no address: {error}")))?;
    let shown = address.to_string();
    let SharedKeysSecret { secret, previous_secret, marks } = SharedKeysSecret::load(config)?;
    let opened = RedisKeyStore::open(address, options(config), Arc::new(MachineClock)).await;
    let store = opened.map_err(|error| match &error {
        KeyStoreOpenError::Link(_) | KeyStoreOpenError::Refused(_) => unavailable(&shown, &error),
        KeyStoreOpenError::Unfit(_) => refuse(format!("The server at {shown} can't keep keys: {error}")),
    })?;
    if !store.note_secret(&marks).await.map_err(|failure| unavailable(&shown, &failure))? {
        return Err(refuse(format!(
            "The keys at {shown} were named under another secret than the one of `keys_secret_file`: under this one none would be known, and retries would run again"
        )));
    }
    tracing::info!(store = shown, "keys are kept on a server");
    Ok(KeyParts { store: Arc::new(store), secret, previous_secret, copied: None })
}

fn options(config: &Config) -> RedisKeyOptions {
    RedisKeyOptions {
        records_max: config.keys_records_max,
        bodies_bytes_max: config.keys_answers_bytes_max,
        answer_bytes_max: config.keys_answer_bytes_max,
        level: config.keys_level,
        replicas: config.keys_replicas,
        wait_ms: config.keys_replicas_wait_ms,
        is_fsync_vouched: config.keys_fsync_vouched,
        link: LinkOptions { reply_ms: config.answer_deadline_ms, ..LinkOptions::default() },
        ..RedisKeyOptions::default()
    }
}

fn refuse(wrong: String) -> StartError {
    let detail = format!("{wrong}. Nothing was started. Correct the settings; docs/keys-redis.md says what the server must be.");
    StartError { code: ErrorCode::ConfigurationInvalid, detail }
}

fn unavailable(shown: &str, error: &dyn std::error::Error) -> StartError {
    let detail = format!("{shown}: {error}. Nothing was started. Look whether the server runs there, and lets this process in.");
    StartError { code: ErrorCode::KeyStoreUnavailable, detail }
}
