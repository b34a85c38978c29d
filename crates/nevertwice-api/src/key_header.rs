//! The value of an `Idempotency-Key` header line.
//!
//! By draft-ietf-httpapi-idempotency-key-header-07 it is a structured string (RFC 8941, section 3.3.3, in double quotes). Many clients
//! send the bare key. Both spellings are the same key. Whatever could be two keys to somebody is refused.

use std::fmt;

use nevertwice_core::{IdempotencyKey, TextError};

/// Why a line holds no key. `Display` is a sentence without its full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeaderError {
    /// The key is empty, too long, or has a character that is not visible ASCII.
    Text(TextError),
    /// `.` or `..`, which clients take for a step in a path.
    Dots,
    /// A comma outside of quotes: more than one value.
    List,
    /// A bare value with a quote in it.
    Quote,
    /// A backslash before something else than a quote or a backslash.
    Escape,
    /// The closing quote is missing.
    Unclosed,
    /// Something follows the closing quote.
    Trailing,
}

impl fmt::Display for KeyHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(TextError::Empty) => "The idempotency key is empty",
            Self::Text(TextError::TooLong { .. }) => "The idempotency key is longer than 255 characters",
            Self::Text(TextError::Character { .. }) => "The idempotency key has a character that is not visible ASCII",
            Self::Dots => "The idempotency key is `.` or `..`",
            Self::List => "The Idempotency-Key header is a list",
            Self::Quote => "The idempotency key is ill-quoted: a bare one has no quotes",
            Self::Escape => "The idempotency key is ill-quoted: only a quote and a backslash are escaped",
            Self::Unclosed => "The idempotency key is ill-quoted: the closing quote is missing",
            Self::Trailing => "The idempotency key is ill-quoted: something follows the closing quote",
        })
    }
}

impl std::error::Error for KeyHeaderError {}

/// Reads the value of one header line.
///
/// # Errors
/// If it is not one key of 1 to 255 visible ASCII characters, quoted or bare, and neither `.` nor `..`.
pub fn parse(line: &[u8]) -> Result<IdempotencyKey, KeyHeaderError> {
    let not_ascii = |at| KeyHeaderError::Text(TextError::Character { at });
    let text = std::str::from_utf8(line).map_err(|error| not_ascii(error.valid_up_to()))?;
    let text = text.trim_matches([' ', '\t']);
    let Some(quoted) = text.strip_prefix('"') else {
        return match text.bytes().find(|byte| matches!(byte, b',' | b'"')) {
            Some(b',') => Err(KeyHeaderError::List),
            Some(_) => Err(KeyHeaderError::Quote),
            None => key(text),
        };
    };
    let mut unescaped = String::with_capacity(quoted.len());
    let mut rest = quoted.chars();
    loop {
        match rest.next() {
            Some('"') => break,
            Some('\\') => match rest.next() {
                Some(escaped @ ('"' | '\\')) => unescaped.push(escaped),
                _ => return Err(KeyHeaderError::Escape),
            },
            Some(plain) => unescaped.push(plain),
            None => return Err(KeyHeaderError::Unclosed),
        }
    }
    match rest.as_str().trim_start_matches([' ', '\t']).chars().next() {
        None => key(&unescaped),
        Some(',') => Err(KeyHeaderError::List),
        Some(_) => Err(KeyHeaderError::Trailing),
    }
}

fn key(text: &str) -> Result<IdempotencyKey, KeyHeaderError> {
    if matches!(text, "." | "..") {
        return Err(KeyHeaderError::Dots);
    }
    IdempotencyKey::new(text).map_err(KeyHeaderError::Text)
}
