//! What a genuine JWT has to say before its subject is believed.

use nevertwice_core::Principal;
use serde::Deserialize;
use serde_json::Number;

use super::wrong::Wrong;
use crate::access::caller::RESERVED;

/// What is demanded of claims.
#[derive(Clone, Debug)]
pub(super) struct Demands {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) leeway_ms: i64,
}

/// The claims that are looked at (RFC 7519, section 4.1); others are passed over.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<Audience>,
    exp: Option<Number>,
    nbf: Option<Number>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Many(many) => many.iter().any(|one| one == name),
        }
    }
}

impl Demands {
    /// Of whom the claims speak, if they hold here and now.
    pub(super) fn check(&self, claims: &Claims, now_ms: i64) -> Result<Principal, Wrong> {
        if claims.iss.as_ref() != Some(&self.issuer) {
            return Err(Wrong::Issuer);
        }
        if !claims.aud.as_ref().is_some_and(|audience| audience.has(&self.audience)) {
            return Err(Wrong::Audience);
        }
        let subject = claims.sub.as_deref().filter(|subject| !RESERVED.contains(subject)).ok_or(Wrong::Subject)?;
        let principal = Principal::new(subject).map_err(|_| Wrong::Subject)?;
        let ends_at = claims.exp.as_ref().and_then(instant_ms).ok_or(Wrong::NoEnd)?;
        if let Some(begins) = &claims.nbf {
            let begins_at = instant_ms(begins).ok_or(Wrong::Malformed)?;
            if now_ms.saturating_add(self.leeway_ms) < begins_at {
                return Err(Wrong::Early);
            }
        }
        if now_ms >= ends_at.saturating_add(self.leeway_ms) {
            return Err(Wrong::Expired);
        }
        Ok(principal)
    }
}

/// A `NumericDate`: seconds since 1970, with a fraction or without.
fn instant_ms(number: &Number) -> Option<i64> {
    /// Well within what an `f64` counts exactly.
    const SECONDS_MAX: f64 = 1e12;
    match number.as_i64() {
        Some(seconds) => seconds.checked_mul(1_000),
        None => {
            let seconds = number.as_f64().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))?;
            #[expect(clippy::cast_possible_truncation, reason = "it is far within the range")]
            Some((seconds * 1_000.0) as i64)
        }
    }
}
