//! New keys.

use data_encoding::HEXLOWER;

/// The key of an instant and 10 random bytes, of which 74 bits count: a UUID of version 7 (RFC 9562), so that a server can tell how old it
/// is.
#[must_use]
pub fn fresh_key(now_ms: u64, chance: [u8; 10]) -> String {
    let mut bytes = [0; 16];
    let (instant, random) = bytes.split_at_mut(6);
    instant.copy_from_slice(&now_ms.to_be_bytes()[2..]);
    random.copy_from_slice(&chance);
    bytes[6] = (bytes[6] & 0x0f) | 0x70;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
