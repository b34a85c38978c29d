//! The file with the public keys of an issuer.

use std::collections::BTreeSet;

use nevertwice_server::fuzzing::jwks;
use serde_json::Value;

use crate::Verdict;

/// What stands for a key that has no business in the file, and the key, which nothing may show.
const SECRET: (&str, &str) = ("$KEY", "hush-0123456789-hush");

/// What JWK Sets are made of.
pub const WORDS: &[&str] = &[
    "{\"keys\":[",
    "]}",
    "\"kty\":\"EC\"",
    "\"kty\":\"RSA\"",
    "\"kty\":\"OKP\"",
    "\"kty\":\"oct\"",
    "\"crv\":\"P-256\"",
    "\"crv\":\"Ed25519\"",
    "\"crv\":\"P-384\"",
    "\"use\":\"sig\"",
    "\"use\":\"enc\"",
    "\"key_ops\":[\"verify\"]",
    "\"alg\":\"ES256\"",
    "\"alg\":\"EdDSA\"",
    "\"alg\":\"HS256\"",
    "\"kid\":\"1\"",
    "\"kid\":null",
    "\"d\":\"$KEY\"",
    "\"k\":\"$KEY\"",
    "\"x\":",
    "\"y\":",
    "\"n\":",
    "\"e\":\"AQAB\"",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "$KEY",
    ",",
    "{",
    "}",
];

/// The input is the file. Accepted: at least one key can be used, or there are none.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let planted = text.replace(SECRET.0, SECRET.1);
    let planted = if text.contains(SECRET.0) { planted.as_bytes() } else { bytes };
    match jwks(planted) {
        Ok(keys) => {
            let names: BTreeSet<&(Option<String>, &str)> = keys.iter().collect();
            assert_eq!(names.len(), keys.len(), "a `kid` is there twice: {keys:?}");
            assert!(keys.iter().all(|(_, algorithm)| ["RS256", "ES256", "EdDSA"].contains(algorithm)), "{keys:?}");
            // Another reader of JSON finds the same keys in it, and no secret.
            let Ok(value) = serde_json::from_slice::<Value>(planted) else {
                // Members that are passed over may have half a character in them, written as `\ud800`.
                assert!(planted.windows(2).any(|two| two == b"\\u"), "{}", planted.escape_ascii());
                return Verdict::Accepted;
            };
            let listed = value["keys"].as_array().expect("a set has keys");
            assert_eq!(keys.is_empty(), listed.is_empty(), "a set in which no key can be used was taken for an empty one");
            for key in listed {
                assert!(key["kty"] != "oct" && key["d"].is_null() && key["k"].is_null(), "a secret was taken for a key");
            }
            assert!(keys.iter().all(|(id, _)| listed.iter().any(|key| key["kid"].as_str() == id.as_deref())), "{keys:?}");
            let again = serde_json::to_vec(&value).expect("it is written again");
            assert_eq!(jwks(&again), Ok(keys));
            Verdict::Accepted
        }
        Err(wrong) => {
            assert!(!wrong.contains(SECRET.1), "a key is shown: {wrong}");
            assert!(wrong.len() < 1_000 && !wrong.contains(char::is_control), "{wrong:?}");
            Verdict::Refused
        }
    }
}
