//! The two keys of the configuration, the simple way: one for the operator, one for services.

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use super::rule::Role;
use crate::config::Config;

/// The keys of the configuration, as digests: comparing digests in constant time tells nothing about a key.
#[derive(Default)]
pub(super) struct ConfiguredKeys {
    operator: Option<[u8; 32]>,
    service: Option<[u8; 32]>,
}

impl ConfiguredKeys {
    pub(super) fn of(config: &Config) -> Self {
        let digest_of = |secret: &crate::config::Secret| digest(secret.reveal().as_bytes());
        Self { operator: config.operator_key.as_ref().map(digest_of), service: config.service_key.as_ref().map(digest_of) }
    }

    /// Whose key it is.
    pub(super) fn role(&self, presented: &[u8]) -> Role {
        let presented = digest(presented);
        // Both are compared, whichever matches.
        let is = |known: &Option<[u8; 32]>| known.as_ref().map_or(Choice::from(0), |known| known.ct_eq(&presented));
        let (operator, service) = (is(&self.operator), is(&self.service));
        if bool::from(operator) {
            Role::Operator
        } else if bool::from(service) {
            Role::Service
        } else {
            Role::Nobody
        }
    }
}

impl std::fmt::Debug for ConfiguredKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfiguredKeys").finish_non_exhaustive()
    }
}

fn digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}
