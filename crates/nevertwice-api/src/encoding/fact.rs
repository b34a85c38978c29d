//! What the audit tells, to bytes and back: entries as they are everywhere, and what was done to a folder or a key beside them.

use nevertwice_core::fields::{Fields as _, Malformed, Sink as _, Source as _};

use super::layout::{DecodeError, decode_entry, ended};
use super::reader::Reader;
use super::writer::Writer;
use crate::folder_fact::{Fact, FolderFact};
use crate::key_fact::KeyFact;

/// The newest version of what was done to a folder, and the one that is written. Versions of entries stay below 128, so the
/// first byte tells the two apart; a program that knows entries alone refuses the others as too new.
pub const FOLDER_FACT_VERSION: u8 = NO_ENTRY | 1;

/// The version of what was done to the record of a key.
pub const KEY_FACT_VERSION: u8 = NO_ENTRY | 2;

/// The bit of a version that entries never have.
const NO_ENTRY: u8 = 0x80;

const _: () = assert!(super::ENTRY_VERSION < NO_ENTRY);

/// Whether these are, or were meant to be, the bytes of what was done to a folder or a key, and no entry's.
#[must_use]
pub fn is_no_entry(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|version| version & NO_ENTRY != 0)
}

/// Appends the bytes of what was done to a folder.
pub fn encode_folder_fact(fact: &FolderFact, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(FOLDER_FACT_VERSION);
    fact.put(&mut writer);
}

/// Appends the bytes of what was done to the record of a key.
pub fn encode_key_fact(fact: &KeyFact, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(KEY_FACT_VERSION);
    fact.put(&mut writer);
}

/// Reads what fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one entry or one thing that was done to a folder or a key.
pub fn decode_fact(bytes: &[u8]) -> Result<Fact, DecodeError> {
    if !is_no_entry(bytes) {
        return decode_entry(bytes).map(|entry| Fact::Entry(Box::new(entry)));
    }
    let mut reader = Reader::new(bytes);
    match reader.byte()? {
        version if version > KEY_FACT_VERSION => Err(DecodeError::TooNew { version, known: KEY_FACT_VERSION }),
        NO_ENTRY => Err(Malformed::UnknownTag(NO_ENTRY).into()),
        KEY_FACT_VERSION => ended(Fact::Key(Box::new(KeyFact::take(&mut reader)?)), &reader),
        _ => ended(Fact::Folder(Box::new(FolderFact::take(&mut reader)?)), &reader),
    }
}
