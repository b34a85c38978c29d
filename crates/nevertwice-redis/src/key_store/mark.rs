//! How a store that lost its data is recognised: by a mark that lies beside the records.
//!
//! A server that was flushed, or that came back without its data, would say of every key that it is unknown, and everything would run
//! again. So the mark is read after each call, on the same connection, and an answer is given only if it is the one that was there when
//! this process began. Who starts anew takes what is there.

use redis::{Cmd, Value};

use crate::keys;
use crate::link::Reply;

/// The mark that was there when this process began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(Vec<u8>);

impl Mark {
    /// One that no store has yet.
    pub(super) fn new(chance: [u8; 16]) -> Self {
        Self(data_encoding::HEXLOWER.encode(&chance).into_bytes())
    }

    /// Writes it where there is none.
    pub(super) fn put(&self) -> Cmd {
        let mut command = redis::cmd("SET");
        command.arg(keys::key_store_mark()).arg(&self.0).arg("NX");
        command
    }

    /// Reads the mark that is there.
    pub(super) fn look() -> Cmd {
        let mut command = redis::cmd("GET");
        command.arg(keys::key_store_mark());
        command
    }

    /// The mark that a look has found.
    pub(super) fn found(reply: &Reply) -> Option<Self> {
        match reply {
            Ok(Value::BulkString(bytes)) => Some(Self(bytes.clone())),
            _ => None,
        }
    }
}
