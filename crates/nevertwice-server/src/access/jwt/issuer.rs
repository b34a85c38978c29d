//! The issuer whose JWTs are taken, and what its JWTs are held to.

use std::sync::Arc;

use nevertwice_core::Principal;

use super::algorithm::JwtAlgorithms;
use super::claims::{Claims, Demands};
use super::compact::Compact;
use super::keys::JwtKeys;
use super::sources::{FILE_BYTES_MAX, Sources};
use super::wrong::Wrong;
use crate::access::caller::CredentialName;
use crate::access::scope::Scope;
use crate::config::Config;
use crate::error::StartError;
use crate::metrics::{Metrics, WatchedFile};
use crate::refusal::Refusal;
use crate::watched::Watched;

/// The issuer whose JWTs are taken.
#[derive(Debug)]
pub(crate) struct Issuer {
    keys: Arc<Watched<JwtKeys>>,
    algorithms: JwtAlgorithms,
    demands: Demands,
    scope: Scope,
    name: Arc<str>,
}

/// Whether a presented text, which is no key of the server's, is to be read as a JWT: it has parts. Whoever sends two or four of
/// them hears what is wrong with the JWT, and not that nothing was sent.
pub(crate) fn looks_like_jwt(presented: &[u8]) -> bool {
    presented.contains(&b'.')
}

impl Issuer {
    /// Reads the keys, if the configuration names an issuer.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<Self>, StartError> {
        if !config.has_jwt() {
            return Ok(None);
        }
        let sources = Sources::of(config);
        let paths = sources.paths();
        let parse = move |contents: &[Vec<u8>]| {
            let keys = sources.read(contents)?;
            let (public, secrets) = keys.counts();
            tracing::info!(public, secrets, "the keys of JWTs were read");
            Ok(keys)
        };
        let keys = Watched::open(WatchedFile::Jwt, paths, FILE_BYTES_MAX, Arc::clone(metrics), parse)?;
        Ok(Self::of(config, keys))
    }

    /// The issuer that the configuration names, if it names one, with these keys.
    pub(in crate::access) fn of(config: &Config, keys: Watched<JwtKeys>) -> Option<Self> {
        let (issuer, audience) = (config.jwt_issuer.as_ref()?, config.jwt_audience.as_ref()?);
        Some(Self {
            keys: Arc::new(keys),
            algorithms: config.jwt_algorithms.clone(),
            demands: Demands { issuer: issuer.clone(), audience: audience.clone(), leeway_ms: config.jwt_leeway_ms },
            scope: config.jwt_shards.scope(),
            name: CredentialName::of_issuer(issuer),
        })
    }

    /// The files that it is made from.
    pub(crate) fn files(&self) -> Arc<Watched<JwtKeys>> {
        Arc::clone(&self.keys)
    }

    /// By which name its JWTs are known; never a part of a JWT.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// For which shards its JWTs are.
    pub(crate) fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Whom a JWT is about, as of an instant, if it is genuine and holds here.
    pub(crate) fn subject(&self, presented: &[u8], now_ms: i64) -> Result<Principal, Refusal> {
        self.check(presented, now_ms).map_err(Wrong::refusal)
    }

    fn check(&self, presented: &[u8], now_ms: i64) -> Result<Principal, Wrong> {
        let jwt = Compact::read(presented)?;
        if !self.algorithms.has(jwt.algorithm) {
            return Err(Wrong::Algorithm);
        }
        self.keys.now().check(&jwt)?;
        // Whatever it says counts from here on.
        self.demands.check(&jwt.payload::<Claims>()?, now_ms)
    }
}
