//! The headers that make a request an intent.
//!
//! `Idempotency-Key` follows the IETF draft: a structured string (RFC 8941, in double quotes), or the bare key, which many
//! clients send. Both spellings are the same key. One header line with one key: whatever could be two keys to somebody is
//! refused.

use axum::http::{HeaderMap, HeaderValue};
use nevertwice_api::{ErrorCode, Level, Levels};
use nevertwice_core::{IdempotencyKey, TextError};

use crate::refusal::Refusal;

const KEY: &str = "idempotency-key";
const EXPIRES: &str = "idempotency-expires";
const ACK_LEVEL: &str = "ack-level";

/// The key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<IdempotencyKey, Refusal> {
    let mut lines = headers.get_all(KEY).iter();
    let Some(line) = lines.next() else {
        return Err(Refusal::new(
            ErrorCode::IdempotencyKeyMissing,
            "The Idempotency-Key header is missing",
            "Draw a key for each thing that is meant once, for instance a UUID, and send it with the request and with every retry",
        ));
    };
    if lines.next().is_some() {
        return Err(invalid_key("The Idempotency-Key header came more than once"));
    }
    read_key(line).map_err(invalid_key)
}

/// Checks a key that did not come in a header.
pub(crate) fn plain_key(text: &str) -> Result<IdempotencyKey, Refusal> {
    IdempotencyKey::new(text).map_err(|error| invalid_key(key_error(error)))
}

fn invalid_key(wrong: &'static str) -> Refusal {
    Refusal::new(
        ErrorCode::IdempotencyKeyInvalid,
        wrong,
        "Send one key of 1 to 255 visible ASCII characters, in double quotes or bare; a bare one has no commas and no quotes",
    )
}

const fn key_error(error: TextError) -> &'static str {
    match error {
        TextError::Empty => "The idempotency key is empty",
        TextError::TooLong { .. } => "The idempotency key is longer than 255 characters",
        TextError::Character { .. } => "The idempotency key has a character that is not visible ASCII",
    }
}

fn read_key(line: &HeaderValue) -> Result<IdempotencyKey, &'static str> {
    let text = std::str::from_utf8(line.as_bytes()).map_err(|_| "The idempotency key has a character that is not visible ASCII")?;
    let text = text.trim_matches([' ', '\t']);
    let Some(quoted) = text.strip_prefix('"') else {
        if text.contains(',') {
            return Err("The Idempotency-Key header is a list");
        }
        if text.contains('"') {
            return Err("The idempotency key is ill-quoted");
        }
        return IdempotencyKey::new(text).map_err(key_error);
    };
    let mut key = String::with_capacity(quoted.len());
    let mut rest = quoted.chars();
    loop {
        match rest.next() {
            Some('"') => break,
            Some('\\') => match rest.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err("The idempotency key is ill-quoted: only a quote and a backslash are escaped"),
            },
            Some(plain) => key.push(plain),
            None => return Err("The idempotency key is ill-quoted: the closing quote is missing"),
        }
    }
    match rest.as_str().trim_start_matches([' ', '\t']).chars().next() {
        None => IdempotencyKey::new(&key).map_err(key_error),
        Some(',') => Err("The Idempotency-Key header is a list"),
        Some(_) => Err("The idempotency key is ill-quoted: something follows the closing quote"),
    }
}

/// The instant from which on the intent is given up.
pub(crate) fn expires_at(headers: &HeaderMap) -> Result<Option<i64>, Refusal> {
    let mut lines = headers.get_all(EXPIRES).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    let digits = line.to_str().ok().filter(|text| text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), lines.next()) {
        (Some(instant), None) => Ok(Some(instant)),
        _ => Err(Refusal::new(
            ErrorCode::IntentExpiresInvalid,
            "The Idempotency-Expires header is not one instant in milliseconds since 1970",
            "Send a whole number without a sign, the same in every retry, or leave the header out",
        )),
    }
}

/// Further levels that the answer has to have reached.
pub(crate) fn ack_levels(headers: &HeaderMap) -> Result<Levels, Refusal> {
    let mut levels = Levels::NONE;
    for line in headers.get_all(ACK_LEVEL) {
        for word in line.as_bytes().split(|byte| *byte == b',') {
            let word = std::str::from_utf8(word).unwrap_or_default();
            levels = levels.and(Levels::reached(level(word.trim())?));
        }
    }
    Ok(levels)
}

/// Reads a level's word.
pub(crate) fn level(word: &str) -> Result<Level, Refusal> {
    word.parse().map_err(|_| {
        Refusal::new(
            ErrorCode::LevelInvalid,
            "An acknowledgement level is none of the four",
            "Name one of decided, replicated, journaled, ledgered, or leave it out for the shard's own",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(line: &[u8]) -> Result<String, &'static str> {
        read_key(&HeaderValue::from_bytes(line).unwrap()).map(|key| key.as_str().to_owned())
    }

    #[test]
    fn a_key_is_quoted_or_bare() {
        assert_eq!(key(b"\"8e03978e\"").as_deref(), Ok("8e03978e"));
        assert_eq!(key(b"8e03978e").as_deref(), Ok("8e03978e"));
        assert_eq!(key(br#" "a\"b\\c" "#).as_deref(), Ok(r#"a"b\c"#));
        assert_eq!(key(b"\"a,b\"").as_deref(), Ok("a,b"));
    }

    #[test]
    fn whatever_could_be_something_else_is_refused() {
        for line in [
            &b""[..],
            b"  ",
            b"\"\"",
            b"a, b",
            b"a,b",
            b"\"a\", \"b\"",
            b"\"a",
            b"a\"",
            b"\"a\"b",
            b"\"a\";p=1",
            b"\"a\\n\"",
            b"a b",
            "\u{e9}".as_bytes(),
            b"\xff",
        ] {
            assert!(key(line).is_err(), "{}", line.escape_ascii());
        }
        assert!(key(&[b'k'; 255]).is_ok());
        assert!(key(&[b'k'; 256]).is_err());
    }
}
