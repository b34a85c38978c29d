//! The secret under which keys are named that several processes share.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::local::FILE;
use crate::config::Config;
use crate::error::StartError;

/// The secret under which several processes name the keys that they share.
pub struct SharedKeysSecret {
    /// The secret.
    pub secret: [u8; 32],
    /// What tells it from others without telling it, to be noted beside the keys.
    pub mark: [u8; 32],
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
        let mark = Sha256::new_with_prefix(b"nevertwice shared keys secret mark 1").chain_update(secret).finalize().into();
        Ok(Self { secret, mark })
    }
}
