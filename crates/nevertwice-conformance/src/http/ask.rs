//! One request.

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};

use super::Base;

/// The longest body that is shown whole in a command.
const SHOWN_BYTES_MAX: usize = 1_000;

/// One request, ready to be sent any number of times: a retry is the same lines and bytes again.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// The path with its query, from the base on.
    pub(crate) path: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
    /// Whether the body is sent in chunks, without its length.
    pub(crate) is_chunked: bool,
}

impl Ask {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Bytes::new(), is_chunked: false }
    }

    /// With one more line.
    pub(crate) fn with(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap_or(HeaderValue::from_static(""));
        self.headers.push((HeaderName::from_static(name), value));
        self
    }

    /// Without any line of that name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(line, _)| line != name);
        self
    }

    /// With this body of that media type, in the place of an earlier one.
    pub(crate) fn body(self, media_type: &str, body: impl Into<Bytes>) -> Self {
        let asked = self.without("content-type").with("content-type", media_type);
        Self { body: body.into(), ..asked }
    }

    /// At another path.
    pub(crate) fn at(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// By another method.
    pub(crate) fn by(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// With its body in chunks.
    pub(crate) fn chunked(self) -> Self {
        Self { is_chunked: true, ..self }
    }

    /// A command that sends the same.
    pub(crate) fn curl(&self, base: &Base) -> String {
        let mut command = match self.method {
            Method::HEAD => "curl -sS --head".to_owned(),
            _ => format!("curl -sS -i -X {}", self.method),
        };
        for (name, value) in &self.headers {
            // curl takes a line without a value away, but for this spelling.
            let line = if value.is_empty() { format!("{name};") } else { format!("{name}: {}", shown(value.as_bytes())) };
            command.push_str(&format!(" -H {}", quoted(&line)));
        }
        if self.is_chunked {
            command.push_str(" -H 'transfer-encoding: chunked'");
        }
        if self.body.len() > SHOWN_BYTES_MAX {
            command.push_str(&format!(" --data-binary @BODY_OF_{}_BYTES", self.body.len()));
        } else if !self.body.is_empty() {
            command.push_str(&format!(" --data-binary {}", quoted(&shown(&self.body))));
        }
        format!("{command} {}", quoted(&format!("http://{}{}", base.authority(), base.path(&self.path))))
    }
}

/// Visible ASCII as it is; the shell's `$'…'` knows the rest.
fn shown(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    });
    escaped.collect()
}

fn quoted(text: &str) -> String {
    if text.contains("\\x") {
        return format!("$'{}'", text.replace('\'', "\\'"));
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_sends_the_same() {
        let base: Base = "http://a:1/b".parse().expect("it is an address");
        let asked = Ask::new(Method::POST, "/echo/x").with("idempotency-key", "it's").body("text/plain", &b"a\xff"[..]).chunked();
        assert_eq!(
            asked.curl(&base),
            "curl -sS -i -X POST -H 'idempotency-key: it'\\''s' -H 'content-type: text/plain' -H 'transfer-encoding: chunked' \
             --data-binary $'a\\xff' 'http://a:1/b/echo/x'"
        );
        let asked = Ask::new(Method::GET, "/x").with("idempotency-key", "");
        assert_eq!(asked.curl(&base), "curl -sS -i -X GET -H 'idempotency-key;' 'http://a:1/b/x'");
    }
}
