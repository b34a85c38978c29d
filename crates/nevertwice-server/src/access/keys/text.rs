//! What an API key looks like: `nevertwice_{id}_{52 letters and digits}`.
//!
//! The beginning is recognised by whoever scans for leaked secrets; the id says which key it is, so that looking it up compares
//! nothing secret; the rest are 256 random bits.

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE32_NOPAD;
use sha2::{Digest as _, Sha256};

use crate::config::Secret;

/// What every key begins with.
pub(crate) const PREFIX: &str = "nevertwice_";

/// 256 bits in base 32.
const LETTERS: usize = 52;

/// The longest id.
const ID_BYTES_MAX: usize = 32;

/// Words by which other credentials are known.
const RESERVED: &[&str] = &["anyone", "jwt", "local", "nevertwice", "operator", "service"];

/// The id of a key: 1 to 32 small letters, digits and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// Checks length, alphabet, and that it is none of the words by which other credentials are known.
    ///
    /// # Errors
    /// If it is no id; the error says why.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        if !is_id(text) {
            return Err("an id has 1 to 32 small letters, digits and hyphens");
        }
        if RESERVED.contains(&text) {
            return Err("the words anyone, jwt, local, nevertwice, operator and service name other credentials");
        }
        Ok(Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// A new key of that id, with 256 random bits.
pub(super) fn draw(id: &KeyId) -> Result<Secret, getrandom::Error> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)?;
    let letters = BASE32_NOPAD.encode(&bits).to_ascii_lowercase();
    Ok(Secret::new(format!("{PREFIX}{id}_{letters}")))
}

/// The id that a presented text names, if it looks like a key.
pub(super) fn id_of(presented: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(presented).ok()?;
    let (id, letters) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (is_id(id) && letters.len() == LETTERS && letters.bytes().all(is_letter)).then_some(id)
}

/// What is kept of a key.
pub(crate) fn digest(presented: &[u8]) -> [u8; 32] {
    Sha256::digest(presented).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_id_and_no_two_are_the_same() {
        let id = KeyId::new("web-1").expect("an id");
        let (first, second) = (draw(&id).expect("randomness"), draw(&id).expect("randomness"));
        assert_ne!(first, second);
        for key in [&first, &second] {
            let text = key.reveal();
            assert_eq!((text.len(), id_of(text.as_bytes())), ("nevertwice_web-1_".len() + 52, Some("web-1")));
            assert!(!format!("{key:?}").contains("web-1"));
        }
    }

    #[test]
    fn what_looks_otherwise_is_no_key() {
        let letters = "a".repeat(52);
        assert_eq!(id_of(format!("nevertwice_a_{letters}").as_bytes()), Some("a"));
        for text in [
            String::new(),
            letters.clone(),
            format!("nevertwice__{letters}"),
            format!("nevertwice_A_{letters}"),
            format!("nevertwice_a_{letters}a"),
            format!("nevertwice_a_{}", &letters[1..]),
            format!("nevertwice_a_{}A", &letters[1..]),
            format!("nevertwice_a_b_{letters}"),
            format!("Nevertwice_a_{letters}"),
            format!("nevertwice_{}_{letters}", "a".repeat(33)),
        ] {
            assert_eq!(id_of(text.as_bytes()), None, "{text}");
        }
        assert_eq!(id_of(b"nevertwice_a_\xff"), None);
        for id in ["", "operator", "jwt", "Web", "a_b", "a b", &"a".repeat(33)] {
            assert!(KeyId::new(id).is_err(), "{id}");
        }
    }
}
