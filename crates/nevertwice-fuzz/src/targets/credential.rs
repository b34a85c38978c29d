//! What somebody presents as `Authorization`: an API key, a configured key, or a JWT.

use std::sync::LazyLock;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use nevertwice_api::ErrorCode;
use nevertwice_server::Role;
use nevertwice_server::config::{Config, Secret};
use nevertwice_server::fuzzing::{Doorway, Known};
use ring::{digest, hmac};
use serde_json::Value;

use crate::{Verdict, problem};

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "tickets";
const NOW_MS: i64 = 1_790_000_000_000;

/// What stands for keys in the inputs, and the keys, which nothing may show.
const KEYS: [(&str, &str, Role); 4] = [
    ("$OPERATOR", "hush-operator-0123456789", Role::Operator),
    ("$SERVICE", "hush.service.0123456789", Role::Service),
    ("$READER", "nevertwice_eye_hushhushhushhushhushhushhushhushhushhushhushhushhush", Role::Reader),
    ("$OVER", "nevertwice_old_hushhushhushhushhushhushhushhushhushhushhushhushhush", Role::Nobody),
];

/// The secret by which JWTs are signed, and one that the server does not know.
const SECRETS: [&str; 2] = ["hush-secret-0123456789-0123456789", "other-secret-0123456789-0123456789"];

/// Subjects that stand for no person.
const RESERVED: &[&str] = &["anyone", "local", "nevertwice", "operator", "reader"];

/// The server's public keys: nobody has what they belong to.
const JWKS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// What credentials are made of.
pub const WORDS: &[&str] = &[
    "Bearer ",
    "bearer ",
    "Basic ",
    "$OPERATOR",
    "$SERVICE",
    "$READER",
    "$OVER",
    "nevertwice_",
    ".",
    "..",
    "{\"alg\":\"HS256\"}",
    "{\"alg\":\"none\"}",
    "{\"alg\":\"EdDSA\",\"kid\":\"1\"}",
    "\"typ\":\"JWT\"",
    "\"typ\":\"at+jwt\"",
    "\"crit\":[]",
    "\"kid\":\"1\"",
    "\"iss\":\"https://issuer.example\"",
    "\"aud\":\"tickets\"",
    "\"aud\":[\"tickets\"]",
    "\"sub\":\"ann\"",
    "\"sub\":\"operator\"",
    "\"exp\":1790003600",
    "\"exp\":1789999999.5",
    "\"nbf\":1790000000",
    "1e300",
    "-1",
    "null",
    "\n",
    ",",
    "{",
    "}",
    "eyJ",
];

static DOORWAY: LazyLock<Doorway> = LazyLock::new(|| {
    let [operator, service, reader, over] = KEYS.map(|(_, key, _)| key);
    let row = |id: &str, key: &str, more: &str| {
        let digest = HEXLOWER.encode(digest::digest(&digest::SHA256, key.as_bytes()).as_ref());
        format!("[[key]]\nid = \"{id}\"\nrole = \"reader\"\ndigest = \"sha256:{digest}\"\ncreated_at = 2026-01-01T00:00:00Z\n{more}\n")
    };
    let keys = format!("version = 1\n{}{}", row("eye", reader, ""), row("old", over, "expires_at = 2026-01-02T00:00:00Z"));
    let config = Config {
        operator_key: Some(Secret::new(operator)),
        service_key: Some(Secret::new(service)),
        jwt_issuer: Some(ISSUER.to_owned()),
        jwt_audience: Some(AUDIENCE.to_owned()),
        jwt_algorithms: "EdDSA, HS256".parse().expect("these are algorithms"),
        ..Config::default()
    };
    Doorway::new(&config, keys.as_bytes(), JWKS.as_bytes(), SECRETS[0].as_bytes()).expect("these are files")
});

/// The first byte says what the rest is: an `Authorization` with placeholders for keys, or, for the values 1 and 2, the two texts of
/// a JWT in two lines, which is then signed by a secret that the server knows, or by another. Accepted: somebody was known.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, rest)) = bytes.split_first() else { return Verdict::Refused };
    match choice {
        1 => check_jwt(rest, true),
        2 => check_jwt(rest, false),
        _ => check_presented(rest),
    }
}

fn check_presented(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let filled = KEYS.iter().fold(text.clone().into_owned(), |text, (placeholder, key, _)| text.replace(placeholder, key));
    let presented = if text.contains('$') { filled.as_bytes() } else { bytes };
    match identify(presented) {
        None => Verdict::Refused,
        Some(known) => {
            // Exactly the key, behind exactly one scheme; and as what it was made.
            let key = presented.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer ")).expect("a scheme").1;
            let (_, _, role) = KEYS.iter().find(|(_, known, _)| known.as_bytes() == key).expect("a key that is known");
            assert!(known.role == *role && known.subject.is_none(), "{known:?}");
            Verdict::Accepted
        }
    }
}

fn check_jwt(bytes: &[u8], is_genuine: bool) -> Verdict {
    let mut texts = bytes.splitn(2, |byte| *byte == b'\n');
    let (header, payload) = (texts.next().unwrap_or_default(), texts.next().unwrap_or_default());
    let signed = format!("{}.{}", BASE64URL_NOPAD.encode(header), BASE64URL_NOPAD.encode(payload));
    let secret = SECRETS[usize::from(!is_genuine)];
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    let jwt = format!("Bearer {signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()));
    let Some(known) = identify(jwt.as_bytes()) else { return Verdict::Refused };
    // Another reader of JSON sees in it all that has to be there.
    let read = |text: &[u8]| serde_json::from_slice::<Value>(text);
    let (Ok(header), Ok(payload)) = (read(header), read(payload)) else {
        // Members that are passed over may have half a character in them, written as `\ud800`.
        assert!(bytes.windows(2).any(|two| two == b"\\u"), "{}", bytes.escape_ascii());
        return Verdict::Accepted;
    };
    assert!(is_genuine && header["alg"] == "HS256" && header.get("crit").is_none(), "{header}");
    assert!(payload["iss"] == ISSUER, "{payload}");
    let audience = &payload["aud"];
    assert!(audience == AUDIENCE || audience.as_array().is_some_and(|many| many.iter().any(|one| one == AUDIENCE)), "{payload}");
    let seconds = |name: &str| payload[name].as_f64().map(|seconds| seconds * 1_000.0);
    let leeway_ms = Config::default().jwt_leeway_ms as f64;
    assert!(seconds("exp").expect("an end") + leeway_ms + 1.0 > NOW_MS as f64, "{payload}");
    assert!(seconds("nbf").is_none_or(|begins| begins <= NOW_MS as f64 + leeway_ms + 1.0), "{payload}");
    let subject = known.subject.as_ref().expect("a person").as_str();
    assert!(payload["sub"] == subject && !RESERVED.contains(&subject), "{payload}");
    assert_eq!((known.role, known.name.as_str()), (Role::Principal, "jwt:https://issuer.example"));
    Verdict::Accepted
}

/// Who comes with that, after checking whatever refusal there is.
fn identify(authorization: &[u8]) -> Option<Known> {
    match DOORWAY.identify(authorization, NOW_MS)? {
        Ok(known) => Some(known),
        Err(refused) => {
            let code = problem::check(&refused);
            let codes = [ErrorCode::CredentialsMissing, ErrorCode::CredentialsInvalid, ErrorCode::CredentialsExpired];
            assert!(codes.contains(&code), "{code}");
            assert!(!refused.detail.contains("hush"), "a key is shown: {}", refused.detail);
            None
        }
    }
}
