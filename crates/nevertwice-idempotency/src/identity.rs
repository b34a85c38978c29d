//! Who calls, and under which name a key is stored.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::request::Parts;
use nevertwice_core::keys::KeyId;
use sha2::Sha256;

use crate::routes::canonical;
use crate::{Policy, Scope};

/// Who calls, as authentication found it. Put it into the request's extensions, or give the layer a function that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The customer of whom the principal is one; empty where there is one only.
    pub tenant: String,
    /// The principal.
    pub principal: String,
}

/// Finds who calls. None means that nobody knows: such a call is refused, unless the route shares its keys on purpose.
pub trait Identify: Send + Sync + 'static {
    /// The caller of the request.
    fn caller(&self, parts: &Parts) -> Option<Caller>;
}

impl<F: Fn(&Parts) -> Option<Caller> + Send + Sync + 'static> Identify for F {
    fn caller(&self, parts: &Parts) -> Option<Caller> {
        self(parts)
    }
}

/// The [`Caller`] in the request's extensions, where authentication has put it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerExtension;

impl Identify for CallerExtension {
    fn caller(&self, parts: &Parts) -> Option<Caller> {
        parts.extensions.get().cloned()
    }
}

/// The secret under which keys are named, and the one before it for as long as keys of its time are remembered.
#[derive(Clone)]
pub struct Secrets {
    current: Secret,
    previous: Option<Secret>,
}

/// A secret as it is used: the digest that has taken it in, to be gone on with.
type Secret = Hmac<Sha256>;

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// One secret of 32 random bytes.
    #[must_use]
    pub fn new(current: [u8; 32]) -> Self {
        Self { current: keyed(&current), previous: None }
    }

    /// During a change: every key is claimed and answered under both, the previous one first, so that processes that know only one
    /// of them never both run a request. Drop the previous one when a retention has passed since the last process of its time.
    #[must_use]
    pub fn changing(current: [u8; 32], previous: [u8; 32]) -> Self {
        Self { current: keyed(&current), previous: Some(keyed(&previous)) }
    }

    /// What tells the secrets from others without telling them: of the current one, and of the previous one if there is one. Noted beside
    /// a store that outlives the process, it shows a secret that does not belong to it.
    #[must_use]
    pub fn marks(&self) -> Vec<[u8; 32]> {
        let mark = |secret: &Secret| {
            let mut mac = secret.clone();
            mac.update(b"nevertwice secret mark 1");
            mac.finalize().into_bytes().into()
        };
        std::iter::once(&self.current).chain(&self.previous).map(mark).collect()
    }

    /// What callers are marked with, so that a store can count what each of them holds without knowing who it is.
    pub(crate) fn principal_seed(&self) -> (u64, u64) {
        let mut mac = self.current.clone();
        mac.update(b"nevertwice principal 1");
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| digest[at + byte]));
        (half(0), half(8))
    }

    /// The names of a key: under the previous secret, if there is one, and under the current one.
    pub(crate) fn ids(&self, caller: &Caller, parts: &Parts, policy: &Policy, key: &str) -> Vec<KeyId> {
        let secrets = self.previous.iter().chain([&self.current]);
        secrets.map(|secret| id(secret, caller, parts, policy, key)).collect()
    }
}

fn keyed(secret: &[u8; 32]) -> Secret {
    // A key shorter than SHA-256's block is filled up with zeros (RFC 2104, section 2).
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    Hmac::<Sha256>::new(&block.into())
}

fn id(secret: &Secret, caller: &Caller, parts: &Parts, policy: &Policy, key: &str) -> KeyId {
    let mut mac = secret.clone();
    let mut add = |part: &[u8]| {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    };
    add(b"nevertwice key 1");
    add(caller.tenant.as_bytes());
    add(caller.principal.as_bytes());
    // What a guard takes for one method or path names one key.
    add(parts.method.as_str().to_ascii_uppercase().as_bytes());
    match policy.scope {
        Scope::Principal => add(b"principal"),
        Scope::Route => {
            add(b"route");
            add(canonical(parts.uri.path()).as_bytes());
            add(&policy.query.chosen(parts.uri.query().unwrap_or_default()));
        }
    }
    add(key.as_bytes());
    KeyId(mac.finalize().into_bytes().into())
}
