//! Under which names a server without credentials answers.
//!
//! Whoever reaches it is the operator, and a page in a browser on the same machine reaches it under any name that its owner
//! lets point to a loopback address. Such a name gives itself away in the `Host` header, which a page can't choose.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, Uri, header};
use nevertwice_api::ErrorCode;

use crate::config::Config;
use crate::refusal::Refusal;

/// The names that are taken in the `Host` header.
#[derive(Clone, Debug)]
pub(crate) enum Hosts {
    /// All: a request has to know a key.
    Any,
    /// Loopback addresses, `localhost`, and the host of the public address.
    Own { public: Option<Box<[u8]>> },
}

impl Hosts {
    pub(crate) fn of(config: &Config) -> Self {
        if config.has_credentials() {
            return Self::Any;
        }
        let public = config.public_url.as_deref().and_then(|url| {
            let (_, rest) = url.split_once("://")?;
            let authority = rest.split(['/', '?', '#']).next()?;
            let authority = authority.rsplit('@').next()?;
            Some(without_port(authority.as_bytes())).filter(|host| !host.is_empty()).map(Box::from)
        });
        Self::Own { public }
    }

    /// Refuses a request to another host: one whose target or whose `Host` header names it. (Whoever sends a whole URL as the target
    /// means that one, whatever the header says; see RFC 9112, 3.2.2.)
    pub(crate) fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let Self::Own { public } = self else { return Ok(()) };
        let is_own = |authority: &[u8]| {
            let host = without_port(authority);
            is_local(host) || public.as_ref().is_some_and(|public| host.eq_ignore_ascii_case(public))
        };
        let mut lines = headers.get_all(header::HOST).iter();
        if let (Some(line), None) = (lines.next(), lines.next())
            && is_own(line.as_bytes())
            && target.authority().is_none_or(|authority| is_own(authority.as_str().as_bytes()))
        {
            return Ok(());
        }
        Err(Refusal::new(
            ErrorCode::RoleInsufficient,
            "The `Host` header, or the address in the first line, names neither a loopback address, nor `localhost`, nor the host of `public_url`, and a server without credentials answers to no other name",
            "Use the address that the server was bound to; or have the operator set `public_url`, or keys",
        ))
    }
}

fn without_port(authority: &[u8]) -> &[u8] {
    // An IPv6 address has colons of its own, and brackets around them.
    let bracket = authority.iter().position(|byte| *byte == b']').unwrap_or_default();
    let colon = authority.iter().skip(bracket).position(|byte| *byte == b':');
    colon.and_then(|colon| authority.get(..bracket + colon)).unwrap_or(authority)
}

fn is_local(host: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(host) else { return false };
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()),
        None => text.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback()) || text.eq_ignore_ascii_case("localhost"),
    }
}
