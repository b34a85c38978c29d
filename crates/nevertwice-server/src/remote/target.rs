//! An address, as an operator writes it.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use axum::http::uri::Scheme;

/// Where a server is: `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    authority: String,
    address: String,
}

/// A text that is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATarget(&'static str);

impl fmt::Display for NotATarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: write http://HOST:PORT", self.0)
    }
}

impl std::error::Error for NotATarget {}

impl Target {
    /// What a request's `Host` says.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// What is connected to.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, NotATarget> {
        let uri: Uri = text.parse().map_err(|_| NotATarget("it is no URL"))?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(NotATarget("it does not begin with http://; a server that is reached by TLS needs a tunnel"));
        }
        let authority = uri.authority().ok_or(NotATarget("it names no host"))?;
        if authority.as_str().contains('@') || uri.path() != "/" || uri.query().is_some() {
            return Err(NotATarget("it has more than a host and a port; a key does not belong there"));
        }
        let port = authority.port_u16().unwrap_or(80);
        Ok(Self { authority: authority.as_str().to_owned(), address: format!("{}:{port}", authority.host()) })
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, address) in
            [("http://127.0.0.1:8080", "127.0.0.1:8080"), ("http://primary.example/", "primary.example:80"), ("http://[::1]:9", "[::1]:9")]
        {
            assert_eq!(text.parse::<Target>().unwrap().address(), address);
        }
        for text in ["", "primary:8080", "https://primary:8080", "http://", "http://a/b", "http://a?b", "http://key@a:1", "ftp://a"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
