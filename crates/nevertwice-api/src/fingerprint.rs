//! What makes two requests the same: a digest over a canonical form.
//!
//! Member order, white space and the spelling of string escapes don't matter; the order of arrays does, and so does the exact
//! text of numbers. RFC 8785 would turn numbers into doubles, and two amounts above 2^53 could share a fingerprint.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use sha2::{Digest, Sha256};

/// The version of the canonical form; it enters every fingerprint.
pub const VERSION: u8 = 1;

/// The deepest nesting of arrays and objects that is read.
pub const DEPTH_MAX: usize = 64;

/// Members of an object for which there is room at first.
const MEMBERS_EXPECTED: usize = 8;

/// Bytes that are not one JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// The offset of the first byte that can't be understood.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for NotJson {}

/// The fingerprint of a request: its operation (verb and noun, and the path's names), and the canonical form of its JSON body.
///
/// # Errors
/// If the body is neither empty nor one JSON text, or an object in it has a member twice.
pub fn of_json(operation: &[&str], body: &[u8]) -> Result<[u8; 32], NotJson> {
    let mut hasher = Sha256::new();
    hasher.update([VERSION]);
    for part in operation {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(u64::MAX.to_le_bytes());
    if !body.is_empty() {
        hasher.update(canonical_json(body)?);
    }
    Ok(hasher.finalize().into())
}

/// The canonical form of one JSON text: no white space, members in the order of their names' bytes, strings with the shortest
/// escapes, numbers as they were written.
///
/// # Errors
/// If the bytes are not one JSON text, are nested deeper than [`DEPTH_MAX`], or an object has a member twice.
pub fn canonical_json(text: &[u8]) -> Result<Vec<u8>, NotJson> {
    let mut parser = Parser { text, at: 0 };
    let mut out = Vec::with_capacity(text.len());
    parser.space();
    parser.value(&mut out, 0)?;
    parser.space();
    if parser.at < text.len() { Err(parser.error("something follows the JSON text")) } else { Ok(out) }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

/// A member of an object, and where it was written.
struct Member<'a> {
    name: Cow<'a, str>,
    written: Range<usize>,
}

impl<'a> Parser<'a> {
    const fn error(&self, what: &'static str) -> NotJson {
        NotJson { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), NotJson> {
        if depth > DEPTH_MAX {
            return Err(self.error("too deeply nested"));
        }
        match self.peek() {
            Some(b'{') => self.object(out, depth),
            Some(b'[') => self.array(out, depth),
            Some(b'"') => {
                let string = self.string()?;
                write_string(&string, matches!(string, Cow::Owned(_)), out);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(out),
            Some(b't') => self.word(b"true", out),
            Some(b'f') => self.word(b"false", out),
            Some(b'n') => self.word(b"null", out),
            Some(_) => Err(self.error("no JSON value begins so")),
            None => Err(self.error("the text ends where a value should be")),
        }
    }

    fn word(&mut self, word: &[u8], out: &mut Vec<u8>) -> Result<(), NotJson> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.error("no JSON value begins so"));
        }
        self.at += word.len();
        out.extend_from_slice(word);
        Ok(())
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), NotJson> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            out.extend_from_slice(b"{}");
            return Ok(());
        }
        let start = out.len();
        let mut members: Vec<Member<'a>> = Vec::with_capacity(MEMBERS_EXPECTED);
        let mut is_in_order = true;
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("a member's name should be here"));
            }
            let name = self.string()?;
            self.space();
            self.expect(b':', "a colon should be here")?;
            self.space();
            out.push(if members.is_empty() { b'{' } else { b',' });
            let from = out.len();
            write_string(&name, matches!(name, Cow::Owned(_)), out);
            out.push(b':');
            self.value(out, depth + 1)?;
            is_in_order = is_in_order && members.last().is_none_or(|last| last.name < name);
            members.push(Member { name, written: from..out.len() });
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.error("a comma or the object's end should be here")),
            }
        }
        if !is_in_order {
            members.sort_by(|a, b| a.name.cmp(&b.name));
            if members.windows(2).any(|pair| matches!(pair, [a, b] if a.name == b.name)) {
                return Err(self.error("the object that ends here has a member twice"));
            }
            reorder(out, start, &members);
        }
        self.at += 1;
        out.push(b'}');
        Ok(())
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), NotJson> {
        self.at += 1;
        out.push(b'[');
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            out.push(b']');
            return Ok(());
        }
        loop {
            self.space();
            self.value(out, depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    out.push(b',');
                }
                Some(b']') => {
                    self.at += 1;
                    out.push(b']');
                    return Ok(());
                }
                _ => return Err(self.error("a comma or the array's end should be here")),
            }
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NotJson> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.error(what))
        }
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Result<(), NotJson> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("a digit should be here")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        out.extend_from_slice(self.text.get(start..self.at).unwrap_or_default());
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), NotJson> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.error("a digit should be here"));
        }
        self.digits();
        Ok(())
    }

    /// Reads a string, its escapes resolved.
    fn string(&mut self) -> Result<Cow<'a, str>, NotJson> {
        self.at += 1;
        let mut string = Cow::Borrowed("");
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            let plain = self.text.get(start..self.at).unwrap_or_default();
            match std::str::from_utf8(plain) {
                Ok(plain) => string += plain,
                Err(error) => return Err(NotJson { at: start + error.valid_up_to(), what: "a string that is not UTF-8" }),
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => {
                    self.at += 1;
                    string.to_mut().push(self.escape()?);
                }
                Some(_) => return Err(self.error("a control character in a string")),
                None => return Err(self.error("the text ends within a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, NotJson> {
        let escaped = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.error("no such escape")),
        };
        self.at += 1;
        Ok(escaped)
    }

    fn unicode(&mut self) -> Result<char, NotJson> {
        let first = self.hex()?;
        let code = match first {
            0xd800..=0xdbff => {
                self.expect(b'\\', "the second half of a surrogate pair should be here")?;
                self.expect(b'u', "the second half of a surrogate pair should be here")?;
                let second = self.hex()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.error("half a surrogate pair"));
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.error("half a surrogate pair"))
    }

    fn hex(&mut self) -> Result<u32, NotJson> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or_else(|| self.error("a hexadecimal digit should be here"))?;
            self.at += 1;
        }
        Ok(value)
    }
}

/// Puts the members of an object that begins at `start` into their order.
fn reorder(out: &mut Vec<u8>, start: usize, members: &[Member<'_>]) {
    let before = out.split_off(start);
    for (number, Member { written, .. }) in members.iter().enumerate() {
        out.push(if number == 0 { b'{' } else { b',' });
        out.extend_from_slice(before.get(written.start - start..written.end - start).unwrap_or_default());
    }
}

/// Writes a string. One that had no escapes needs none.
fn write_string(string: &str, had_escapes: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    let is_escaped = |byte: &u8| had_escapes && matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let mut rest = string.as_bytes();
    while let Some(at) = rest.iter().position(is_escaped) {
        let (plain, escaped) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = escaped.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            }
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
