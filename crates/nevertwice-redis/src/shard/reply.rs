//! What the replies of scripts mean.

use std::fmt;

use nevertwice_api::encoding::{DecodeError, decode_entry, decode_fields, decode_record};
use nevertwice_core::fields::Malformed;
use nevertwice_core::{Decision, Entry, IntentRecord, Position, Record, Rejection, ShardId};
use redis::Value;

use super::rejections::rejection;

/// What a deciding script replied.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It decided, at that position of the shard.
    Decided(Box<Decision>, Position),
    /// The caller's clock is too far from the server's. Nothing was done.
    ClockSkew,
    /// The shard goes on in another epoch. Nothing was done.
    EpochSuperseded(u32),
}

/// A reply that no script of this version gives, or a record that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Odd {
    /// A newer version wrote it.
    TooNew,
    /// It is of a shape that nobody gives it.
    Shape(String),
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew => f.write_str("a newer version wrote it"),
            Self::Shape(what) => f.write_str(what),
        }
    }
}

impl From<Malformed> for Odd {
    fn from(error: Malformed) -> Self {
        Self::Shape(format!("a record that can't be read: {error}"))
    }
}

impl From<DecodeError> for Odd {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::TooNew { .. } => Self::TooNew,
            DecodeError::Malformed(error) => error.into(),
        }
    }
}

/// The parts of an array of bulk strings.
pub(super) fn parts(value: &Value) -> Result<Vec<&[u8]>, Odd> {
    let Value::Array(items) = value else { return Err(Odd::Shape("a reply that is no list".into())) };
    let bytes = items.iter().map(|item| match item {
        Value::BulkString(bytes) => Ok(bytes.as_slice()),
        Value::Nil => Ok(&[][..]),
        _ => Err(Odd::Shape("a reply with something that is no text".into())),
    });
    bytes.collect()
}

pub(super) fn number<T: std::str::FromStr>(bytes: &[u8]) -> Result<T, Odd> {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| Odd::Shape("a reply whose number is none".into()))
}

/// The replies to `count` commands that one script decided: one for each, or one that counts for all.
pub(crate) fn each(value: Value, count: usize) -> Result<Vec<Value>, Odd> {
    match value {
        Value::Array(replies) if matches!(replies.first(), Some(Value::Array(_))) => {
            if replies.len() == count {
                Ok(replies)
            } else {
                Err(Odd::Shape(format!("{} replies to {count} commands", replies.len())))
            }
        }
        one => Ok(vec![one; count]),
    }
}

/// What a deciding script replied.
pub(crate) fn outcome(shard: &ShardId, value: &Value) -> Result<Outcome, Odd> {
    Ok(match parts(value)?.as_slice() {
        [b"accepted", entry] => {
            let entry = decode_entry(entry)?;
            let position = entry.position;
            Outcome::Decided(Box::new(Decision::Accepted(entry)), position)
        }
        [b"replayed", position, record] => {
            let entry = replayed(shard, record)?;
            Outcome::Decided(Box::new(Decision::Replayed(entry)), decode_fields(position)?)
        }
        [b"rejected", position, code, detail] => {
            let code = String::from_utf8_lossy(code);
            let rejection: Rejection = rejection(&code, detail)?.ok_or_else(|| Odd::Shape(format!("a refusal `{code}`")))?;
            Outcome::Decided(Box::new(Decision::Rejected(rejection)), decode_fields(position)?)
        }
        [b"clock_skew"] => Outcome::ClockSkew,
        [b"epoch_superseded", epoch] => Outcome::EpochSuperseded(number(epoch)?),
        [b"data_too_new"] => return Err(Odd::TooNew),
        _ => return Err(Odd::Shape("a reply of a shape that no script gives".into())),
    })
}

fn replayed(shard: &ShardId, record: &[u8]) -> Result<Entry, Odd> {
    let IntentRecord { intent, position, at_ms, events } = intent_record(record)?;
    Ok(Entry { shard: shard.clone(), position, at_ms, intent, events, origin: None, before: None })
}

/// The memory of an intent.
pub(super) fn intent_record(bytes: &[u8]) -> Result<IntentRecord, Odd> {
    match decode_record(bytes)? {
        Record::Intent(record) => Ok(record),
        _ => Err(Odd::Shape("a record under an intent's key that is none of an intent".into())),
    }
}

/// In which epoch a shard goes on after it was adopted; none if it is not open.
pub(crate) fn adopted(value: &Value) -> Result<Option<u32>, Odd> {
    match parts(value)?.as_slice() {
        [b"adopted", epoch] => number(epoch).map(Some),
        [b"unopened"] => Ok(None),
        _ => Err(Odd::Shape("a reply to an adoption of a shape that the script does not give".into())),
    }
}

/// In which epoch a server decides, and whether that was raised for a timeline that is new to it.
pub(crate) fn place(value: &Value) -> Result<(u32, bool), Odd> {
    match parts(value)?.as_slice() {
        [b"place", epoch, raised] => Ok((number(epoch)?, *raised == b"1")),
        _ => Err(Odd::Shape("a reply to an adoption of a shape that the script does not give".into())),
    }
}
