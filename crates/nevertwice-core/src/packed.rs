//! Remembered intents take most of a shard's memory, so they are kept as packed bytes: numbers take as many bytes as they
//! need. The form never leaves the process; disks and networks have the encoding of `nevertwice-api`.

use alloc::vec::Vec;

use crate::fields::{Malformed, Sink, Source};

/// Appends fields to bytes.
#[derive(Default)]
pub(crate) struct Packer {
    pub(crate) bytes: Vec<u8>,
}

impl Sink for Packer {
    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }
    fn word(&mut self, value: u32) {
        self.long(u64::from(value));
    }
    fn long(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
    fn signed(&mut self, value: i64) {
        // Zigzag: small numbers of either sign stay short.
        self.long((value.wrapping_shl(1) ^ (value >> 63)) as u64);
    }
    fn digest(&mut self, value: &[u8; 32]) {
        self.bytes.extend_from_slice(value);
    }
    fn text(&mut self, value: &str) {
        self.long(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }
}

/// Reads what [`Packer`] wrote.
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
}

impl<'a> Unpacker<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed::CutShort)?;
        self.bytes = rest;
        Ok(taken)
    }
}

impl Source for Unpacker<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1)?.first().copied().ok_or(Malformed::CutShort)
    }
    fn word(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.long()?).map_err(|_| Malformed::Number)
    }
    fn long(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed::Number)
    }
    fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.long()?;
        Ok((value >> 1) as i64 ^ ((value & 1) as i64).wrapping_neg())
    }
    fn digest(&mut self) -> Result<[u8; 32], Malformed> {
        self.take(32)?.try_into().map_err(|_| Malformed::CutShort)
    }
    fn text(&mut self, bytes_max: usize) -> Result<&str, Malformed> {
        let count = usize::try_from(self.long()?).map_err(|_| Malformed::Text)?;
        if count > bytes_max {
            return Err(Malformed::Text);
        }
        core::str::from_utf8(self.take(count)?).map_err(|_| Malformed::Text)
    }
}
