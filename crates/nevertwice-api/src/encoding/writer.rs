//! Fields to bytes.

use nevertwice_core::fields::Sink;

pub(super) struct Writer<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
}

impl Sink for Writer<'_> {
    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }
    fn word(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
    fn long(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
    fn signed(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
    fn digest(&mut self, value: &[u8; 32]) {
        self.bytes.extend_from_slice(value);
    }
    fn text(&mut self, value: &str) {
        // Every kind of text is bounded far below 64 KiB.
        debug_assert!(u16::try_from(value.len()).is_ok());
        self.bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
    }
}
