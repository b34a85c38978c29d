//! Who calls, told by headers.

use http::header::{AUTHORIZATION, HeaderName};
use http::request::Parts;
use sha2::{Digest as _, Sha256};

use super::config::IdentityConfig;
use super::error::ProxyError;
use super::peer::Peer;
use crate::{Caller, Identify};

/// Finds callers by what the configuration says.
#[derive(Clone, Debug)]
pub(super) enum CallerByHeader {
    Authorization,
    Named { principal: HeaderName, tenant: Option<HeaderName> },
    Nobody,
}

impl CallerByHeader {
    pub(super) fn of(config: &IdentityConfig) -> Result<Self, ProxyError> {
        let read = |name: &String| name.parse().map_err(|_| ProxyError::configuration(format!("`{name}` is no name of a header")));
        Ok(match config {
            IdentityConfig::Authorization => Self::Authorization,
            IdentityConfig::Header { principal, tenant } => {
                Self::Named { principal: read(principal)?, tenant: tenant.as_ref().map(read).transpose()? }
            }
            IdentityConfig::Nobody => Self::Nobody,
        })
    }

    /// The headers that only a trusted proxy may set.
    pub(super) fn headers(&self) -> Vec<HeaderName> {
        match self {
            Self::Named { principal, tenant } => std::iter::once(principal).chain(tenant).cloned().collect(),
            Self::Authorization | Self::Nobody => Vec::new(),
        }
    }
}

impl Identify for CallerByHeader {
    fn caller(&self, parts: &Parts) -> Option<Caller> {
        match self {
            // A digest: what is compared and passed around need not be the credentials themselves.
            Self::Authorization => {
                let principal = Sha256::digest(only(parts, &AUTHORIZATION)?.as_bytes());
                let principal = principal.iter().map(|byte| format!("{byte:02x}")).collect();
                Some(Caller { tenant: String::new(), principal })
            }
            Self::Named { principal, tenant } => {
                if !parts.extensions.get::<Peer>()?.is_trusted {
                    return None;
                }
                let tenant = match tenant {
                    Some(tenant) => only(parts, tenant)?.to_owned(),
                    None => String::new(),
                };
                Some(Caller { tenant, principal: only(parts, principal)?.to_owned() })
            }
            Self::Nobody => None,
        }
    }
}

/// The one line of a header; none if there is none, are several, or it is empty: then nobody knows who calls.
fn only<'a>(parts: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    let mut lines = parts.headers.get_all(name).iter();
    let line = lines.next()?;
    if lines.next().is_some() { None } else { line.to_str().ok().filter(|text| !text.trim().is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(identity: &CallerByHeader, is_trusted: bool, lines: &[(&str, &str)]) -> Option<Caller> {
        let request = lines.iter().fold(http::Request::builder(), |request, (name, value)| request.header(*name, *value));
        let (mut parts, ()) = request.body(()).expect("it is a request").into_parts();
        parts.extensions.insert(Peer { address: [127, 0, 0, 1].into(), is_trusted, is_tls: false });
        identity.caller(&parts)
    }

    #[test]
    fn a_header_counts_from_a_trusted_proxy_and_once() {
        let config = IdentityConfig::Header { principal: "X-User".to_owned(), tenant: Some("x-tenant".to_owned()) };
        let identity = CallerByHeader::of(&config).expect("they are headers");
        let both = [("x-user", "ann"), ("x-tenant", "shop")];
        assert_eq!(caller(&identity, true, &both), Some(Caller { tenant: "shop".to_owned(), principal: "ann".to_owned() }));
        assert_eq!(caller(&identity, false, &both), None);
        assert_eq!(caller(&identity, true, &both[..1]), None);
        assert_eq!(caller(&identity, true, &[("x-user", "ann"), ("x-user", "bob"), ("x-tenant", "shop")]), None);
        assert_eq!(caller(&identity, true, &[("x-user", " "), ("x-tenant", "shop")]), None);
    }

    #[test]
    fn credentials_are_told_apart_by_a_digest() {
        let identity = CallerByHeader::Authorization;
        let of = |value: &str| caller(&identity, false, &[("authorization", value)]).expect("somebody");
        assert_eq!(of("Bearer a"), of("Bearer a"));
        assert_ne!(of("Bearer a"), of("Bearer b"));
        assert!(!of("Bearer secret").principal.contains("secret"));
        assert_eq!(caller(&identity, true, &[]), None);
        assert_eq!(caller(&identity, true, &[("authorization", "a"), ("authorization", "b")]), None);
        assert_eq!(caller(&CallerByHeader::Nobody, true, &[("authorization", "a")]), None);
    }
}
