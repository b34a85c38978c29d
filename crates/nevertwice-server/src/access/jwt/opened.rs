//! The readers of the files of keys, open to the fuzz targets.

use super::keys::JwtKeys;
use super::{jwks as set, secret};

/// The ids and algorithms of the keys that can be used.
pub(crate) fn jwks(bytes: &[u8]) -> Result<Vec<(Option<String>, &'static str)>, String> {
    let keys = set::read(bytes)?;
    Ok(keys.into_iter().map(|key| (key.id, key.material.algorithm().word())).collect())
}

/// The keys of a JWKS file and of a file of secrets.
pub(crate) fn jwt_keys(jwks: &[u8], secrets: &[u8]) -> Result<JwtKeys, String> {
    Ok(JwtKeys { public: set::read(jwks)?, secrets: secret::read(secrets)? })
}
