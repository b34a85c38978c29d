//! From the files of the configuration to keys.

use std::path::PathBuf;

use super::algorithm::JwtAlgorithms;
use super::keys::JwtKeys;
use super::{jwks, public_key, secret};
use crate::config::Config;

/// The largest of the files.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a file holds: said by the setting that names it, never by the file.
#[derive(Clone, Copy, Debug)]
enum Holds {
    Jwks,
    PublicKey,
    Secrets,
}

/// The files from which keys come.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    files: Vec<(Holds, PathBuf)>,
    algorithms: JwtAlgorithms,
}

impl Sources {
    pub(super) fn of(config: &Config) -> Self {
        let named =
            [(Holds::Jwks, &config.jwt_jwks_file), (Holds::PublicKey, &config.jwt_key_file), (Holds::Secrets, &config.jwt_secret_file)];
        let files = named.into_iter().filter_map(|(holds, path)| Some((holds, path.clone()?))).collect();
        Self { files, algorithms: config.jwt_algorithms.clone() }
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(_, path)| path.clone()).collect()
    }

    /// The keys in the files' contents, in the order of the paths.
    pub(super) fn read(&self, contents: &[Vec<u8>]) -> Result<JwtKeys, String> {
        let mut keys = JwtKeys::default();
        for ((holds, path), bytes) in self.files.iter().zip(contents) {
            let named = |wrong: String| format!("{}: {wrong}", path.display());
            match holds {
                Holds::Jwks => keys.public.extend(jwks::read(bytes).map_err(named)?),
                Holds::PublicKey => keys.public.push(public_key::read(bytes).map_err(named)?),
                Holds::Secrets => keys.secrets = secret::read(bytes).map_err(named)?,
            }
        }
        if !keys.public.is_empty() && !keys.public.iter().any(|key| self.algorithms.has(key.material.algorithm())) {
            return Err("none of the public keys is for an algorithm of `jwt_algorithms`".to_owned());
        }
        Ok(keys)
    }
}

/// Reads the files with the keys of JWTs as a start would, and tells how many public keys and secrets there are. Nothing is kept.
///
/// # Errors
/// What is wrong, in words, without what stands in the files.
pub fn check_jwt_files(config: &Config) -> Result<(usize, usize), String> {
    let sources = Sources::of(config);
    let contents = crate::watched::read(&sources.paths(), FILE_BYTES_MAX)?;
    Ok(sources.read(&contents)?.counts())
}
