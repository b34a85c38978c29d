//! The keys by which signatures are checked, and which of them a JWT gets.
//!
//! A key is for one algorithm, and that is said by the file that it comes from, never by a JWT: a public key is never taken for
//! a secret, whatever `alg` says (RFC 8725, section 2.1).

use ring::hmac;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};

use super::algorithm::JwtAlgorithm;
use super::compact::Compact;
use super::wrong::Wrong;

/// All keys that are known.
#[derive(Debug, Default)]
pub(crate) struct JwtKeys {
    pub(super) public: Vec<PublicKey>,
    /// They have no ids, and all of them are tried; there are few.
    pub(super) secrets: Vec<hmac::Key>,
}

/// A public key, and by which id it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    pub(super) id: Option<String>,
    pub(super) material: Material,
}

/// What a public key is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Material {
    /// Modulus and exponent, without zeros before them.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point on P-256, uncompressed.
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

impl Material {
    pub(super) const fn algorithm(&self) -> JwtAlgorithm {
        match self {
            Self::Rsa { .. } => JwtAlgorithm::Rs256,
            Self::P256(_) => JwtAlgorithm::Es256,
            Self::Ed25519(_) => JwtAlgorithm::EdDsa,
        }
    }

    fn has_signed(&self, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            Self::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature),
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(signed, signature),
        };
        checked.is_ok()
    }
}

impl JwtKeys {
    /// How many there are, public ones and secrets.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.public.len(), self.secrets.len())
    }

    /// Whether one of the keys has signed it.
    pub(crate) fn check(&self, jwt: &Compact<'_>) -> Result<(), Wrong> {
        if jwt.algorithm.is_by_secret() {
            if self.secrets.is_empty() {
                return Err(Wrong::KeyUnknown);
            }
            let is_signed = self.secrets.iter().any(|secret| hmac::verify(secret, jwt.signed, &jwt.signature).is_ok());
            return if is_signed { Ok(()) } else { Err(Wrong::Signature) };
        }
        let key = self.choose(jwt.algorithm, jwt.kid.as_deref())?;
        if key.material.has_signed(jwt.signed, &jwt.signature) { Ok(()) } else { Err(Wrong::Signature) }
    }

    /// The key of that id; or the only one that fits, where either the JWT or the key names none.
    fn choose(&self, algorithm: JwtAlgorithm, kid: Option<&str>) -> Result<&PublicKey, Wrong> {
        let fits = |key: &&PublicKey| key.material.algorithm() == algorithm;
        if let Some(named) = self.public.iter().filter(fits).find(|key| kid.is_some() && key.id.as_deref() == kid) {
            return Ok(named);
        }
        let mut fitting = self.public.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) if kid.is_none() || only.id.is_none() => Ok(only),
            (Some(_), Some(_)) if kid.is_none() => Err(Wrong::KeyUnclear),
            _ => Err(Wrong::KeyUnknown),
        }
    }
}
