//! Entries and records to bytes and back.

use std::fmt;

use nevertwice_core::fields::{Fields, Malformed, Sink as _, Source as _};
use nevertwice_core::{Entry, Record};

use super::reader::Reader;
use super::writer::Writer;

/// The version that is written. Older ones stay readable for ever.
pub const VERSION: u8 = 1;

/// Why bytes are not an entry or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A newer version wrote them.
    TooNew {
        /// Its version of the encoding.
        version: u8,
    },
    /// They are not what they should be.
    Malformed(Malformed),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNew { version } => write!(f, "version {version} of the encoding is newer than this program, which knows {VERSION}"),
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
    encode(entry, bytes);
}

/// Reads an entry that fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one entry.
pub fn decode_entry(bytes: &[u8]) -> Result<Entry, DecodeError> {
    decode(bytes)
}

/// Appends a record's bytes.
pub fn encode_record(record: &Record, bytes: &mut Vec<u8>) {
    encode(record, bytes);
}

/// Reads a record that fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one record.
pub fn decode_record(bytes: &[u8]) -> Result<Record, DecodeError> {
    decode(bytes)
}

fn encode(value: &impl Fields, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(VERSION);
    value.put(&mut writer);
}

fn decode<T: Fields>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.byte()? {
        VERSION => {}
        0 => return Err(Malformed::UnknownTag(0).into()),
        version => return Err(DecodeError::TooNew { version }),
    }
    let value = T::take(&mut reader)?;
    if reader.is_empty() { Ok(value) } else { Err(Malformed::Trailing.into()) }
}
