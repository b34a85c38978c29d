//! An address, as an operator writes it.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;

/// Where a server is: `http://host:port` or `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    has_tls: bool,
    host: String,
    port: u16,
    authority: String,
}

/// A text that is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotATarget(&'static str);

impl fmt::Display for NotATarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: write http://HOST:PORT or https://HOST:PORT", self.0)
    }
}

impl std::error::Error for NotATarget {}

impl Target {
    /// The target of a URL, whatever its path is.
    pub(crate) fn of(uri: &Uri) -> Result<Self, NotATarget> {
        let has_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(NotATarget("it begins with neither http:// nor https://")),
        };
        let authority = uri.authority().ok_or(NotATarget("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(NotATarget("it has a name or a password in it, which do not belong there"));
        }
        let port = authority.port_u16().unwrap_or(if has_tls { 443 } else { 80 });
        Ok(Self { has_tls, host: authority.host().to_owned(), port, authority: authority.as_str().to_owned() })
    }

    /// Whether it is reached by TLS.
    #[must_use]
    pub const fn has_tls(&self) -> bool {
        self.has_tls
    }

    /// The host whose name its certificate has to have; an IPv6 address without brackets.
    pub(crate) fn host(&self) -> &str {
        self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host)
    }

    /// What a request's `Host` says.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// What is connected to.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.has_tls { "https" } else { "http" }, self.authority)
    }
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, NotATarget> {
        let uri: Uri = text.parse().map_err(|_| NotATarget("it is no URL"))?;
        let target = Self::of(&uri)?;
        if uri.path() != "/" || uri.query().is_some() {
            return Err(NotATarget("it has more than a host and a port"));
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        for (text, has_tls, host, address) in [
            ("http://127.0.0.1:8080", false, "127.0.0.1", "127.0.0.1:8080"),
            ("http://primary.example/", false, "primary.example", "primary.example:80"),
            ("http://[::1]:9", false, "::1", "[::1]:9"),
            ("https://primary.example", true, "primary.example", "primary.example:443"),
            ("https://[::1]:9", true, "::1", "[::1]:9"),
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!((target.has_tls(), target.host(), target.address().as_str()), (has_tls, host, address));
            assert_eq!(target.to_string(), text.trim_end_matches('/'));
        }
        for text in ["", "primary:8080", "http://", "https://", "http://a/b", "https://a?b", "https://key@a:1", "ftp://a"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
