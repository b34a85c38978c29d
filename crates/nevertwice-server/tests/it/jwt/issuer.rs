//! An issuer for tests: signs whatever it is told to.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::BASE64URL_NOPAD;
use nevertwice_server::Config;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, Ask};
use crate::house::{House, START_MS};

pub(crate) const ISSUER: &str = "https://issuer.example";
pub(crate) const AUDIENCE: &str = "tickets";

/// What says that a JWT was taken: there is no such market.
pub(crate) const LET_IN: &str = "unknown_market";

/// A key of RSA, public; and a JWT about `ann` that it has signed, good for an hour from [`START_MS`] on. They were made once, and
/// the private key was thrown away.
pub(crate) const RSA_JWK: &str = include_str!("rsa.jwk.json");
pub(crate) const RSA_PEM: &str = include_str!("rsa.pub.pem");
pub(crate) const RSA_JWT: &str = include_str!("rsa.jwt");

/// By what is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Es256,
    EdDsa,
    Hs256,
}

impl By {
    pub(crate) const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Hs256];

    /// The header that goes with it.
    pub(crate) fn header(self) -> Value {
        match self {
            Self::Es256 => json!({"alg": "ES256", "typ": "JWT", "kid": "ec-1"}),
            Self::EdDsa => json!({"alg": "EdDSA", "typ": "JWT", "kid": "ed-1"}),
            Self::Hs256 => json!({"alg": "HS256", "typ": "JWT"}),
        }
    }
}

/// An issuer with a key for each algorithm, drawn anew.
pub(crate) struct TestIssuer {
    folder: TempDir,
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    pub(crate) secret: String,
}

impl TestIssuer {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let p256 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let ed25519 = Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).expect("a key");
        let issuer = Self {
            folder: TempDir::new().expect("a folder can be made"),
            p256: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, p256.as_ref(), &random).expect("a key"),
            secret: BASE64URL_NOPAD.encode(ed25519.public_key().as_ref()),
            ed25519,
        };
        issuer.publish(&[issuer.p256_jwk("ec-1"), issuer.ed25519_jwk("ed-1"), rsa_jwk()]);
        fs::write(issuer.secret_file(), &issuer.secret).expect("it can be written");
        issuer
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }

    pub(crate) fn jwks_file(&self) -> PathBuf {
        self.file("jwks.json")
    }

    pub(crate) fn secret_file(&self) -> PathBuf {
        self.file("secret")
    }

    /// Writes the JWKS file.
    pub(crate) fn publish(&self, keys: &[Value]) {
        fs::write(self.jwks_file(), json!({"keys": keys}).to_string()).expect("it can be written");
    }

    /// What a server needs that takes all it signs.
    pub(crate) fn configure(&self, config: &mut Config) {
        config.jwt_issuer = Some(ISSUER.to_owned());
        config.jwt_audience = Some(AUDIENCE.to_owned());
        config.jwt_algorithms = "RS256, ES256, EdDSA, HS256".parse().expect("algorithms");
        config.jwt_jwks_file = Some(self.jwks_file());
        config.jwt_secret_file = Some(self.secret_file());
    }

    /// A server that takes all it signs, and has no other credentials.
    pub(crate) async fn house(&self) -> House {
        House::configured(|config| self.configure(config)).await
    }

    pub(crate) fn p256_jwk(&self, kid: &str) -> Value {
        let point = self.p256.public_key().as_ref();
        let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "x": x, "y": y})
    }

    pub(crate) fn ed25519_jwk(&self, kid: &str) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(self.ed25519.public_key().as_ref())})
    }

    /// The public key on P-256 in PEM.
    pub(crate) fn p256_pem(&self) -> String {
        let before = data_encoding::HEXLOWER.decode(b"3059301306072a8648ce3d020106082a8648ce3d030107034200").expect("it is");
        pem(&[&before, self.p256.public_key().as_ref()].concat())
    }

    /// The public key on Ed25519 in PEM.
    pub(crate) fn ed25519_pem(&self) -> String {
        let before = data_encoding::HEXLOWER.decode(b"302a300506032b6570032100").expect("it is");
        pem(&[&before, self.ed25519.public_key().as_ref()].concat())
    }

    /// A JWT about `ann` as it should be.
    pub(crate) fn good(&self, by: By) -> String {
        self.about("ann", by)
    }

    /// A JWT about somebody as it should be.
    pub(crate) fn about(&self, subject: &str, by: By) -> String {
        let mut claims = claims();
        claims["sub"] = json!(subject);
        self.sign(by, &by.header(), &claims)
    }

    pub(crate) fn sign(&self, by: By, header: &Value, claims: &Value) -> String {
        self.sign_texts(by, header.to_string(), claims.to_string())
    }

    /// Signs any two texts.
    pub(crate) fn sign_texts(&self, by: By, header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
        let signed = format!("{}.{}", encode(header.as_ref()), encode(claims.as_ref()));
        let signature = match by {
            By::Es256 => self.p256.sign(&SystemRandom::new(), signed.as_bytes()).expect("it signs").as_ref().to_vec(),
            By::EdDsa => self.ed25519.sign(signed.as_bytes()).as_ref().to_vec(),
            By::Hs256 => mac(self.secret.as_bytes(), &signed),
        };
        format!("{signed}.{}", encode(&signature))
    }
}

/// What HS256 makes of a secret and what is signed.
pub(crate) fn mac(secret: &[u8], signed: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes()).as_ref().to_vec()
}

pub(crate) fn rsa_jwk() -> Value {
    serde_json::from_str(RSA_JWK).expect("it is JSON")
}

/// Claims as they should be, for an hour.
pub(crate) fn claims() -> Value {
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": START_MS / 1_000 + 3_600})
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", data_encoding::BASE64.encode(der))
}

/// A request with a JWT.
pub(crate) fn with_jwt(ask: Ask, jwt: impl AsRef<[u8]>) -> Ask {
    ask.header("authorization", [b"Bearer ", jwt.as_ref()].concat())
}

/// What the server says to whoever comes with that.
pub(crate) async fn answer(house: &House, jwt: impl AsRef<[u8]>) -> Answer {
    house.send(with_jwt(Ask::get("/v1/markets/none"), jwt)).await
}

/// The code of what it says.
pub(crate) async fn code(house: &House, jwt: impl AsRef<[u8]>) -> String {
    answer(house, jwt).await.code()
}
