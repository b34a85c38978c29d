//! What the client itself refuses, before anything is sent.

use std::fmt;

use crate::StoreError;

/// A refusal of the client. Nothing was sent.
#[derive(Debug)]
pub enum ClientError {
    /// A path, a header, a body or a setting that can't be sent.
    RequestInvalid {
        /// What is wrong with it.
        wrong: String,
    },
    /// A key that is not 1 to 255 visible ASCII characters.
    KeyInvalid,
    /// Two different keys for one intent, a key that every request would share, or a name that was finished or given away meanwhile.
    KeyConflict,
    /// Another request under the name, and so the key, of an intent that is not finished.
    RequestChanged {
        /// The name.
        name: String,
    },
    /// An intent was to be finished whose outcome is not known.
    StillUnknown,
    /// The operating system gives no random bytes.
    ChanceFailed,
    /// The store can't be read or written, or holds what is no record.
    StoreFailed(StoreError),
}

impl ClientError {
    /// The stable code, the same in every language.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::RequestInvalid { .. } => "request_invalid",
            Self::KeyInvalid => "key_invalid",
            Self::KeyConflict => "key_conflict",
            Self::RequestChanged { .. } => "request_changed",
            Self::StillUnknown => "still_unknown",
            Self::ChanceFailed => "chance_failed",
            Self::StoreFailed(_) => "store_failed",
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RequestInvalid { wrong } => write!(f, "{wrong}. Nothing was sent. Correct the call."),
            Self::KeyInvalid => f.write_str(
                "The idempotency key is not 1 to 255 visible ASCII characters. Nothing was sent. Give another, or none: one is made then.",
            ),
            Self::KeyConflict => f.write_str(
                "There are two keys for one intent, one for all requests of a client, or the intent's name was finished meanwhile. Nothing was \
                 sent. Give one key or none, or make the intent anew, if it is still meant.",
            ),
            Self::RequestChanged { name } => write!(
                f,
                "{name:?} was another request, and its key must not be used for this one. Nothing was sent. Finish that intent once its \
                 outcome is known, or choose another name."
            ),
            Self::StillUnknown => f.write_str(
                "Nobody knows whether it has happened. Nothing was sent. Send it again, or look first and then abandon it.",
            ),
            Self::ChanceFailed => f.write_str("There are no random bytes for a key. Nothing was sent. Give a key, or mend the system."),
            Self::StoreFailed(error) => write!(
                f,
                "The store of intents can't be used: {error}. Nothing was sent. Mend the store; a key that is made anew would be another intent."
            ),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::StoreFailed(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for ClientError {
    fn from(error: StoreError) -> Self {
        Self::StoreFailed(error)
    }
}
