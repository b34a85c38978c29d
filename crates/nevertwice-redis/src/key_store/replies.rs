//! What the scripts of keys say, read into the core's words.

use bytes::Bytes;
use nevertwice_api::{AnswerBytes, Registered};
use nevertwice_core::keys::{BodyKept, Completion, KeyRejection, Lease, Registration};
use redis::Value;

use super::fields::{BadFields, Fields};

/// Settings that a script names, as the core names them.
const SETTINGS: &[&str] = &["retention_ms", "lease_ms", "status", "head_bytes", "body_bytes"];

/// A reply of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said<R> {
    /// What the core calls it.
    Decided(Result<R, KeyRejection>),
    /// There is no room for it; nothing was done.
    Full,
    /// This machine's clock is too far from the server's; nothing was done.
    ClockSkew,
}

/// What a claim did to what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Held {
    /// Whether a record came that was not there before.
    pub(super) is_new: bool,
    /// Bytes of an answer that went.
    pub(super) freed: u64,
}

pub(super) fn registration(reply: &Value, expires_at: Option<i64>) -> Result<(Said<Registered>, Held), BadFields> {
    let (word, mut fields) = open(reply)?;
    let mut held = Held::default();
    let (registration, bytes) = match word {
        "fresh" | "taken_over" => {
            let lease = lease(&mut fields)?;
            held = Held { is_new: fields.text()? == "0", freed: fields.number()? };
            let made = if word == "fresh" { Registration::Fresh(lease) } else { Registration::TakenOver(lease) };
            (made, AnswerBytes::default())
        }
        "resumed" => (Registration::Resumed(lease(&mut fields)?), AnswerBytes::default()),
        "replay" => replay(&mut fields)?,
        _ => return Ok((refusal(word, &mut fields, expires_at)?, held)),
    };
    Ok((Said::Decided(Ok(Registered { registration, bytes })), held))
}

pub(super) fn completion(reply: &Value) -> Result<Said<Completion>, BadFields> {
    match open(reply)? {
        ("kept", _) => Ok(Said::Decided(Ok(Completion::Kept))),
        ("kept_before", _) => Ok(Said::Decided(Ok(Completion::KeptBefore))),
        (word, mut fields) => refusal(word, &mut fields, None),
    }
}

pub(super) fn renewal(reply: &Value) -> Result<Said<Lease>, BadFields> {
    match open(reply)? {
        ("renewed", mut fields) => Ok(Said::Decided(Ok(lease(&mut fields)?))),
        (word, mut fields) => refusal(word, &mut fields, None),
    }
}

pub(super) fn release(reply: &Value) -> Result<Said<()>, BadFields> {
    match open(reply)? {
        ("released", _) => Ok(Said::Decided(Ok(()))),
        (word, mut fields) => refusal(word, &mut fields, None),
    }
}

/// The bytes of an answer that went with a forgotten record; none if it was not forgotten.
pub(super) fn forgotten(reply: &Value) -> Result<Option<u64>, BadFields> {
    match open(reply)? {
        ("forgotten", mut fields) => fields.number().map(Some),
        ("remembered" | "unknown_key" | "clock_skew" | "data_too_new", _) => Ok(None),
        _ => Err(BadFields::Damaged),
    }
}

fn open(reply: &Value) -> Result<(&str, Fields<'_>), BadFields> {
    let Value::Array(values) = reply else { return Err(BadFields::Damaged) };
    let mut fields = Fields(values);
    Ok((fields.text()?, fields))
}

fn lease(fields: &mut Fields<'_>) -> Result<Lease, BadFields> {
    Ok(Lease { generation: fields.number()?, expires_at: fields.number()? })
}

fn replay(fields: &mut Fields<'_>) -> Result<(Registration, AnswerBytes), BadFields> {
    let generation = fields.number()?;
    let answer = fields.answer()?;
    let bytes = AnswerBytes { head: Bytes::copy_from_slice(fields.bytes()?), body: Bytes::copy_from_slice(fields.bytes()?) };
    let are_its_own = match answer.body {
        BodyKept::Tombstone => bytes == AnswerBytes::default(),
        BodyKept::Whole => bytes.fit(&answer),
    };
    if are_its_own { Ok((Registration::Replay { generation, answer }, bytes)) } else { Err(BadFields::Damaged) }
}

fn refusal<R>(word: &str, fields: &mut Fields<'_>, expires_at: Option<i64>) -> Result<Said<R>, BadFields> {
    let rejection = match word {
        "full" => return Ok(Said::Full),
        "clock_skew" => return Ok(Said::ClockSkew),
        "data_too_new" => return Err(BadFields::TooNew),
        "instant_out_of_range" => KeyRejection::InstantOutOfRange,
        "setting_out_of_range" => {
            let named = fields.text()?;
            let setting = SETTINGS.iter().find(|setting| **setting == named).ok_or(BadFields::Damaged)?;
            KeyRejection::SettingOutOfRange { setting }
        }
        "unknown_key" => KeyRejection::UnknownKey,
        "stale_owner" => KeyRejection::StaleOwner { generation: fields.number()? },
        "key_completed" => KeyRejection::KeyCompleted,
        "key_released" => KeyRejection::KeyReleased,
        "fingerprint_mismatch" => KeyRejection::FingerprintMismatch { generation: fields.number()? },
        "key_in_progress" => {
            let lease = lease(fields)?;
            KeyRejection::KeyInProgress { generation: lease.generation, lease_expires_at: lease.expires_at }
        }
        "outcome_unknown" => {
            let lease = lease(fields)?;
            KeyRejection::KeyLapsed { generation: lease.generation, lease_expired_at: lease.expires_at }
        }
        "intent_expired" => KeyRejection::IntentExpired { expires_at: expires_at.ok_or(BadFields::Damaged)? },
        "intent_expiry_too_far" => KeyRejection::IntentExpiryTooFar { expires_at_max: fields.number()? },
        "generations_exhausted" => KeyRejection::GenerationsExhausted,
        _ => return Err(BadFields::Damaged),
    };
    Ok(Said::Decided(Err(rejection)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(parts: &[&str]) -> Value {
        Value::Array(parts.iter().map(|part| Value::BulkString(part.as_bytes().to_vec())).collect())
    }

    #[test]
    fn every_refusal_of_the_core_has_its_word() {
        for code in KeyRejection::CODES {
            let reply = match *code {
                "setting_out_of_range" => says(&[code, "lease_ms"]),
                _ => says(&[code, "7", "9"]),
            };
            let said: Said<()> = refusal(code, &mut open(&reply).unwrap().1, Some(9)).unwrap_or_else(|_| panic!("{code} is not read"));
            let Said::Decided(Err(rejection)) = said else { panic!("{code} is no refusal: {said:?}") };
            assert_eq!(rejection.code(), *code);
        }
    }

    #[test]
    fn what_no_script_says_is_damage() {
        for reply in [says(&[]), says(&["yes"]), says(&["fresh", "7"]), says(&["fresh", "x", "1", "0", "0"]), Value::Nil, says(&["kept"])] {
            assert_eq!(registration(&reply, None), Err(BadFields::Damaged), "{reply:?}");
        }
        assert_eq!(registration(&says(&["data_too_new"]), None), Err(BadFields::TooNew));
    }
}
