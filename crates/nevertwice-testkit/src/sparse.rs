//! Files that are mostly zeros as short texts, so that they can lie in a repository: segments are filled with zeros beforehand.
//!
//! The first line says how long the file is, `length N`. Each further line is a block of 4096 bytes that is not all zeros: its
//! offset, a space, and its bytes as hexadecimal digits up to the last that is not zero.

use std::fmt::Write as _;

const BLOCK: usize = 4096;

/// The text of a file.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = format!("length {}\n", bytes.len());
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        let Some(last) = block.iter().rposition(|byte| *byte != 0) else { continue };
        let _ = write!(text, "{} ", number * BLOCK);
        for byte in &block[..=last] {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}

/// The file of a text.
///
/// # Panics
/// If the text is not one that [`encode`] made.
#[must_use]
pub fn decode(text: &str) -> Vec<u8> {
    let mut lines = text.lines();
    let length = lines.next().and_then(|line| line.strip_prefix("length ")?.parse().ok()).expect("the first line is the length");
    let mut bytes = vec![0; length];
    for line in lines {
        let (offset, digits) = line.split_once(' ').expect("a block is its offset and its digits");
        let offset: usize = offset.parse().expect("an offset is a number");
        for at in 0..digits.len() / 2 {
            bytes[offset + at] = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("a byte is two digits");
        }
    }
    bytes
}
