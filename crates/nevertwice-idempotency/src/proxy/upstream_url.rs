//! Where the service behind the proxy is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use serde::Deserialize;

/// The address of the service behind the proxy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct UpstreamUrl {
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
}

impl UpstreamUrl {
    /// Whether it is reached by TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Whether it is this address itself, as far as it can be told without asking for names.
    pub(super) fn is_at(&self, address: SocketAddr) -> bool {
        let port = self.authority.port_u16().unwrap_or(if self.is_tls() { 443 } else { 80 });
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let ip = if host.eq_ignore_ascii_case("localhost") { Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) } else { host.parse().ok() };
        let is_here = |ip: IpAddr| ip == address.ip() || (address.ip().is_unspecified() && (ip.is_loopback() || ip.is_unspecified()));
        port == address.port() && ip.is_some_and(is_here)
    }

    /// The whole address of something there.
    pub(super) fn uri(&self, path: Option<PathAndQuery>) -> Result<Uri, http::Error> {
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(path).build()
    }
}

impl FromStr for UpstreamUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}` is no address of a service: {what}; write for instance http://127.0.0.1:9000");
        let parts = text.parse::<Uri>().map_err(|error| wrong(&error.to_string()))?.into_parts();
        let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
        let scheme = scheme.ok_or_else(|| wrong("it begins with neither http:// nor https://"))?;
        let authority = parts.authority.ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("names and passwords do not belong there"));
        }
        if parts.path_and_query.is_some_and(|path| path != "/") {
            return Err(wrong("it has a path, and paths are passed on as they come"));
        }
        Ok(Self { scheme, authority })
    }
}

impl TryFrom<String> for UpstreamUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host_and_nothing_else() {
        for text in ["http://127.0.0.1:9000", "https://[::1]:8443", "http://service"] {
            assert_eq!(text.parse::<UpstreamUrl>().expect("an address").to_string(), text);
        }
        assert_eq!("http://service/".parse::<UpstreamUrl>().expect("an address").to_string(), "http://service");
        for text in
            ["", "127.0.0.1:9000", "ftp://host", "http://", "http://host/base", "http://user:word@host", "http://host/?a=b", "/path"]
        {
            assert!(text.parse::<UpstreamUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_that_is_the_proxys_own_is_known() {
        for (upstream, listen) in [
            ("http://127.0.0.1:80", "127.0.0.1:80"),
            ("http://localhost", "0.0.0.0:80"),
            ("https://[::1]", "[::1]:443"),
            ("http://LOCALHOST:9", "127.0.0.1:9"),
        ] {
            let is_at = |listen: &str| upstream.parse::<UpstreamUrl>().expect("an address").is_at(listen.parse().expect("an address"));
            assert!(is_at(listen), "{upstream} {listen}");
            assert!(!is_at("127.0.0.1:1"), "{upstream}");
        }
        assert!(!"http://10.0.0.7:80".parse::<UpstreamUrl>().expect("an address").is_at("0.0.0.0:80".parse().expect("an address")));
    }
}
