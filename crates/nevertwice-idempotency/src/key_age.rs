//! The instant that some kinds of keys carry.

/// When a UUIDv7 (RFC 9562, section 5.7) or a ULID was made, in milliseconds since 1970; none of any other key.
pub(crate) fn made_at(key: &str) -> Option<i64> {
    match key.len() {
        36 => uuid(key),
        26 => ulid(key),
        _ => None,
    }
}

fn uuid(key: &str) -> Option<i64> {
    let has_form = key.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        _ => byte.is_ascii_hexdigit(),
    });
    let digits = format!("{}{}", key.get(..8)?, key.get(9..13)?);
    if has_form { i64::from_str_radix(&digits, 16).ok() } else { None }
}

fn ulid(key: &str) -> Option<i64> {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digit = |byte: u8| DIGITS.iter().position(|known| *known == byte.to_ascii_uppercase()).and_then(|at| i64::try_from(at).ok());
    let digits: Vec<i64> = key.bytes().map(digit).collect::<Option<_>>()?;
    // A ULID has 128 bits, so its first digit is at most 7.
    if digits.first()? > &7 {
        return None;
    }
    Some(digits.iter().take(10).fold(0, |instant, digit| instant << 5 | digit))
}
