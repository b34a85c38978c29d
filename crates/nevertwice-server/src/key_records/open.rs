//! With which store a server works.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nevertwice_api::{ErrorCode, KeyStore, ShareBounds};
use nevertwice_idempotency::{Clock as StoreClock, MemoryBounds, MemoryStore};
use nevertwice_local::LocalKeyStore;
use nevertwice_local::clock::Clock;
use tokio::time::Duration;

use super::KeyRecords;
use super::store::{Bounds, KeySecrets};
use crate::config::Config;
use crate::error::StartError;
use crate::metrics::Metrics;

/// A store of keys that somebody else has opened.
#[derive(Clone)]
pub struct KeyParts {
    /// The store.
    pub store: Arc<dyn KeyStore>,
    /// Under which the store's records are named: 32 random bytes, the same as long as the store lives.
    pub secret: [u8; 32],
    /// The secret before it, for one retention after it was changed: so that no key is forgotten.
    pub previous_secret: Option<[u8; 32]>,
    /// The same store and its folder, where backups may copy them.
    pub copied: Option<(Arc<LocalKeyStore>, PathBuf)>,
}

impl fmt::Debug for KeyParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyParts").field("store", &self.store.name()).finish_non_exhaustive()
    }
}

/// The clock of the server, for the store.
struct ServerClock(Arc<dyn Clock>);

impl StoreClock for ServerClock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }
}

impl KeyRecords {
    /// The store that was opened; if there is none, a store in this process's memory, which ends with it as its secret does.
    pub(crate) fn open(
        config: &Config,
        parts: Option<KeyParts>,
        clock: &Arc<dyn Clock>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let KeyParts { store, secret: present, previous_secret: previous, copied } = match parts {
            Some(parts) => parts,
            None => KeyParts { store: memory(config, clock), secret: drawn()?, previous_secret: None, copied: None },
        };
        let bounds =
            Bounds { lease_ms: config.keys_lease_ms, lease_ms_max: config.keys_lease_ms_max, retention_ms: config.keys_retention_ms };
        let deadline = Duration::from_millis(config.answer_deadline_ms);
        Ok(Self::new(store, KeySecrets { present, previous }, bounds, deadline, Arc::clone(metrics)).copied_from(copied))
    }
}

fn memory(config: &Config, clock: &Arc<dyn Clock>) -> Arc<dyn KeyStore> {
    let bounds = MemoryBounds {
        records_max: config.keys_records_max,
        answers_bytes_max: config.keys_answers_bytes_max,
        answer_bytes_max: config.keys_answer_bytes_max,
        of_one: of_one(config),
    };
    Arc::new(MemoryStore::with_clock(bounds, Arc::new(ServerClock(Arc::clone(clock)))))
}

/// What one principal may hold of any store.
pub(super) const fn of_one(config: &Config) -> ShareBounds {
    ShareBounds { records_max: config.keys_records_per_principal_max, answers_bytes_max: config.keys_answers_bytes_per_principal_max }
}

fn drawn() -> Result<[u8; 32], StartError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| {
        StartError::new(
            ErrorCode::Internal,
            format!("The system gives no random numbers: {error}. Nothing was started. Start it on a system that does."),
        )
    })?;
    Ok(secret)
}
