//! The fingerprint of a whole request.

use std::sync::Arc;

use http::HeaderName;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use nevertwice_api::fingerprint::canonical_json;
use sha2::{Digest as _, Sha256};

use super::{form, json, multipart};
use crate::{Policy, Scope};

/// The version of the fingerprint; it is part of each.
pub const FINGERPRINT_VERSION: u8 = 1;

/// What of a request counts, beside its path, its query and its body.
#[derive(Clone, Debug, Default)]
pub struct FingerprintRules {
    /// JSON pointers (RFC 6901): if there are any, of a JSON body only these count.
    pub json_include: Vec<String>,
    /// JSON pointers that do not count.
    pub json_exclude: Vec<String>,
    /// Headers that count.
    pub headers: Vec<HeaderName>,
}

/// A digest over parts that can't run together.
struct Parted(Sha256);

impl Parted {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }
}

/// The fingerprint of a request as far as its head goes.
pub(crate) struct Head {
    digest: Parted,
    media_type: Option<HeaderValue>,
    encodings: Vec<HeaderValue>,
    policy: Arc<Policy>,
}

impl Head {
    pub(crate) fn of(parts: &Parts, policy: &Arc<Policy>) -> Self {
        let mut digest = Parted(Sha256::new());
        digest.0.update([FINGERPRINT_VERSION]);
        digest.add(parts.method.as_str().as_bytes());
        if policy.scope == Scope::Principal {
            digest.add(parts.uri.path().as_bytes());
            digest.add(&policy.query.chosen(parts.uri.query().unwrap_or_default()));
        }
        for name in &policy.fingerprint.headers {
            digest.add(name.as_str().as_bytes());
            digest.add(&(parts.headers.get_all(name).iter().count() as u64).to_le_bytes());
            parts.headers.get_all(name).iter().for_each(|value| digest.add(value.as_bytes()));
        }
        let media_type = parts.headers.get(CONTENT_TYPE).cloned();
        let encodings = parts.headers.get_all(CONTENT_ENCODING).iter().cloned().collect();
        Self { digest, media_type, encodings, policy: Arc::clone(policy) }
    }

    /// The fingerprint of the request with that body.
    pub(crate) fn with_body(mut self, body: &[u8]) -> [u8; 32] {
        self.add_body(body);
        self.digest.0.finalize().into()
    }

    fn add_body(&mut self, body: &[u8]) {
        let digest = &mut self.digest;
        let media_type = self.media_type.as_ref().and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let is_encoded = self.encodings.iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"));
        if !is_encoded {
            if is_json(essence)
                && let Ok(canonical) = canonical_json(body)
            {
                digest.add(b"json");
                return digest.add(&json::chosen(canonical, &self.policy.fingerprint));
            }
            if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
                digest.add(b"form");
                return form::fields(body).iter().for_each(|(name, value)| {
                    digest.add(name);
                    digest.add(value);
                });
            }
            if essence.eq_ignore_ascii_case("multipart/form-data")
                && let Some(found) = multipart::parts(media_type, body)
            {
                digest.add(b"multipart");
                return found.iter().for_each(|part| {
                    digest.add(&part.head);
                    digest.add(part.content);
                });
            }
        }
        digest.add(b"bytes");
        digest.add(essence.to_ascii_lowercase().as_bytes());
        self.encodings.iter().for_each(|value| digest.add(value.as_bytes()));
        digest.add(body);
    }
}

fn is_json(essence: &str) -> bool {
    let suffix = essence.len().checked_sub("+json".len()).and_then(|at| essence.get(at..));
    essence.eq_ignore_ascii_case("application/json") || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored records hold fingerprints: another form of the same request would be a mismatch to every retry of before. Whoever
    /// changes one of these raises [`FINGERPRINT_VERSION`], and says how records of the version before are met.
    #[test]
    fn fingerprints_of_version_1_are_what_they_were() {
        let parts = "multipart/form-data; boundary=b";
        let part = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n";
        for (media_type, body, digest) in [
            ("application/json", r#"{"b":1.50,"a":"\u0041"}"#, "ac48101e512ebae096e6de5731eb87ba0cecdb7fdfaae060e33e865d127cfe31"),
            ("application/x-www-form-urlencoded", "b=2&a=1+1", "9dbf57e70d7c086d7412906bff426843df98cc5f74f358bdc9e74c7f5bd86903"),
            (parts, part, "a88811a334b49880f19b9af54a8c8fe9a948b964c3a2e5e1a65f0929e9afc418"),
            ("text/plain", "bytes", "0da2c417801179095d5bb63086c719654872ef7b4a53e7a88f46aecb59389d14"),
            ("", "", "e156815094cedb409771156907e076eeb94287b3e21e31ac764cb31fb96b6371"),
        ] {
            let request = http::Request::post("/charges?dry=1&a=%20").header(CONTENT_TYPE, media_type).header("x-sign", "s").body(());
            let (head, ()) = request.expect("it is a request").into_parts();
            let rules = FingerprintRules { headers: vec![HeaderName::from_static("x-sign")], ..FingerprintRules::default() };
            let policy = Arc::new(Policy { fingerprint: rules, ..Policy::ietf() });
            let found = Head::of(&head, &policy).with_body(body.as_bytes());
            let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((FINGERPRINT_VERSION, found.as_str()), (1, digest), "{media_type}");
        }
    }
}
