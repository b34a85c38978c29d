//! The files of keys: what they may hold, and how they change.

use std::fs;

use nevertwice_server::{Config, Parts, Server, check_jwt_files};
use serde_json::{Value, json};

use super::issuer::{By, LET_IN, RSA_JWT, RSA_PEM, TestIssuer, claims, code, rsa_jwk, with_jwt};
use crate::client::Ask;
use crate::house::House;

fn config(issuer: &TestIssuer) -> Config {
    let mut config = Config::default();
    issuer.configure(&mut config);
    config
}

/// What is wrong with a JWKS file of that text.
fn wrong_jwks(issuer: &TestIssuer, text: impl AsRef<[u8]>) -> String {
    fs::write(issuer.jwks_file(), text).expect("it can be written");
    check_jwt_files(&config(issuer)).expect_err("it is refused")
}

#[tokio::test]
async fn keys_are_rotated_without_a_gap() {
    let (old, new) = (TestIssuer::new(), TestIssuer::new());
    old.publish(&[old.ed25519_jwk("1")]);
    let house = House::configured(|config| {
        old.configure(config);
        config.jwt_algorithms = "EdDSA, HS256".parse().expect("algorithms");
    })
    .await;
    let by_old = old.sign(By::EdDsa, &json!({"alg": "EdDSA", "kid": "1"}), &claims());
    let by_new = new.sign(By::EdDsa, &json!({"alg": "EdDSA", "kid": "2"}), &claims());
    let codes = async || (code(&house, &by_old).await, code(&house, &by_new).await);
    let said = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    assert_eq!(codes().await, said(LET_IN, "credentials_invalid"));
    old.publish(&[old.ed25519_jwk("1"), new.ed25519_jwk("2")]);
    assert_eq!(codes().await, said(LET_IN, "credentials_invalid"), "nobody has looked yet");
    house.reload().await;
    assert_eq!(codes().await, said(LET_IN, LET_IN));
    old.publish(&[new.ed25519_jwk("2")]);
    house.reload().await;
    assert_eq!(codes().await, said("credentials_invalid", LET_IN));
    // The same with the secrets of HS256, which have no ids.
    let secrets = (old.good(By::Hs256), new.good(By::Hs256));
    let said_of_secrets = async || (code(&house, &secrets.0).await, code(&house, &secrets.1).await);
    assert_eq!(said_of_secrets().await, said(LET_IN, "credentials_invalid"));
    fs::write(old.secret_file(), format!("{}\n{}\r\n", old.secret, new.secret)).expect("it can be written");
    house.reload().await;
    assert_eq!(said_of_secrets().await, said(LET_IN, LET_IN));
    fs::write(old.secret_file(), &new.secret).expect("it can be written");
    house.reload().await;
    assert_eq!(said_of_secrets().await, said("credentials_invalid", LET_IN));
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_is_shown() {
    let issuer = TestIssuer::new();
    let operator = "operator-key-0123456789";
    let house = House::configured(|config| {
        issuer.configure(config);
        config.operator_key = Some(nevertwice_server::config::Secret::new(operator));
    })
    .await;
    let metric = async |name: &str| {
        let text = house.send(with_jwt(Ask::get("/metrics"), operator)).await.text;
        text.lines().any(|line| line == name)
    };
    for (number, bad) in ["", "{}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}"].into_iter().enumerate() {
        fs::write(issuer.jwks_file(), bad).expect("it can be written");
        house.reload().await;
        assert_eq!(code(&house, issuer.good(By::Es256)).await, LET_IN, "{bad}");
        assert!(metric("nevertwice_reload_refused{file=\"jwt\"} 1").await);
        assert!(metric(&format!("nevertwice_reload_failures_total{{file=\"jwt\"}} {}", number + 1)).await);
    }
    issuer.publish(&[issuer.ed25519_jwk("ed-1")]);
    house.reload().await;
    assert!(metric("nevertwice_reload_refused{file=\"jwt\"} 0").await);
    assert_eq!(code(&house, issuer.good(By::Es256)).await, "credentials_invalid", "the key is gone");
    assert_eq!(code(&house, issuer.good(By::EdDsa)).await, LET_IN);
}

#[tokio::test]
async fn a_set_whose_last_key_is_taken_out_lets_nobody_in() {
    let issuer = TestIssuer::new();
    let house = House::configured(|config| issuer.configure(config)).await;
    assert_eq!(code(&house, issuer.good(By::Es256)).await, LET_IN);
    fs::write(issuer.jwks_file(), "{\"keys\":[]}").expect("it can be written");
    house.reload().await;
    assert_eq!(code(&house, issuer.good(By::Es256)).await, "credentials_invalid");
}

#[tokio::test]
async fn one_public_key_in_pem_is_taken_whatever_id_a_jwt_names() {
    let issuer = TestIssuer::new();
    let file = issuer.file("key.pem");
    for (pem, algorithm, jwt) in [
        (issuer.p256_pem(), "ES256", issuer.good(By::Es256)),
        (issuer.ed25519_pem(), "EdDSA", issuer.good(By::EdDsa)),
        (RSA_PEM.to_owned(), "RS256", RSA_JWT.trim().to_owned()),
    ] {
        fs::write(&file, pem).expect("it can be written");
        let house = House::configured(|config| {
            issuer.configure(config);
            config.jwt_algorithms = algorithm.parse().expect("an algorithm");
            (config.jwt_jwks_file, config.jwt_secret_file, config.jwt_key_file) = (None, None, Some(file.clone()));
        })
        .await;
        assert_eq!(code(&house, &jwt).await, LET_IN, "{algorithm}");
        for by in By::ALL {
            if by.header()["alg"] != algorithm {
                assert_eq!(code(&house, issuer.good(by)).await, "credentials_invalid", "{algorithm} {by:?}");
            }
        }
    }
}

#[test]
fn a_pem_file_that_is_not_one_public_key_is_refused() {
    let issuer = TestIssuer::new();
    let mut config = config(&issuer);
    let file = issuer.file("key.pem");
    config.jwt_key_file = Some(file.clone());
    let private = rcgen::KeyPair::generate().expect("a key").serialize_pem();
    let p384 = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).expect("a key").public_key_pem();
    let pem = issuer.p256_pem();
    for text in [
        String::new(),
        "no key".to_owned(),
        private.clone(),
        p384,
        format!("{pem}{pem}"),
        pem.replace("PUBLIC KEY", "CERTIFICATE"),
        RSA_PEM.replacen("MIIB", "MIIC", 1),
        RSA_PEM.replacen("A", "B", 1),
    ] {
        fs::write(&file, &text).expect("it can be written");
        let told = check_jwt_files(&config).expect_err(&text);
        assert!(told.contains("key.pem"), "{told}");
        let inside = private.lines().nth(1).expect("a line");
        assert!(!told.contains(inside), "{told}");
    }
    fs::write(&file, pem).expect("it can be written");
    check_jwt_files(&config).expect("it is one");
}

#[test]
fn keys_of_a_set_that_are_for_something_else_are_passed_over() {
    let issuer = TestIssuer::new();
    let with = |mut key: Value, member: &str, value: Value| {
        key[member] = value;
        key
    };
    let good = issuer.ed25519_jwk("good");
    let p256 = || issuer.p256_jwk("other");
    for other in [
        json!({"kty": "new-kind", "kid": "n", "z": "AAAA"}),
        with(p256(), "crv", json!("P-384")),
        with(p256(), "crv", json!("secp256k1")),
        json!({"kty": "OKP", "crv": "X25519", "x": "AAAA"}),
        with(p256(), "use", json!("enc")),
        with(p256(), "key_ops", json!(["deriveKey"])),
        with(p256(), "alg", json!("ES384")),
        with(p256(), "alg", json!("HS256")),
        with(rsa_jwk(), "alg", json!("RS512")),
        with(rsa_jwk(), "alg", json!("RSA-OAEP")),
    ] {
        issuer.publish(&[other.clone(), good.clone()]);
        assert_eq!(check_jwt_files(&config(&issuer)), Ok((1, 1)), "{other}");
        issuer.publish(std::slice::from_ref(&other));
        assert!(check_jwt_files(&config(&issuer)).expect_err("nothing is left").contains("none of its keys"), "{other}");
    }
    for more in [
        with(p256(), "use", json!("sig")),
        with(p256(), "key_ops", json!(["verify"])),
        with(p256(), "alg", json!("ES256")),
        with(p256(), "x5t", json!("AAAA")),
        with(issuer.ed25519_jwk("other"), "alg", json!("Ed25519")),
        p256(),
        rsa_jwk(),
    ] {
        issuer.publish(&[more.clone(), good.clone()]);
        assert_eq!(check_jwt_files(&config(&issuer)), Ok((2, 1)), "{more}");
    }
}

#[test]
fn a_set_with_a_secret_or_nonsense_in_it_is_refused_and_not_quoted() {
    let issuer = TestIssuer::new();
    let with = |mut key: Value, member: &str, value: Value| {
        key[member] = value;
        json!({"keys": [key]}).to_string()
    };
    let p256 = || issuer.p256_jwk("a");
    for (text, named) in [
        (String::new(), "no JSON object"),
        ("[]".to_owned(), "no JSON object"),
        ("{".to_owned(), "line 1"),
        ("{\n\"keys\": \"hush-hush\"}".to_owned(), "line 2"),
        (json!({"keys": ["hush-hush"]}).to_string(), "JWK Set"),
        (p256().to_string(), "JWK Set"),
        (with(p256(), "d", json!("hush-hush")), "private or secret"),
        (with(issuer.ed25519_jwk("a"), "d", json!("hush-hush")), "private or secret"),
        (json!({"keys": [{"kty": "oct", "k": "hush-hush"}]}).to_string(), "private or secret"),
        (with(p256(), "kty", json!("oct")), "private or secret"),
        (with(p256(), "x", json!("hush-hush")), "base64url"),
        (with(p256(), "x", json!("hush-hushes-")), "32 bytes"),
        (with(p256(), "x", json!("hush hush")), "base64url"),
        (with(p256(), "y", json!(null)), "missing"),
        (with(issuer.ed25519_jwk("a"), "x", json!("AAAA")), "Ed25519"),
        (with(rsa_jwk(), "n", json!("AQAB")), "2048"),
        (with(rsa_jwk(), "n", json!("A".repeat(342))), "2048"),
        (with(rsa_jwk(), "e", json!("AQ")), "exponent"),
        (with(rsa_jwk(), "e", json!("Ag")), "exponent"),
        (with(rsa_jwk(), "e", json!("AAAA")), "exponent"),
        (with(p256(), "kid", json!("k".repeat(257))), "kid"),
        (json!({"keys": [p256(), p256()]}).to_string(), "same `kid`"),
        (json!({"keys": vec![json!({"kty": "x"}); 101]}).to_string(), "101"),
        (format!("{{\"keys\": {}", "[".repeat(100_000)), "JWK Set"),
        (" ".repeat((1 << 20) + 1), "larger"),
    ] {
        let told = wrong_jwks(&issuer, &text);
        assert!(told.contains(named) && told.contains("jwks.json") && !told.contains("hush"), "{named}: {told}");
    }
    assert!(wrong_jwks(&issuer, b"{\"keys\":[\"\xff\"]}").contains("UTF-8"));
    assert!(wrong_jwks(&issuer, b"{\"other\":\"\xff\",\"keys\":[]}").contains("UTF-8"));
    fs::remove_file(issuer.jwks_file()).expect("it can be removed");
    assert!(check_jwt_files(&config(&issuer)).expect_err("it is missing").contains("can't be opened"));
}

#[test]
fn a_file_of_secrets_holds_secrets_that_are_long_enough_and_no_keys() {
    let issuer = TestIssuer::new();
    let config = config(&issuer);
    let secret = "hush-hush-0123456789-0123456789-0123456789";
    for (text, named) in [
        (String::new(), "0 secrets"),
        ("\n\n".to_owned(), "0 secrets"),
        (secret[..31].to_owned(), "32"),
        (format!("{secret} {secret}"), "visible"),
        (secret.repeat(20), "512"),
        (format!("{secret}\n").repeat(5), "5 secrets"),
        (RSA_PEM.to_owned(), "secrets"),
        (RSA_PEM.lines().take(2).collect::<Vec<_>>().join("\n"), "another kind"),
        (format!("{{\"keys\":[\"{secret}\"]}}"), "another kind"),
        (format!("{secret}\nshort-hush"), "number 2"),
    ] {
        fs::write(issuer.secret_file(), &text).expect("it can be written");
        let told = check_jwt_files(&config).expect_err(&text);
        assert!(told.contains(named) && !told.contains("hush"), "{named}: {told}");
    }
    fs::write(issuer.secret_file(), format!("  {secret}\r\n")).expect("it can be written");
    assert_eq!(check_jwt_files(&config), Ok((3, 1)));
}

#[tokio::test]
async fn a_start_with_a_bad_file_is_refused() {
    let issuer = TestIssuer::new();
    let house = House::open().await;
    let mut config = Config { listen: ([127, 0, 0, 1], 0).into(), ..config(&issuer) };
    let start = async |config: &Config| Server::bind(config, Parts::new(house.backend.clone(), [0; 32])).await.map(drop);
    start(&config).await.expect("it starts");
    fs::write(issuer.jwks_file(), "{}").expect("it can be written");
    let told = start(&config).await.expect_err("it does not").to_string();
    assert!(told.contains("configuration_invalid") && told.contains("jwt_jwks_file") && told.contains("jwks.json"), "{told}");
    // A key for none of the algorithms is no key.
    issuer.publish(&[issuer.ed25519_jwk("a")]);
    config.jwt_algorithms = "RS256".parse().expect("an algorithm");
    config.jwt_secret_file = None;
    let told = start(&config).await.expect_err("it does not").to_string();
    assert!(told.contains("jwt_algorithms"), "{told}");
}
