//! From where a request came.
//!
//! Behind a proxy every connection has the proxy's address, and the client's stands in `X-Forwarded-For`, to which anybody can
//! write. So the header counts only where a proxy that the configuration trusts has sent it, and only as far as its entries
//! were added by such proxies: from the right to the first one that is none.

use std::net::IpAddr;

use axum::http::HeaderMap;

use crate::config::Networks;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address from which a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Peer {
    /// `connected` is the address of the connection's other end.
    pub(crate) fn of(connected: IpAddr, headers: &HeaderMap, trusted: &Networks) -> Self {
        let mut nearest = connected.to_canonical();
        if trusted.is_empty() || !trusted.contains(nearest) {
            return Self(nearest);
        }
        let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(axum::http::HeaderValue::as_bytes).collect();
        for entry in lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b',')) {
            // What is no address was not written by a proxy that can be trusted in the rest either.
            let Some(address) = address(entry) else { break };
            nearest = address;
            if !trusted.contains(nearest) {
                break;
            }
        }
        Self(nearest)
    }
}

/// An address, with or without a port: some proxies add it.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let address: IpAddr = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0.parse().ok()?,
        None => match text.split_once(':') {
            Some((address, port)) if !port.contains(':') => address.parse().ok()?,
            _ => text.parse().ok()?,
        },
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(connected: &str, trusted: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().expect("a header's value"));
        }
        Peer::of(connected.parse().expect("an address"), &headers, &trusted.parse().expect("networks")).0.to_string()
    }

    #[test]
    fn the_header_counts_only_as_far_as_trusted_proxies_wrote_it() {
        for (connected, trusted, lines, expected) in [
            // Nobody is trusted, or not this one: the header is anybody's.
            ("9.9.9.9", "", &["1.2.3.4"][..], "9.9.9.9"),
            ("9.9.9.9", "10.0.0.0/8", &["1.2.3.4"], "9.9.9.9"),
            ("10.0.0.1", "10.0.0.0/8", &[], "10.0.0.1"),
            ("10.0.0.1", "10.0.0.0/8", &["1.2.3.4"], "1.2.3.4"),
            // What the client wrote itself stands to the left of what the proxy added.
            ("10.0.0.1", "10.0.0.0/8", &["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
            ("10.0.0.1", "10.0.0.0/8", &["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
            ("10.0.0.1", "10.0.0.0/8", &["10.1.1.1, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
            ("10.0.0.1", "10.0.0.0/8", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", "10.0.0.0/8", &["1.2.3.4, nonsense, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", "10.0.0.0/8", &["nonsense"], "10.0.0.1"),
            ("10.0.0.1", "10.0.0.0/8", &["1.2.3.4:5678"], "1.2.3.4"),
            ("::1", "::1", &["[2001:db8::7]:443"], "2001:db8::7"),
            ("::1", "::1,10.0.0.1", &["2001:db8::7"], "2001:db8::7"),
            ("::ffff:10.0.0.1", "10.0.0.0/8", &["::ffff:1.2.3.4"], "1.2.3.4"),
        ] {
            assert_eq!(peer(connected, trusted, lines), expected, "{connected} {trusted} {lines:?}");
        }
    }
}
