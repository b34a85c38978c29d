//! Signatures and headers: wrong keys, wrong algorithms, and what is no JWT.

use std::fs;

use serde_json::{Value, json};

use super::issuer::{By, LET_IN, RSA_JWT, RSA_PEM, TestIssuer, answer, claims, code, encode, mac, rsa_jwk};
use crate::house::House;

#[tokio::test]
async fn what_was_signed_by_a_known_key_is_taken() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    for by in By::ALL {
        assert_eq!(code(&house, issuer.good(by)).await, LET_IN, "{by:?}");
        for typ in [json!("jwt"), json!("at+jwt"), json!("application/at+JWT"), json!(null)] {
            let mut header = by.header();
            header["typ"] = typ;
            assert_eq!(code(&house, issuer.sign(by, &header, &claims())).await, LET_IN, "{header}");
        }
    }
    assert_eq!(code(&house, RSA_JWT.trim()).await, LET_IN);
}

#[tokio::test]
async fn whatever_is_changed_the_signature_is_wrong() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    for good in By::ALL.map(|by| issuer.good(by)).into_iter().chain([RSA_JWT.trim().to_owned()]) {
        let parts: Vec<&str> = good.split('.').collect();
        let mut other = claims();
        other["sub"] = json!("bob");
        let payload = encode(other.to_string().as_bytes());
        for jwt in [
            format!("{}.{payload}.{}", parts[0], parts[2]),
            format!("{}.{}.{}", parts[0], parts[1], encode(&[0; 64])),
            format!("{}.{}.{}", parts[0], parts[1], encode(&[0; 32])),
            format!("{}.{}.{}", parts[0], parts[1], encode(&[0; 256])),
            format!("{}.{}.", parts[0], parts[1]),
        ] {
            assert_eq!(code(&house, &jwt).await, "credentials_invalid", "{jwt}");
        }
        // Not one letter of it can be another.
        for at in (0..good.len()).step_by(7) {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let told = code(&house, &bytes).await;
            assert!(told == "credentials_invalid" || told == "credentials_missing", "{at}: {told}");
        }
    }
}

/// RFC 8725, section 2.1: the algorithm is the key's, and not the JWT's to choose.
#[tokio::test]
async fn no_key_is_taken_for_another_algorithm() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    let payload = encode(claims().to_string().as_bytes());
    // A public key as the secret of HS256, in every spelling in which somebody may have it.
    let point = issuer.p256_jwk("ec-1");
    let p256_pem = issuer.p256_pem();
    let spellings: Vec<String> = vec![
        RSA_PEM.to_owned(),
        RSA_PEM.trim().to_owned(),
        p256_pem.trim().to_owned(),
        p256_pem,
        rsa_jwk().to_string(),
        rsa_jwk()["n"].as_str().expect("a modulus").to_owned(),
        point["x"].as_str().expect("a part").to_owned(),
        String::new(),
    ];
    for secret in &spellings {
        for kid in [json!(null), json!("rsa-1"), json!("ec-1"), json!("ed-1")] {
            let signed = format!("{}.{payload}", encode(json!({"alg": "HS256", "kid": kid}).to_string().as_bytes()));
            let jwt = format!("{signed}.{}", encode(&mac(secret.as_bytes(), &signed)));
            assert_eq!(code(&house, &jwt).await, "credentials_invalid", "{secret} {kid}");
        }
    }
    for alg in ["none", "None", "NONE", "nOnE", "", "HS512", "RS512", "PS256", "ES384", "es256", "EdDSA ", "HS256\u{0}"] {
        for signature in [String::new(), encode(&[0; 64])] {
            let jwt = format!("{}.{payload}.{signature}", encode(json!({"alg": alg}).to_string().as_bytes()));
            assert_eq!(code(&house, &jwt).await, "credentials_invalid", "{alg}");
        }
        for by in By::ALL {
            let mut header = by.header();
            header["alg"] = json!(alg);
            assert_eq!(code(&house, issuer.sign(by, &header, &claims())).await, "credentials_invalid", "{alg}");
        }
    }
    // Each key under the name of each other's algorithm.
    for by in By::ALL {
        for (alg, kid) in [("RS256", "rsa-1"), ("ES256", "ec-1"), ("EdDSA", "ed-1"), ("HS256", "ec-1")] {
            if by.header()["alg"] != alg {
                let jwt = issuer.sign(by, &json!({"alg": alg, "kid": kid}), &claims());
                assert_eq!(code(&house, &jwt).await, "credentials_invalid", "{by:?} as {alg}");
                // The id of a key of another kind does not help either.
                let jwt = issuer.sign(by, &json!({"alg": by.header()["alg"], "kid": "rsa-1"}), &claims());
                let expected = if by == By::Hs256 { LET_IN } else { "credentials_invalid" };
                assert_eq!(code(&house, &jwt).await, expected, "{by:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_algorithm_that_is_not_allowed_is_refused_though_its_key_is_known() {
    let issuer = TestIssuer::new();
    for (allowed, taken) in [("ES256", By::Es256), ("EdDSA", By::EdDsa)] {
        let house = House::configured(|config| {
            issuer.configure(config);
            config.jwt_algorithms = allowed.parse().expect("algorithms");
            config.jwt_secret_file = None;
        })
        .await;
        for by in By::ALL {
            let expected = if by == taken { LET_IN } else { "credentials_invalid" };
            assert_eq!(code(&house, issuer.good(by)).await, expected, "{allowed} {by:?}");
        }
        assert_eq!(code(&house, RSA_JWT.trim()).await, "credentials_invalid");
    }
}

#[tokio::test]
async fn the_key_is_the_one_that_is_named_or_the_only_one() {
    let (issuer, other) = (TestIssuer::new(), TestIssuer::new());
    issuer.publish(&[issuer.p256_jwk("a"), other.p256_jwk("b"), issuer.ed25519_jwk("c")]);
    let house = issuer.house().await;
    let signed = |by: By, kid: Value| {
        let mut header = by.header();
        header["kid"] = kid;
        issuer.sign(by, &header, &claims())
    };
    for (by, kid, expected) in [
        (By::Es256, json!("a"), LET_IN),
        (By::Es256, json!("b"), "credentials_invalid"),
        (By::Es256, json!("c"), "credentials_invalid"),
        (By::Es256, json!("unknown"), "credentials_invalid"),
        (By::Es256, json!(""), "credentials_invalid"),
        (By::Es256, json!("k".repeat(257)), "credentials_invalid"),
        (By::Es256, json!(5), "credentials_invalid"),
        // Two fit, and it does not say which.
        (By::Es256, json!(null), "credentials_invalid"),
        (By::EdDsa, json!("c"), LET_IN),
        (By::EdDsa, json!(null), LET_IN),
        (By::EdDsa, json!("unknown"), "credentials_invalid"),
    ] {
        assert_eq!(code(&house, signed(by, kid.clone())).await, expected, "{by:?} {kid}");
    }
    let unclear = answer(&house, signed(By::Es256, json!(null))).await;
    assert!(unclear.text.contains("kid"), "{}", unclear.text);
}

#[tokio::test]
async fn what_demands_an_extension_or_is_for_another_purpose_is_refused() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    for (member, value) in [
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("crit", json!(null)),
        ("typ", json!("logout+jwt")),
        ("typ", json!("dpop+jwt")),
        ("typ", json!("")),
        ("typ", json!("application/")),
        ("typ", json!(["JWT"])),
    ] {
        let mut header = By::EdDsa.header();
        header[member] = value.clone();
        assert_eq!(code(&house, issuer.sign(By::EdDsa, &header, &claims())).await, "credentials_invalid", "{member} {value}");
    }
}

#[tokio::test]
async fn what_is_no_jwt_is_refused_as_one_and_harms_nothing() {
    let issuer = TestIssuer::new();
    let house = issuer.house().await;
    let good = issuer.good(By::EdDsa);
    let header = By::EdDsa.header().to_string();
    for (presented, expected) in [
        ("..".to_owned(), "credentials_invalid"),
        (format!("{good}="), "credentials_invalid"),
        (format!(" {good}"), "credentials_invalid"),
        (format!("{good}."), "credentials_invalid"),
        (format!(".{good}"), "credentials_invalid"),
        (good.replace('.', ""), "credentials_missing"),
        (good.replacen('.', "", 1), "credentials_invalid"),
        (format!("{good}.{good}"), "credentials_invalid"),
        (good.replace('-', "+").replace('.', "%2E"), "credentials_missing"),
        (format!("{}.{}.{}", "A".repeat(8_000), "A".repeat(200), "A".repeat(86)), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, "", claims().to_string()), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, "[\"EdDSA\"]", claims().to_string()), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, b"{\"alg\":\"EdDSA\",\"\xff\":1}", claims().to_string()), "credentials_invalid"),
        // What is passed over has to be UTF-8 as well; found by the fuzz target `credential`.
        (issuer.sign_texts(By::EdDsa, b"{\"alg\":\"EdDSA\",\"x\":\"\xff\"}", claims().to_string()), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, ""), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, "ann"), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, "[\"https://issuer.example\",\"ann\",\"tickets\",9999999999,0]"), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, format!("{} {{}}", claims())), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, "[".repeat(5_000)), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, format!("{{\"deep\":{}", "[".repeat(5_000))), "credentials_invalid"),
        (issuer.sign_texts(By::EdDsa, &header, b"\xff\xfe"), "credentials_invalid"),
    ] {
        assert_eq!(code(&house, &presented).await, expected, "{presented}");
    }
    assert_eq!(code(&house, b"\xff.\xff.\xff").await, "credentials_invalid");
    // Its length is looked at before anything else.
    for (room, is_too_long) in [(5_800, false), (6_200, true)] {
        let mut long = claims();
        long["more"] = json!("x".repeat(room));
        let long = issuer.sign(By::EdDsa, &By::EdDsa.header(), &long);
        let told = answer(&house, &long).await;
        let expected = if is_too_long { "credentials_invalid" } else { LET_IN };
        assert_eq!((told.code().as_str(), long.len() > 8_192), (expected, is_too_long));
        assert_eq!(told.text.contains("8192"), is_too_long, "{}", told.text);
    }
    assert_eq!(code(&house, &good).await, LET_IN);
}

/// A server that takes no JWTs says so, whatever is in them.
#[tokio::test]
async fn where_no_issuer_is_configured_a_jwt_is_nothing() {
    let issuer = TestIssuer::new();
    let house = House::configured(|config| {
        config.operator_key = Some(nevertwice_server::config::Secret::new("operator-key-0123456789"));
    })
    .await;
    for by in By::ALL {
        assert_eq!(code(&house, issuer.good(by)).await, "credentials_missing");
    }
    assert!(fs::metadata(issuer.jwks_file()).is_ok());
}
