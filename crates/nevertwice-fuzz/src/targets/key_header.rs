//! The line that holds an idempotency key, beside a slow reader of structured strings (RFC 8941, section 3.3.3).

use nevertwice_api::key_header;

use crate::Verdict;

/// What these lines are made of.
pub const WORDS: &[&str] =
    &["\"", "\\\"", "\\\\", "\\", ",", " ", "\t", ";a=1", "\u{e9}", "\u{7f}", ".", "8e03978e-40d5-43dd-bc93-6894a57f9324"];

/// The longest key, in characters.
const KEY_MAX: usize = 255;

/// The input is the value of one line.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let read = key_header::parse(bytes);
    let twin = slowly(bytes);
    assert_eq!(read.as_ref().ok().map(|key| key.as_str()), twin.as_deref(), "{read:?}");
    match read {
        Ok(_) => Verdict::Accepted,
        Err(refused) => {
            let told = refused.to_string();
            assert!(told.starts_with("The ") && !told.ends_with('.') && told.len() < 120, "{told}");
            Verdict::Refused
        }
    }
}

/// The same rule, told otherwise: a structured string or a bare word, of visible ASCII alone.
fn slowly(bytes: &[u8]) -> Option<String> {
    let mut line: Vec<u8> = bytes.to_vec();
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    while is_space(line.last()) {
        line.pop();
    }
    while is_space(line.first()) {
        line.remove(0);
    }
    let key = if line.first() == Some(&b'"') { inside(&line)? } else { bare(line)? };
    if key == b"." || key == b".." {
        return None;
    }
    let is_key = (1..=KEY_MAX).contains(&key.len()) && key.iter().all(|byte| (0x21..=0x7e).contains(byte));
    if is_key { String::from_utf8(key).ok() } else { None }
}

/// Neither of the characters that would make it something else in a structured field.
fn bare(line: Vec<u8>) -> Option<Vec<u8>> {
    if line.contains(&b'"') || line.contains(&b',') { None } else { Some(line) }
}

/// What stands between the quotes, escapes resolved from the end backwards: a quote or a backslash counts as itself only if an odd
/// number of backslashes stands before it.
fn inside(line: &[u8]) -> Option<Vec<u8>> {
    let text = line.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut key = Vec::new();
    let mut end = text.len();
    while let Some(last) = end.checked_sub(1) {
        let before = text[..last].iter().rev().take_while(|byte| **byte == b'\\').count();
        let is_escaped = before % 2 == 1;
        match (text[last], is_escaped) {
            (b'"' | b'\\', true) => end = last - 1,
            // A backslash or a quote that nothing escapes, and an escape of something else.
            (b'"' | b'\\', false) | (_, true) => return None,
            (_, false) => end = last,
        }
        key.push(text[last]);
    }
    key.reverse();
    Some(key)
}
