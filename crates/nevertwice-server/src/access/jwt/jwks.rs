//! The JWKS file: public keys as a JWK Set (RFC 7517, RFC 7518, RFC 8037).
//!
//! Keys of other types, curves, algorithms and purposes are passed over, as the RFC has it. Private keys and secrets are refused: who
//! publishes keys has no need of them, and who put them there has made a mistake.

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::compact::KID_BYTES_MAX;
use super::keys::{Material, PublicKey};

/// The most keys in the file.
const KEYS_MAX: usize = 100;

#[derive(Deserialize)]
struct Set {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    /// The private part of any key.
    d: Option<IgnoredAny>,
    /// A secret.
    k: Option<IgnoredAny>,
}

/// Reads the file. What is wrong is said in words; what stands there is not.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<PublicKey>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    // The message alone would quote what stands there.
    let set: Set = serde_json::from_str(text)
        .map_err(|error| format!("line {} is not as it should be: it is no JWK Set, an object with `keys` (RFC 7517)", error.line()))?;
    if set.keys.len() > KEYS_MAX {
        return Err(format!("it has {} keys, more than {KEYS_MAX}", set.keys.len()));
    }
    let mut keys: Vec<PublicKey> = Vec::new();
    for (index, jwk) in set.keys.iter().enumerate() {
        let number = index + 1;
        let Some(key) = key(jwk).map_err(|wrong| format!("key number {number} is wrong: {wrong}"))? else { continue };
        let is_same = |known: &PublicKey| known.id == key.id && known.material.algorithm() == key.material.algorithm();
        if keys.iter().any(is_same) {
            return Err(format!("key number {number} has the same `kid` and algorithm as one before it"));
        }
        keys.push(key);
    }
    // A set without keys is one that somebody emptied: from then on no JWT is good.
    if keys.is_empty() && !set.keys.is_empty() {
        return Err("none of its keys can be used: RSA for RS256, P-256 for ES256 and Ed25519 for EdDSA are".to_owned());
    }
    Ok(keys)
}

/// A key that can be used; `None` where it is for something else.
fn key(jwk: &Jwk) -> Result<Option<PublicKey>, &'static str> {
    if jwk.d.is_some() || jwk.k.is_some() || jwk.kty == "oct" {
        return Err("it has a private or secret part, which belongs to the issuer alone; take it out, and treat it as seen by others");
    }
    if jwk.purpose.as_ref().is_some_and(|purpose| purpose != "sig") {
        return Ok(None);
    }
    if jwk.key_ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
        return Ok(None);
    }
    let Some(material) = material(jwk)? else { return Ok(None) };
    let is_named = |alg: &str| alg == material.algorithm().word() || (alg == "Ed25519" && matches!(material, Material::Ed25519(_)));
    if jwk.alg.as_deref().is_some_and(|alg| !is_named(alg)) {
        return Ok(None);
    }
    if jwk.kid.as_ref().is_some_and(|kid| kid.len() > KID_BYTES_MAX) {
        return Err("its `kid` has more than 256 bytes");
    }
    Ok(Some(PublicKey { id: jwk.kid.clone(), material }))
}

fn material(jwk: &Jwk) -> Result<Option<Material>, &'static str> {
    Ok(Some(match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => rsa(&bytes(jwk.n.as_ref())?, &bytes(jwk.e.as_ref())?)?,
        ("EC", Some("P-256")) => p256(&bytes(jwk.x.as_ref())?, &bytes(jwk.y.as_ref())?)?,
        ("OKP", Some("Ed25519")) => {
            Material::Ed25519(bytes(jwk.x.as_ref())?.try_into().map_err(|_| "its `x` is not that of a key on Ed25519: 32 bytes")?)
        }
        _ => return Ok(None),
    }))
}

fn bytes(part: Option<&String>) -> Result<Vec<u8>, &'static str> {
    let part = part.ok_or("a part of it is missing: RSA has `n` and `e`, EC `x` and `y`, OKP `x`")?;
    BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| "a part of it is not base64url without padding")
}

pub(super) fn rsa(n: &[u8], e: &[u8]) -> Result<Material, &'static str> {
    let without_zeros = |bytes: &[u8]| bytes.iter().copied().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
    let (n, e) = (without_zeros(n), without_zeros(e));
    if !(256..=1_024).contains(&n.len()) || n.first().is_some_and(|first| n.len() == 256 && *first < 0x80) {
        return Err("its modulus does not have 2048 to 8192 bits");
    }
    if e.is_empty() || e.len() > 4 || e.last().is_none_or(|last| last % 2 == 0) || e == [1] {
        return Err("its exponent is not an odd number from 3 to 2^32");
    }
    Ok(Material::Rsa { n, e })
}

fn p256(x: &[u8], y: &[u8]) -> Result<Material, &'static str> {
    let mut point = [4; 65];
    if x.len() != 32 || y.len() != 32 {
        return Err("its `x` and `y` are not those of a point on P-256: 32 bytes each");
    }
    point[1..33].copy_from_slice(x);
    point[33..].copy_from_slice(y);
    Ok(Material::P256(point))
}
