//! A row of `nevertwice_keys`, and the record that is in it.

use nevertwice_api::encoding::{DecodeError, decode_key_record, encode_key_record};
use nevertwice_api::{AnswerBytes, KeyStoreFailure};
use nevertwice_core::keys::{KeyRecord, KeyState};

/// What the columns say of a record, as they are written.
pub(super) struct Columns {
    pub(super) generation: i64,
    pub(super) state: i64,
    pub(super) owner: Vec<u8>,
    pub(super) forgotten_at: i64,
    /// 0 where nobody works on the key.
    pub(super) lease_expires_at: i64,
    pub(super) record: Vec<u8>,
}

impl Columns {
    pub(super) fn of(record: &KeyRecord) -> Self {
        let (state, owner, lease_expires_at) = match &record.state {
            KeyState::Free(freedom) => (FREE, freedom.owner, 0),
            KeyState::InProgress(claim) => (IN_PROGRESS, claim.owner, claim.lease_expires_at),
            KeyState::Completed(completion) => (COMPLETED, completion.owner, 0),
        };
        let mut bytes = Vec::new();
        encode_key_record(record, &mut bytes);
        Self {
            generation: signed(record.generation),
            state,
            owner: owner.0.to_vec(),
            forgotten_at: record.forgotten_at(),
            lease_expires_at,
            record: bytes,
        }
    }
}

const FREE: i64 = 1;
const IN_PROGRESS: i64 = 2;
const COMPLETED: i64 = 3;

/// What tells a row from every other that the key has had or will have: it is replaced only where all of these still stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) generation: i64,
    pub(super) state: i64,
    pub(super) owner: Vec<u8>,
    /// How often the row was written.
    pub(super) change: i64,
}

/// What was found of a key.
pub(super) struct Found {
    pub(super) mark: Mark,
    pub(super) record: KeyRecord,
    /// Bytes of the answer that lie beside the record.
    pub(super) answer_bytes: u64,
    pub(super) bytes: AnswerBytes,
}

/// A row as the database gives it: the clock, and of a key that is there its columns.
pub(super) type Raw =
    (i64, Option<i64>, Option<i64>, Option<i64>, Option<Vec<u8>>, Option<i64>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

/// Reads what the database gave.
pub(super) fn found(raw: Raw) -> Result<Option<Found>, KeyStoreFailure> {
    let (_, generation, change, state, owner, answer_bytes, record, head, body) = raw;
    let Some(bytes) = record else { return Ok(None) };
    let record = decode_key_record(&bytes).map_err(|error| match error {
        DecodeError::TooNew { .. } => KeyStoreFailure::TooNew,
        other => damaged(&other.to_string()),
    })?;
    let mark = Mark {
        generation: generation.unwrap_or_default(),
        state: state.unwrap_or_default(),
        owner: owner.unwrap_or_default(),
        change: change.unwrap_or_default(),
    };
    let columns = Columns::of(&record);
    // Written together, so one that differs was changed by somebody else.
    if (columns.generation, columns.state, &columns.owner) != (mark.generation, mark.state, &mark.owner) {
        return Err(damaged("its columns differ from its record"));
    }
    let bytes = AnswerBytes { head: head.unwrap_or_default().into(), body: body.unwrap_or_default().into() };
    Ok(Some(Found { mark, record, answer_bytes: unsigned(answer_bytes.unwrap_or_default()), bytes }))
}

fn damaged(what: &str) -> KeyStoreFailure {
    tracing::error!(what, "a row of nevertwice_keys can't be used; nothing was done with its key");
    KeyStoreFailure::Unavailable
}

/// Generations and lengths stay far below 2^63; what does not is refused by the core before.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
