//! Bytes to fields.

use nevertwice_core::fields::{Malformed, Source};

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Malformed::CutShort)?;
        self.bytes = rest;
        Ok(*taken)
    }
}

impl Source for Reader<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let [byte] = self.take()?;
        Ok(byte)
    }
    fn word(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }
    fn long(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }
    fn signed(&mut self) -> Result<i64, Malformed> {
        self.take().map(i64::from_le_bytes)
    }
    fn digest(&mut self) -> Result<[u8; 32], Malformed> {
        self.take()
    }
    fn text(&mut self, bytes_max: usize) -> Result<&str, Malformed> {
        let length = usize::from(self.take().map(u16::from_le_bytes)?);
        if length > bytes_max {
            return Err(Malformed::Text);
        }
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Malformed::CutShort)?;
        self.bytes = rest;
        std::str::from_utf8(taken).map_err(|_| Malformed::Text)
    }
}
