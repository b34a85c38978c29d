//! What was presented, taken apart: header, payload and signature (RFC 7515, compact serialization).

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::algorithm::JwtAlgorithm;
use super::wrong::Wrong;

/// The longest JWT that is looked at.
pub(crate) const JWT_BYTES_MAX: usize = 8_192;

/// The longest id of a key.
pub(super) const KID_BYTES_MAX: usize = 256;

/// A JWT, whose signature nobody has checked yet.
#[derive(Debug)]
pub(crate) struct Compact<'a> {
    /// By which algorithm it says it is signed. Which key that takes is not the JWT's to say: see `keys.rs`.
    pub(super) algorithm: JwtAlgorithm,
    pub(super) kid: Option<String>,
    /// What is signed.
    pub(super) signed: &'a [u8],
    payload: &'a [u8],
    pub(super) signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    #[serde(default)]
    crit: Demanded,
}

/// Whether a member is there, whatever its value.
#[derive(Default)]
struct Demanded(bool);

impl<'de> Deserialize<'de> for Demanded {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

impl<'a> Compact<'a> {
    /// Takes it apart.
    pub(crate) fn read(presented: &'a [u8]) -> Result<Self, Wrong> {
        if presented.len() > JWT_BYTES_MAX {
            return Err(Wrong::TooLong);
        }
        let mut dots = presented.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let (Some(first), Some(second), None) = (dots.next(), dots.next(), dots.next()) else { return Err(Wrong::Malformed) };
        let part = |from: usize, to: usize| presented.get(from..to).ok_or(Wrong::Malformed);
        let (signed, payload) = (part(0, second)?, part(first + 1, second)?);
        let signature = decode(part(second + 1, presented.len())?)?;
        let header: Header = read_json(part(0, first)?)?;
        if header.crit.0 {
            return Err(Wrong::Extension);
        }
        if header.typ.as_deref().is_some_and(|typ| !is_taken(typ)) {
            return Err(Wrong::Type);
        }
        if header.kid.as_ref().is_some_and(|kid| kid.len() > KID_BYTES_MAX) {
            return Err(Wrong::KeyUnknown);
        }
        let algorithm = JwtAlgorithm::of(&header.alg).ok_or(Wrong::Algorithm)?;
        Ok(Self { algorithm, kid: header.kid, signed, payload, signature })
    }

    /// What it says. Only for whoever has checked the signature.
    pub(super) fn payload<T: DeserializeOwned>(&self) -> Result<T, Wrong> {
        read_json(self.payload)
    }
}

/// RFC 8725, section 3.11: what was signed for another purpose is not taken for a JWT of access.
fn is_taken(typ: &str) -> bool {
    let typ = typ.get(..12).filter(|begin| begin.eq_ignore_ascii_case("application/")).map_or(typ, |begin| &typ[begin.len()..]);
    typ.eq_ignore_ascii_case("jwt") || typ.eq_ignore_ascii_case("at+jwt")
}

fn read_json<T: DeserializeOwned>(part: &[u8]) -> Result<T, Wrong> {
    let bytes = decode(part)?;
    // Members that are passed over would otherwise not have to be UTF-8.
    let text = std::str::from_utf8(&bytes).map_err(|_| Wrong::Malformed)?;
    // A struct would be read from an array as well.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Wrong::Malformed);
    }
    serde_json::from_str(text).map_err(|_| Wrong::Malformed)
}

/// Base64url in its one spelling: no padding, no spaces, no bits beyond the last byte.
fn decode(part: &[u8]) -> Result<Vec<u8>, Wrong> {
    BASE64URL_NOPAD.decode(part).map_err(|_| Wrong::Malformed)
}
