//! Where a target is.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// Where a target is: `http://host:port`, and a path before all its paths, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    authority: String,
    prefix: String,
}

/// An address that can't be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseError(String);

impl fmt::Display for BaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an address of the form http://host:port or http://host:port/path: \"{}\"", self.0)
    }
}

impl std::error::Error for BaseError {}

impl FromStr for Base {
    type Err = BaseError;

    fn from_str(text: &str) -> Result<Self, BaseError> {
        let unusable = || BaseError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| unusable())?;
        let authority = uri.authority().ok_or_else(unusable)?;
        if uri.scheme_str() != Some("http") || authority.as_str().contains('@') || uri.query().is_some() {
            return Err(unusable());
        }
        let authority = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        Ok(Self { authority, prefix: uri.path().trim_end_matches('/').to_owned() })
    }
}

impl Base {
    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// A path of the target, as it stands in a request.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        for (text, shown) in [
            ("http://127.0.0.1:80/", "http://127.0.0.1:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://a", "http://a:80"),
            ("http://a:1/b/", "http://a:1/b"),
        ] {
            assert_eq!(text.parse::<Base>().map(|base| base.to_string()).as_deref(), Ok(shown));
        }
        for text in ["", "a:1", "https://a:1", "http://", "http://b@a:1", "http://a:1/?q", "http://a b:1"] {
            assert_eq!(text.parse::<Base>(), Err(BaseError(text.to_owned())));
        }
    }
}
