//! Parts of entries and records, for who keeps them in pieces: the same fields in the same layout, without a version byte, which
//! whoever keeps them has to add.

use nevertwice_core::fields::{Fields, Malformed};

use super::reader::Reader;
use super::writer::Writer;

/// Appends a value's fields.
pub fn encode_fields<T: Fields>(value: &T, bytes: &mut Vec<u8>) {
    value.put(&mut Writer { bytes });
}

/// Reads a value that fills the bytes.
///
/// # Errors
/// If they are not exactly one.
pub fn decode_fields<T: Fields>(bytes: &[u8]) -> Result<T, Malformed> {
    let mut reader = Reader::new(bytes);
    let value = T::take(&mut reader)?;
    if reader.is_empty() { Ok(value) } else { Err(Malformed::Trailing) }
}
