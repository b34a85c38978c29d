//! Which key is meant, and under which name the store has it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use nevertwice_api::PrincipalMark;
use nevertwice_core::keys::KeyId;
use nevertwice_core::{IdempotencyKey, Principal};
use sha2::Sha256;

/// Where a key counts: 1 to 128 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyScope(String);

impl KeyScope {
    const BYTES_MAX: usize = 128;

    /// Checks length and alphabet.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let is_scope = (1..=Self::BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_scope.then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which key is meant: whose, where, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyName {
    pub(crate) principal: Principal,
    pub(crate) scope: Option<KeyScope>,
    pub(crate) key: IdempotencyKey,
}

impl KeyName {
    /// The name in the store: without the secret nobody can make another's, or find out whose one is.
    pub(super) fn id(&self, secret: &[u8; 32]) -> KeyId {
        // A key shorter than SHA-256's block is filled up with zeros (RFC 2104, section 2).
        let mut block = [0; 64];
        block[..32].copy_from_slice(secret);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        let scope = self.scope.as_ref().map_or("", KeyScope::as_str);
        // Not the names of the tower layer, whose parts are others.
        for part in ["nevertwice key record 1", self.principal.as_str(), scope, self.key.as_str()] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        KeyId(mac.finalize().into_bytes().into())
    }

    /// Against whose bound a record of it counts.
    pub(super) fn mark(&self, secret: &[u8; 32]) -> PrincipalMark {
        let mut block = [0; 64];
        block[..32].copy_from_slice(secret);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(b"nevertwice key principal 1");
        mac.update(self.principal.as_str().as_bytes());
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        PrincipalMark::of(u64::from_le_bytes(std::array::from_fn(|byte| digest[byte])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(principal: &str, scope: Option<&str>, key: &str) -> KeyName {
        KeyName {
            principal: Principal::new(principal).expect("a principal"),
            scope: scope.map(|scope| KeyScope::new(scope).expect("a scope")),
            key: IdempotencyKey::new(key).expect("a key"),
        }
    }

    #[test]
    fn every_part_of_a_name_counts_and_no_two_run_together() {
        let secret = [7; 32];
        let names = [name("a", None, "k"), name("b", None, "k"), name("a", Some("s"), "k"), name("a", None, "sk"), name("as", None, "k")];
        for (number, one) in names.iter().enumerate() {
            for other in &names[number + 1..] {
                assert_ne!(one.id(&secret), other.id(&secret), "{one:?} {other:?}");
            }
            assert_eq!(one.id(&secret), one.clone().id(&secret));
            assert_ne!(one.id(&secret), one.id(&[8; 32]));
        }
    }

    #[test]
    fn a_scope_is_a_short_visible_text() {
        for text in ["", "a b", "caf\u{e9}", "\n", &"s".repeat(129)] {
            assert_eq!(KeyScope::new(text), None, "{text:?}");
        }
        for text in ["a", "POST:/v1/charges", &"s".repeat(128)] {
            assert!(KeyScope::new(text).is_some(), "{text}");
        }
    }
}
