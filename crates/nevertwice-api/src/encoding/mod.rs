//! The one byte layout of entries and state records, the same in the journal, in a Redis stream and in the ledger.
//!
//! A value is one version byte and then its fields in the order of declaration in `nevertwice-core`: bytes and truths as one
//! byte, words as 4 and longs and signed numbers as 8 bytes little-endian, digests as 32 bytes, texts as 2 bytes of length and
//! UTF-8, lists as 4 bytes of count, options as one byte and the value, and one tag byte before each event and record. Fixed
//! widths cost some bytes and keep the layout within what Lua's `struct` can write exactly.

mod fact;
mod layout;
mod lines;
mod part;
mod reader;
mod writer;

pub use fact::{FOLDER_FACT_VERSION, KEY_FACT_VERSION, decode_fact, encode_folder_fact, encode_key_fact, is_no_entry};
pub use layout::{
    DecodeError, ENTRY_BYTES_MAX, ENTRY_VERSION, EntryHead, KEY_RECORD_VERSION, RECORD_VERSION, decode_entry, decode_entry_head,
    decode_key_record, decode_record, encode_entry, encode_key_record, encode_record,
};
pub use lines::{LINES_MAX, Line, decode_lines, encode_lines};
pub use part::{decode_fields, encode_fields};
