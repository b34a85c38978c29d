//! How a record lies in its hash.

use std::str::FromStr;

use nevertwice_core::keys::{BodyKept, KeyAnswer, KeyClaim, KeyCompletion, KeyFreedom, KeyRecord, KeyState, OwnerId};
use redis::Value;

/// The version of records that this crate writes, and the newest that it reads.
pub(super) const RECORD_VERSION: u32 = 1;

/// The fields that tell of a record without its answer's bytes, in the order in which [`record`] reads them.
pub(super) const RECORD: &[&str] = &[
    "v",
    "state",
    "generation",
    "changed_at",
    "retention_ms",
    "owner",
    "fingerprint",
    "lease_expires_at",
    "status",
    "head_bytes",
    "head_digest",
    "body_bytes",
    "body_digest",
    "kept",
];

/// Why fields are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadFields {
    /// A newer version wrote them.
    TooNew,
    /// They contradict each other, or something is missing.
    Damaged,
}

/// The record that the fields of [`RECORD`] tell of; none if nothing lies there.
pub(super) fn record(values: &[Value]) -> Result<Option<KeyRecord>, BadFields> {
    let mut fields = Fields(values);
    let Some(version) = fields.next_text()? else { return Ok(None) };
    if version.parse::<u32>().map_err(|_| BadFields::Damaged)? > RECORD_VERSION {
        return Err(BadFields::TooNew);
    }
    let state = fields.text()?;
    let (generation, changed_at, retention_ms) = (fields.number()?, fields.number()?, fields.number()?);
    let owner = OwnerId(fields.digest()?);
    let state = match state {
        "free" => KeyState::Free(KeyFreedom { owner }),
        "in_progress" => KeyState::InProgress(KeyClaim { fingerprint: fields.digest()?, owner, lease_expires_at: fields.number()? }),
        "completed" => {
            let fingerprint = fields.digest()?;
            fields.next_text()?;
            KeyState::Completed(KeyCompletion { fingerprint, owner, answer: fields.answer()? })
        }
        _ => return Err(BadFields::Damaged),
    };
    Ok(Some(KeyRecord { generation, changed_at, retention_ms, state }))
}

/// Values in order.
pub(super) struct Fields<'a>(pub(super) &'a [Value]);

impl<'a> Fields<'a> {
    /// The next value's bytes; none if there are none.
    pub(super) fn next_bytes(&mut self) -> Result<Option<&'a [u8]>, BadFields> {
        let (value, rest) = self.0.split_first().ok_or(BadFields::Damaged)?;
        self.0 = rest;
        match value {
            Value::Nil => Ok(None),
            Value::BulkString(bytes) => Ok(Some(bytes)),
            _ => Err(BadFields::Damaged),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], BadFields> {
        self.next_bytes()?.ok_or(BadFields::Damaged)
    }

    fn next_text(&mut self) -> Result<Option<&'a str>, BadFields> {
        self.next_bytes()?.map(|bytes| std::str::from_utf8(bytes).map_err(|_| BadFields::Damaged)).transpose()
    }

    pub(super) fn text(&mut self) -> Result<&'a str, BadFields> {
        self.next_text()?.ok_or(BadFields::Damaged)
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Result<T, BadFields> {
        self.text()?.parse().map_err(|_| BadFields::Damaged)
    }

    fn digest(&mut self) -> Result<[u8; 32], BadFields> {
        self.bytes()?.try_into().map_err(|_| BadFields::Damaged)
    }

    /// An answer: `status, head_bytes, head_digest, body_bytes, body_digest, kept`.
    pub(super) fn answer(&mut self) -> Result<KeyAnswer, BadFields> {
        Ok(KeyAnswer {
            status: self.number()?,
            head_bytes: self.number()?,
            head_digest: self.digest()?,
            body_bytes: self.number()?,
            body_digest: self.digest()?,
            body: {
                let word = self.text()?;
                BodyKept::ALL.iter().copied().find(|kept| kept.word() == word).ok_or(BadFields::Damaged)?
            },
        })
    }
}
