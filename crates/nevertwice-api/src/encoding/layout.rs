//! Entries and records to bytes and back.

use std::fmt;

use nevertwice_core::fields::{Fields, Malformed, Sink as _, Source as _};
use nevertwice_core::keys::KeyRecord;
use nevertwice_core::{Before, Entry, Intent, Origin, Position, Record, ShardId};

use super::reader::Reader;
use super::writer::Writer;

/// The newest version of an entry. Older ones stay readable for ever; each entry is written as the oldest that holds it, so an
/// entry without an origin is what it always was.
pub const ENTRY_VERSION: u8 = 2;

/// The newest version of a record, and the one that is written.
pub const RECORD_VERSION: u8 = 1;

/// The newest version of a key's record, and the one that is written.
pub const KEY_RECORD_VERSION: u8 = 1;

/// The longest entry that the core makes, in bytes: a load of as many candidates as one command may name, with what the list had
/// of them before.
pub const ENTRY_BYTES_MAX: usize = 31 << 10;

/// Why bytes are not an entry or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A newer version wrote them.
    TooNew {
        /// Its version of the encoding.
        version: u8,
        /// The newest one that this program knows.
        known: u8,
    },
    /// They are not what they should be.
    Malformed(Malformed),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew { version, known } => {
                write!(f, "version {version} of the encoding is newer than this program, which knows {known}")
            }
            Self::Malformed(error) => write!(f, "malformed bytes: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<Malformed> for DecodeError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

/// Appends an entry's bytes.
pub fn encode_entry(entry: &Entry, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    match &entry.origin {
        None => {
            debug_assert!(entry.before.is_none(), "what a command found goes with its origin");
            writer.byte(1);
            entry.put(&mut writer);
        }
        Some(origin) => {
            writer.byte(2);
            entry.put(&mut writer);
            origin.put(&mut writer);
            match &entry.before {
                None => writer.byte(0),
                Some(before) => {
                    writer.byte(1);
                    before.put(&mut writer);
                }
            }
        }
    }
}

/// Reads an entry that fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one entry.
pub fn decode_entry(bytes: &[u8]) -> Result<Entry, DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = version(&mut reader, ENTRY_VERSION)?;
    let mut entry = Entry::take(&mut reader)?;
    if version >= 2 {
        entry.origin = Some(Box::new(Origin::take(&mut reader)?));
        let before: Option<Before> = Fields::take(&mut reader)?;
        entry.before = before.map(Box::new);
    }
    ended(entry, &reader)
}

/// The first fields of an entry, for who looks for one among many: where it happened, when, and who meant it.
///
/// # Errors
/// As for [`decode_entry`], as far as it reads.
pub fn decode_entry_head(bytes: &[u8]) -> Result<EntryHead, DecodeError> {
    let mut reader = Reader::new(bytes);
    version(&mut reader, ENTRY_VERSION)?;
    Ok(EntryHead {
        shard: Fields::take(&mut reader)?,
        position: Fields::take(&mut reader)?,
        at_ms: Fields::take(&mut reader)?,
        intent: Fields::take(&mut reader)?,
    })
}

/// The first fields of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// Where it happened.
    pub shard: ShardId,
    /// Its place in that shard's history.
    pub position: Position,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who meant it.
    pub intent: Intent,
}

/// Appends a record's bytes.
pub fn encode_record(record: &Record, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(RECORD_VERSION);
    record.put(&mut writer);
}

/// Reads a record that fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one record.
pub fn decode_record(bytes: &[u8]) -> Result<Record, DecodeError> {
    let mut reader = Reader::new(bytes);
    version(&mut reader, RECORD_VERSION)?;
    let record = Record::take(&mut reader)?;
    ended(record, &reader)
}

/// Appends the bytes of a key's record.
pub fn encode_key_record(record: &KeyRecord, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(KEY_RECORD_VERSION);
    record.put(&mut writer);
}

/// Reads a key's record that fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one key's record.
pub fn decode_key_record(bytes: &[u8]) -> Result<KeyRecord, DecodeError> {
    let mut reader = Reader::new(bytes);
    version(&mut reader, KEY_RECORD_VERSION)?;
    let record = KeyRecord::take(&mut reader)?;
    ended(record, &reader)
}

fn version(reader: &mut Reader<'_>, known: u8) -> Result<u8, DecodeError> {
    match reader.byte()? {
        0 => Err(Malformed::UnknownTag(0).into()),
        version if version > known => Err(DecodeError::TooNew { version, known }),
        version => Ok(version),
    }
}

pub(super) fn ended<T>(value: T, reader: &Reader<'_>) -> Result<T, DecodeError> {
    if reader.is_empty() { Ok(value) } else { Err(Malformed::Trailing.into()) }
}
