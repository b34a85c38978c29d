//! The algorithms by which a JWT may be signed, and which of them are allowed.

use std::str::FromStr;

use serde::Deserialize;

/// How a JWT is signed (RFC 7518, RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtAlgorithm {
    /// RSA PKCS #1 v1.5 with SHA-256 and 2048 to 8192 bits.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// HMAC with SHA-256: whoever can check it can make it.
    Hs256,
}

impl JwtAlgorithm {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Rs256, Self::Es256, Self::EdDsa, Self::Hs256];

    /// The word for it in a header.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Hs256 => "HS256",
        }
    }

    /// Whether a secret checks it, and not a public key.
    #[must_use]
    pub const fn is_by_secret(self) -> bool {
        matches!(self, Self::Hs256)
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.word() == word)
    }
}

/// The algorithms that are allowed, separated by commas: `ES256, EdDSA`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct JwtAlgorithms(Vec<JwtAlgorithm>);

impl JwtAlgorithms {
    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is one of them.
    #[must_use]
    pub fn has(&self, algorithm: JwtAlgorithm) -> bool {
        self.0.contains(&algorithm)
    }

    /// Whether one of them is checked by a secret (`true`), or by a public key (`false`).
    #[must_use]
    pub fn has_any(&self, by_secret: bool) -> bool {
        self.0.iter().any(|algorithm| algorithm.is_by_secret() == by_secret)
    }
}

impl FromStr for JwtAlgorithms {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let mut algorithms = Vec::new();
        for word in words {
            let algorithm = JwtAlgorithm::of(word).ok_or_else(|| {
                format!("`jwt_algorithms` names `{}`, which is none of RS256, ES256, EdDSA and HS256", word.escape_debug())
            })?;
            if algorithms.contains(&algorithm) {
                return Err(format!("`jwt_algorithms` names {word} twice"));
            }
            algorithms.push(algorithm);
        }
        Ok(Self(algorithms))
    }
}

impl TryFrom<String> for JwtAlgorithms {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
