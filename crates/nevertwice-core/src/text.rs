//! Short texts that come from outside, each with its own bound and alphabet, checked once when they are made.

use core::fmt;

use compact_str::CompactString;

use crate::fields::{Fields, Malformed, Sink, Source};

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextError {
    /// It has no characters.
    Empty,
    /// It is longer than `bytes_max`.
    TooLong {
        /// The most bytes that this kind of text may have.
        bytes_max: usize,
    },
    /// It has a character that this kind of text may not have.
    Character {
        /// Its offset in bytes.
        at: usize,
    },
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong { bytes_max } => write!(f, "it is longer than {bytes_max} bytes"),
            Self::Character { at } => write!(f, "it has a character at byte {at} that it may not have"),
        }
    }
}

impl core::error::Error for TextError {}

fn check(text: &str, bytes_max: usize, allowed: fn(u8) -> bool) -> Result<(), TextError> {
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    if text.len() > bytes_max {
        return Err(TextError::TooLong { bytes_max });
    }
    // Clients take these for steps in a path.
    if text == "." || text == ".." {
        return Err(TextError::Character { at: 0 });
    }
    match text.bytes().position(|byte| !allowed(byte)) {
        Some(at) => Err(TextError::Character { at }),
        None => Ok(()),
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'@')
}

fn is_visible(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

macro_rules! text {
    ($(#[$meta:meta])* $name:ident, $bytes_max:literal, $allowed:path) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(CompactString);

        impl $name {
            /// The most bytes it may have.
            pub const BYTES_MAX: usize = $bytes_max;

            /// Checks length and alphabet.
            ///
            /// # Errors
            /// If it is empty, too long, or has a character outside the alphabet of its kind.
            pub fn new(text: &str) -> Result<Self, TextError> {
                check(text, Self::BYTES_MAX, $allowed)?;
                Ok(Self(CompactString::new(text)))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.0.as_str(), f)
            }
        }

        impl Fields for $name {
            fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
                sink.text(&self.0);
            }
            fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
                Self::new(source.text(Self::BYTES_MAX)?).map_err(|_| Malformed::Text)
            }
        }
    };
}

text! {
    /// The name of a market, sale, instrument, account or level: 1 to 64 of `A-Z a-z 0-9 - _ . : @`, case kept.
    Name, 64, is_name
}

text! {
    /// Who means an intent: 1 to 128 visible ASCII characters.
    Principal, 128, is_visible
}

text! {
    /// What tells one intent of a principal from another: 1 to 255 visible ASCII characters.
    IdempotencyKey, 255, is_visible
}

text! {
    /// The id of a payment, made from the entry of its booking; the idempotency key at the gateway.
    PaymentId, 128, is_name
}

text! {
    /// Where a person pays: 1 to 2,048 visible ASCII characters.
    PaymentUrl, 2048, is_visible
}

text! {
    /// The name of a credential: 1 to 64 visible ASCII characters.
    CallerName, 64, is_visible
}

text! {
    /// The address at the other end of a connection, host and port: 1 to 64 visible ASCII characters.
    PeerAddress, 64, is_visible
}
