//! Credentials and the files of keys, good and bad.

use super::list::Input;

/// With the byte that chooses before each text.
pub(super) fn presented() -> Vec<Input> {
    let claims = r#"{"iss":"https://issuer.example","aud":"tickets","sub":"ann","exp":1790003600}"#;
    let jwt = |header: &str, claims: &str| format!("{header}\n{claims}");
    [
        ("operator", 0, "Bearer $OPERATOR".to_owned()),
        ("service", 0, "bearer $SERVICE".to_owned()),
        ("reader", 0, "Bearer $READER".to_owned()),
        ("over", 0, "Bearer $OVER".to_owned()),
        ("basic", 0, "Basic $OPERATOR".to_owned()),
        ("unknown-id", 0, format!("Bearer nevertwice_other_{}", "a".repeat(52))),
        ("unsigned", 0, "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.".to_owned()),
        ("jwt", 1, jwt(r#"{"alg":"HS256","typ":"JWT"}"#, claims)),
        ("jwt-many", 1, jwt(r#"{"alg":"HS256","kid":"1"}"#, &claims.replace("\"tickets\"", "[\"shop\",\"tickets\"]"))),
        ("jwt-times", 1, jwt(r#"{"alg":"HS256","typ":"at+jwt"}"#, &claims.replace("1790003600", "1790000060.5,\"nbf\":1789999999"))),
        ("jwt-over", 1, jwt(r#"{"alg":"HS256"}"#, &claims.replace("1790003600", "1"))),
        ("jwt-reserved", 1, jwt(r#"{"alg":"HS256"}"#, &claims.replace("ann", "operator"))),
        ("jwt-crit", 1, jwt(r#"{"alg":"HS256","crit":["exp"]}"#, claims)),
        ("jwt-other-algorithm", 1, jwt(r#"{"alg":"EdDSA","kid":"1"}"#, claims)),
        ("jwt-forged", 2, jwt(r#"{"alg":"HS256"}"#, claims)),
    ]
    .into_iter()
    .map(|(name, choice, text)| (name.to_owned(), [&[choice], text.as_bytes()].concat()))
    .collect()
}

pub(super) fn keys_files() -> Vec<Input> {
    let digest = "0b4f1f9b4c8b6b4a7d1c3d2f5e6a798081c2d3e4f5061728394a5b6c7d8e9fa0";
    let row = |id: &str, more: &str| {
        format!("[[key]]\nid = \"{id}\"\nrole = \"service\"\ndigest = \"sha256:{digest}\"\ncreated_at = 2026-11-30T09:00:00Z\n{more}\n")
    };
    let whole = |rows: &[String]| format!("version = 1\n\n{}", rows.concat());
    named([
        ("none", "version = 1\n".to_owned()),
        ("one", whole(&[row("web-1", "")])),
        ("shards", whole(&[row("gate", "shards = [\"sale/final\", \"market/wc\"]\nexpires_at = 2027-02-28T09:00:00Z\n")])),
        ("revoked", whole(&[row("old", "revoked_at = 2026-12-01T00:00:00.5+02:00\n"), row("new", "")])),
        ("twice", whole(&[row("web-1", ""), row("web-1", "")])),
        ("newer", "version = 2\n".to_owned()),
        ("pasted", whole(&[row("web-1", "key = \"$KEY\"\n")])),
        ("pasted-digest", whole(&[row("web-1", "").replace(digest, "$KEY")])),
        ("no-toml", "$KEY".to_owned()),
    ])
}

pub(super) fn jwk_sets() -> Vec<Input> {
    let p256 = r#"{"kty":"EC","crv":"P-256","kid":"1","use":"sig","alg":"ES256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;
    let ed25519 = r#"{"kty":"OKP","crv":"Ed25519","kid":"2","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let rsa = format!(r#"{{"kty":"RSA","kid":"3","key_ops":["verify"],"n":"{}w","e":"AQAB"}}"#, "q".repeat(341));
    let set = |keys: &[&str]| format!("{{\"keys\":[{}]}}", keys.join(","));
    named([
        ("three", set(&[p256, ed25519, &rsa])),
        ("one", set(&[ed25519])),
        ("nameless", set(&[&ed25519.replace("\"kid\":\"2\",", "")])),
        ("others", set(&[r#"{"kty":"new"}"#, &p256.replace("P-256", "P-384"), p256])),
        ("none", set(&[])),
        ("encrypts", set(&[&p256.replace("\"sig\"", "\"enc\"")])),
        ("private", set(&[&ed25519.replace("\"x\"", "\"d\":\"$KEY\",\"x\"")])),
        ("secret", set(&[r#"{"kty":"oct","k":"$KEY"}"#])),
        ("twice", set(&[p256, p256])),
        ("pasted", set(&[&p256.replace("MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "$KEY")])),
        ("no-json", "$KEY".to_owned()),
    ])
}

fn named<const N: usize>(inputs: [(&str, String); N]) -> Vec<Input> {
    inputs.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())).collect()
}
