//! A door whose files are given as texts, for the fuzz targets.

use std::sync::Arc;

use super::configured::ConfiguredKeys;
use super::door::Door;
use super::jwt::{Issuer, jwt_keys};
use super::keys::{self, Keys};
use crate::config::Config;
use crate::metrics::{Metrics, WatchedFile};
use crate::watched::Watched;

/// What the files of a door hold.
pub(crate) struct Files<'a> {
    pub(crate) keys: &'a [u8],
    pub(crate) jwks: &'a [u8],
    pub(crate) secrets: &'a [u8],
}

impl Door {
    /// A door that the configuration describes, with files that are nowhere.
    pub(crate) fn holding(config: &Config, files: &Files<'_>) -> Result<Self, String> {
        let metrics = Arc::new(Metrics::new());
        let (keys, jwt) = (files.keys.to_vec(), (files.jwks.to_vec(), files.secrets.to_vec()));
        let keys = Watched::open(WatchedFile::Keys, Vec::new(), 0, Arc::clone(&metrics), move |_| keys::read(&keys).map(Keys::of));
        let jwt = Watched::open(WatchedFile::Jwt, Vec::new(), 0, metrics, move |_| jwt_keys(&jwt.0, &jwt.1));
        Ok(Self {
            configured: ConfiguredKeys::of(config),
            keys: Some(Arc::new(keys.map_err(|error| error.to_string())?)),
            issuer: Issuer::of(config, jwt.map_err(|error| error.to_string())?),
            is_open: false,
        })
    }
}
