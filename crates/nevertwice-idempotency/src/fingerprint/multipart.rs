//! Parts of a multipart body (RFC 2046, section 5.1; RFC 7578), whatever the boundary between them is.

/// One part.
pub(crate) struct Part<'a> {
    /// Those of its headers that say what it is, with names in lower case, in the order of their names.
    pub(crate) head: Vec<u8>,
    /// Its content.
    pub(crate) content: &'a [u8],
}

/// Parts of one body, at most; with more the body counts by its bytes.
const PARTS_MAX: usize = 1_024;

const HEADERS: &[&[u8]] = &[b"content-disposition", b"content-transfer-encoding", b"content-type"];

/// The parts of a body, or none if it is not well-formed.
pub(crate) fn parts<'a>(media_type: &str, body: &'a [u8]) -> Option<Vec<Part<'a>>> {
    let delimiter = format!("\r\n--{}", boundary(media_type)?);
    // The first delimiter may open the body.
    let mut rest = match body.strip_prefix(&delimiter.as_bytes()[2..]) {
        Some(rest) => rest,
        None => split(body, delimiter.as_bytes())?.1,
    };
    let mut found = Vec::new();
    while !rest.starts_with(b"--") {
        if found.len() == PARTS_MAX {
            return None;
        }
        let (_, after) = split(rest, b"\r\n")?;
        let (part, after) = split(after, delimiter.as_bytes())?;
        let (head, content) = match part.strip_prefix(b"\r\n") {
            Some(content) => (&[][..], content),
            None => split(part, b"\r\n\r\n")?,
        };
        found.push(Part { head: what_it_is(head)?, content });
        rest = after;
    }
    Some(found)
}

fn boundary(media_type: &str) -> Option<&str> {
    let mut parameters = media_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    (1..=70).contains(&value.len()).then_some(value)
}

/// None if a line has half a line break in it: some readers would see two lines there, and others one.
fn what_it_is(head: &[u8]) -> Option<Vec<u8>> {
    let mut rest = head;
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let (line, after) = split(rest, b"\r\n").unwrap_or((rest, &[]));
        rest = after;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        if line.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            return None;
        }
        let name = line[..colon].to_ascii_lowercase();
        if HEADERS.contains(&name.as_slice()) {
            lines.push([&name, &b":"[..], line[colon + 1..].trim_ascii(), b"\n"].concat());
        }
    }
    lines.sort();
    Some(lines.concat())
}

fn split<'a>(bytes: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(by.len()).position(|window| window == by)?;
    Some((&bytes[..at], &bytes[at + by.len()..]))
}
