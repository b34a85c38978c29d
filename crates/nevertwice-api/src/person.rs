//! Keyed digests of what tells people apart.
//!
//! Entries and tables hold a person's code and e-mail address only as HMAC-SHA-256 under the sale's key. Whoever has the data
//! but not the key can't list the people in it, and destroying the key erases them.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use nevertwice_core::{CandidateId, Code};
use sha2::Sha256;

/// A sale's key. It is a secret: it is not printed, not stored beside the data, and not part of any URL.
#[derive(Clone)]
pub struct SaleKey([u8; 32]);

impl std::fmt::Debug for SaleKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SaleKey(..)")
    }
}

impl SaleKey {
    /// A key of 32 random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key of one sale, made from a secret that serves several.
    #[must_use]
    pub fn derive(secret: &[u8; 32], sale: &str) -> Self {
        Self(digest(secret, &[b"sale", sale.as_bytes()]))
    }

    /// Who the candidate with that code is.
    #[must_use]
    pub fn candidate(&self, code: &Code) -> CandidateId {
        CandidateId(digest(&self.0, &[b"code", code.as_str().as_bytes()]))
    }

    /// The digest of an e-mail address, as [`normal_email`] writes it.
    #[must_use]
    pub fn email(&self, address: &str) -> [u8; 32] {
        digest(&self.0, &[b"email", normal_email(address).as_bytes()])
    }

    /// The fingerprint of a request that names people. A digest without a key would let whoever has the data try out codes.
    #[must_use]
    pub fn fingerprint(&self, unkeyed: &[u8; 32]) -> [u8; 32] {
        digest(&self.0, &[b"fingerprint", unkeyed])
    }
}

/// An e-mail address as it is compared: trimmed and lower-cased (ASCII).
#[must_use]
pub fn normal_email(address: &str) -> String {
    address.trim().to_ascii_lowercase()
}

/// What a person can read out as the reference of a booking: the first 12 base32 letters of the candidate's digest.
#[must_use]
pub fn reference(candidate: &CandidateId) -> String {
    let mut letters = BASE32_NOPAD.encode(&candidate.0);
    letters.truncate(12);
    letters
}

fn digest(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // A key shorter than SHA-256's block is filled up with zeros (RFC 2104, section 2).
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
