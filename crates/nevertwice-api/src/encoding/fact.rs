//! What the audit tells, to bytes and back: entries as they are everywhere, and what was done to a folder beside them.

use nevertwice_core::fields::{Fields as _, Malformed, Sink as _, Source as _};

use super::layout::{DecodeError, decode_entry, ended};
use super::reader::Reader;
use super::writer::Writer;
use crate::folder_fact::{Fact, FolderFact};

/// The newest version of what was done to a folder, and the one that is written. Versions of entries stay below 128, so the
/// first byte tells the two apart; a program that knows entries alone refuses the others as too new.
pub const FOLDER_FACT_VERSION: u8 = FOLDER_FACTS | 1;

/// The bit of a version that entries never have.
const FOLDER_FACTS: u8 = 0x80;

const _: () = assert!(super::ENTRY_VERSION < FOLDER_FACTS);

/// Whether these are, or were meant to be, the bytes of what was done to a folder, and no entry's.
#[must_use]
pub fn is_folder_fact(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|version| version & FOLDER_FACTS != 0)
}

/// Appends the bytes of what was done to a folder.
pub fn encode_folder_fact(fact: &FolderFact, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes };
    writer.byte(FOLDER_FACT_VERSION);
    fact.put(&mut writer);
}

/// Reads what fills the bytes.
///
/// # Errors
/// If a newer version wrote them, or they are not exactly one entry or one thing that was done to a folder.
pub fn decode_fact(bytes: &[u8]) -> Result<Fact, DecodeError> {
    if !is_folder_fact(bytes) {
        return decode_entry(bytes).map(|entry| Fact::Entry(Box::new(entry)));
    }
    let mut reader = Reader::new(bytes);
    match reader.byte()? {
        version if version > FOLDER_FACT_VERSION => Err(DecodeError::TooNew { version, known: FOLDER_FACT_VERSION }),
        FOLDER_FACTS => Err(Malformed::UnknownTag(FOLDER_FACTS).into()),
        _ => ended(Fact::Folder(Box::new(FolderFact::take(&mut reader)?)), &reader),
    }
}
