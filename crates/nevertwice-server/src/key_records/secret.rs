//! The secret under which keys are named that several processes share.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::local::{FILE, PREVIOUS};
use crate::config::Config;
use crate::error::StartError;

/// The secret under which several processes name the keys that they share.
pub struct SharedKeysSecret {
    /// The secret.
    pub secret: [u8; 32],
    /// The secret before it, while it is being changed.
    pub previous_secret: Option<[u8; 32]>,
    /// What tells them from others without telling them, to be noted beside the keys: of the secret, and of the one before it.
    pub marks: Vec<[u8; 32]>,
}

impl fmt::Debug for SharedKeysSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKeysSecret").finish_non_exhaustive()
    }
}

impl SharedKeysSecret {
    /// Reads the file that the configuration names. None is made: each process would make another.
    ///
    /// # Errors
    /// If it can't be read, or holds no secret.
    pub fn load(config: &Config) -> Result<Self, StartError> {
        let secret = FILE.load_shared(&config.keys_secret_path())?;
        let previous_secret = PREVIOUS.load_if_named(config)?;
        let mark =
            |secret: &[u8; 32]| Sha256::new_with_prefix(b"nevertwice shared keys secret mark 1").chain_update(secret).finalize().into();
        let marks = std::iter::once(&secret).chain(&previous_secret).map(mark).collect();
        Ok(Self { secret, previous_secret, marks })
    }
}
