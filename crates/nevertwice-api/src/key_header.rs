//! The value of an `Idempotency-Key` header line.
//!
//! By draft-ietf-httpapi-idempotency-key-header-07 it is a structured string (RFC 8941, section 3.3.3, in double quotes). Many clients
//! send the bare key. Both spellings are the same key. Whatever could be two keys to somebody is refused.

use std::fmt;

use nevertwice_core::{IdempotencyKey, TextError};

/// Why a line holds no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeaderError {
    /// The key is empty, too long, or has a character that is not visible ASCII.
    Text(TextError),
    /// A bare value with a comma: a list.
    List,
    /// Quotes or escapes that are not those of a structured string.
    Quotes,
    /// Something follows the closing quote.
    Trailing,
}

impl fmt::Display for KeyHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => write!(f, "the idempotency key is none: {error}"),
            Self::List => f.write_str("the Idempotency-Key header is a list"),
            Self::Quotes => f.write_str("the idempotency key is ill-quoted"),
            Self::Trailing => f.write_str("something follows the closing quote of the idempotency key"),
        }
    }
}

impl std::error::Error for KeyHeaderError {}

/// Reads the value of one header line.
///
/// # Errors
/// If it is not one key of 1 to 255 visible ASCII characters, quoted or bare.
pub fn parse(line: &[u8]) -> Result<IdempotencyKey, KeyHeaderError> {
    let not_ascii = |at| KeyHeaderError::Text(TextError::Character { at });
    let text = std::str::from_utf8(line).map_err(|error| not_ascii(error.valid_up_to()))?;
    let text = text.trim_matches([' ', '\t']);
    let Some(quoted) = text.strip_prefix('"') else {
        return match text.bytes().find(|byte| matches!(byte, b',' | b'"')) {
            Some(b',') => Err(KeyHeaderError::List),
            Some(_) => Err(KeyHeaderError::Quotes),
            None => IdempotencyKey::new(text).map_err(KeyHeaderError::Text),
        };
    };
    let mut key = String::with_capacity(quoted.len());
    let mut rest = quoted.chars();
    loop {
        match rest.next() {
            Some('"') => break,
            Some('\\') => match rest.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err(KeyHeaderError::Quotes),
            },
            Some(plain) => key.push(plain),
            None => return Err(KeyHeaderError::Quotes),
        }
    }
    if !rest.as_str().is_empty() {
        return Err(KeyHeaderError::Trailing);
    }
    IdempotencyKey::new(&key).map_err(KeyHeaderError::Text)
}
