//! What goes with each request to the collector: lines `name: value`, whose values may be secrets.

use axum::http::{HeaderName, HeaderValue};

use crate::config::Secret;

/// The most lines.
const HEADERS_MAX: usize = 16;

/// The longest value.
const VALUE_BYTES_MAX: usize = 4_096;

/// What the server writes itself.
const OWN: [&str; 6] = ["connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent"];

/// Header lines for the collector, with their values as secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(HeaderName, Secret)>);

impl Headers {
    /// Reads lines `name: value`; empty ones are passed over. What is wrong is said by the line's number, without what stands there.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut headers = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if headers.len() >= HEADERS_MAX {
                return Err(format!("there are more than {HEADERS_MAX} headers"));
            }
            headers.push(header(line).map_err(|wrong| format!("line {number}: {wrong}"))?);
        }
        if headers.is_empty() { Err("there is no header".to_owned()) } else { Ok(Self(headers)) }
    }

    /// Names and values. Whoever takes them puts them on the wire, and nowhere else.
    pub(super) fn reveal(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.reveal()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn header(line: &str) -> Result<(HeaderName, Secret), &'static str> {
    let (name, value) = line.split_once(':').ok_or("it is not written `name: value`")?;
    let name = HeaderName::try_from(name.trim()).map_err(|_| "its name is none of a header")?;
    if OWN.contains(&name.as_str()) {
        return Err("the server writes that header itself");
    }
    let value = value.trim();
    let is_sendable = !value.is_empty() && value.len() <= VALUE_BYTES_MAX && HeaderValue::from_str(value).is_ok() && value.is_ascii();
    if is_sendable { Ok((name, Secret::new(value))) } else { Err("its value is not 1 to 4096 visible ASCII characters") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_of_names_and_values() {
        let headers = Headers::read("Authorization: Bearer hush-hush\n\n  x-scope : shop:1 \r\n").expect("they are lines");
        assert_eq!(headers.reveal().collect::<Vec<_>>(), [("authorization", "Bearer hush-hush"), ("x-scope", "shop:1")]);
        assert!(!format!("{headers:?}").contains("hush"));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_line_and_not_shown() {
        let many = "a: hush\n".repeat(HEADERS_MAX + 1);
        let long = format!("a: {}", "h".repeat(VALUE_BYTES_MAX + 1));
        for (text, told) in [
            ("", "there is no header"),
            ("\n  \n", "there is no header"),
            ("a: b\nhush", "line 2: it is not written"),
            ("hush hush: a", "line 1: its name"),
            ("Content-Type: hush", "writes that header itself"),
            ("host: hush", "writes that header itself"),
            ("a:", "line 1: its value"),
            ("a: hush\u{e9}", "line 1: its value"),
            ("a: hush\u{1}", "line 1: its value"),
            (long.as_str(), "line 1: its value"),
            (many.as_str(), "more than 16"),
        ] {
            let wrong = Headers::read(text).expect_err(told);
            assert!(wrong.contains(told) && !wrong.contains("hush"), "{wrong}");
        }
    }
}
