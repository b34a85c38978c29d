//! What is asked, and of whom.

use bytes::Bytes;
use serde::Serialize;

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    authority: String,
}

/// A base address that this client cannot use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetError {
    /// The address as it was given.
    pub base_url: String,
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "not an address of the form http://host:port: \"{}\"", self.base_url)
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Reads `http://host:port`, with or without a slash at the end.
    pub fn parse(base_url: &str) -> Result<Self, TargetError> {
        let unusable = || TargetError { base_url: base_url.to_owned() };
        let authority = base_url.strip_prefix("http://").ok_or_else(unusable)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (host, port) = authority.rsplit_once(':').ok_or_else(unusable)?;
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#@\\".contains(&byte);
        if host.is_empty() || !host.bytes().all(plain) || port.parse::<u16>().is_err() {
            return Err(unusable());
        }
        Ok(Self { authority: authority.to_owned() })
    }

    /// Host and port, as the `host` header and the resolver want them.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// One request, ready to be sent any number of times: a retry is the same bytes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: &'static str,
    /// The path with its query, starting with a slash.
    pub path: String,
    /// Header lines beside `host`, `content-length` and `content-type`.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON body, if any.
    pub body: Option<Bytes>,
}

impl Request {
    /// A read.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), headers: Vec::new(), body: None }
    }

    /// A `POST` of a JSON body.
    pub fn post<T: Serialize>(path: impl Into<String>, body: &T) -> Result<Self, serde_json::Error> {
        let body = Bytes::from(serde_json::to_vec(body)?);
        Ok(Self { method: "POST", path: path.into(), headers: Vec::new(), body: Some(body) })
    }

    /// The same request with one more header line.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The bytes that go over the wire.
    pub fn render(&self, target: &Target) -> Vec<u8> {
        let body = self.body.as_deref().unwrap_or_default();
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {}\r\n", self.method, self.path, target.authority);
        if self.body.is_some() {
            head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(Target::parse("http://127.0.0.1:80/").unwrap().authority(), "127.0.0.1:80");
        assert_eq!(Target::parse("http://[::1]:8080").unwrap().authority(), "[::1]:8080");
        for base_url in ["", "https://a:1", "http://a", "http://:1", "http://a:x", "http://a/b:1", "http://a:1/b", "http://a b:1"] {
            assert!(Target::parse(base_url).is_err(), "{base_url}");
        }
    }

    #[test]
    fn renders_what_http_wants() {
        let target = Target::parse("http://h:1").unwrap();
        let request = Request::post("/x", &serde_json::json!({"a": 1})).unwrap().header("idempotency-key", "k");
        let text = String::from_utf8(request.render(&target)).unwrap();
        assert_eq!(
            text,
            "POST /x HTTP/1.1\r\nhost: h:1\r\ncontent-type: application/json\r\ncontent-length: 7\r\nidempotency-key: k\r\n\r\n{\"a\":1}"
        );
        let text = String::from_utf8(Request::get("/y").render(&target)).unwrap();
        assert_eq!(text, "GET /y HTTP/1.1\r\nhost: h:1\r\n\r\n");
    }
}
