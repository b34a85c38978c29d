//! Where a request came from, and what of it is believed.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{FORWARDED, HeaderName, HeaderValue};

/// Where a request came from; in its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    /// The other end of the connection.
    pub(super) address: IpAddr,
    /// Whether it is one of the trusted proxies.
    pub(super) is_trusted: bool,
    /// Whether it came by TLS.
    pub(super) is_tls: bool,
}

const FORWARDED_PREFIX: &str = "x-forwarded-";
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const REAL_IP: &str = "x-real-ip";

/// Whether a header says who calls, or from where: words that only a trusted proxy may have.
fn is_testimony(name: &str, identity: &[HeaderName]) -> bool {
    name == FORWARDED.as_str() || name == REAL_IP || name.starts_with(FORWARDED_PREFIX) || identity.iter().any(|header| header == name)
}

/// Takes off what must not reach the upstream: testimonies of strangers; and from anybody, headers that differ from a testimony or from
/// ours only by an underscore for a hyphen, which some services take for the same.
pub(super) fn take_off_forged(headers: &mut HeaderMap, peer: &Peer, identity: &[HeaderName]) {
    let is_forged = |name: &HeaderName| {
        let name = name.as_str();
        let read = name.replace('_', "-");
        let is_ours = read.starts_with("idempotency-");
        read == GENERATION.as_str()
            || (read != name && (is_ours || is_testimony(&read, identity)))
            || (!peer.is_trusted && is_testimony(name, identity))
    };
    let forged: Vec<HeaderName> = headers.keys().filter(|name| is_forged(name)).cloned().collect();
    for name in forged {
        headers.remove(name);
    }
}

/// The header with the number of the claim, to the upstream; never from a client.
pub(super) const GENERATION: HeaderName = HeaderName::from_static("idempotency-generation");

/// Says where the request came from. What a trusted proxy said is kept and continued.
pub(super) fn testify(headers: &mut HeaderMap, peer: &Peer, host: Option<&HeaderValue>) {
    let address = peer.address.to_canonical();
    let proto = if peer.is_tls { "https" } else { "http" };
    continue_list(headers, &FORWARDED_FOR, &address.to_string());
    headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static(proto));
    if let Some(host) = host {
        headers.entry(FORWARDED_HOST).or_insert_with(|| host.clone());
    }
    // An IPv6 address stands in brackets and quotes (RFC 7239, section 6).
    let node = if address.is_ipv6() { format!("\"[{address}]\"") } else { address.to_string() };
    let host = host.and_then(|host| host.to_str().ok()).filter(|host| !host.contains(['"', '\\']));
    let host = host.map_or_else(String::new, |host| format!(";host=\"{host}\""));
    continue_list(headers, &FORWARDED, &format!("for={node};proto={proto}{host}"));
}

/// Adds to a list in a header of one or more lines, which becomes one.
fn continue_list(headers: &mut HeaderMap, name: &HeaderName, last: &str) {
    let mut list: Vec<u8> = Vec::new();
    for line in headers.get_all(name) {
        list.extend_from_slice(line.as_bytes());
        list.extend_from_slice(b", ");
    }
    list.extend_from_slice(last.as_bytes());
    if let Ok(value) = HeaderValue::from_bytes(&list) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn peer(address: &str, is_trusted: bool) -> Peer {
        Peer { address: address.parse().expect("an address"), is_trusted, is_tls: false }
    }

    const SAID: &[(&str, &str)] = &[
        ("x-forwarded-for", "6.6.6.6"),
        ("x-forwarded-for", "5.5.5.5"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "shop"),
        ("x-forwarded-port", "443"),
        ("x-real-ip", "6.6.6.6"),
        ("forwarded", "for=6.6.6.6"),
        ("x-user", "root"),
        ("accept", "*/*"),
    ];

    #[test]
    fn a_stranger_is_not_believed() {
        let (mut headers, identity) = (headers(SAID), [HeaderName::from_static("x-user")]);
        let stranger = peer("9.9.9.9", false);
        take_off_forged(&mut headers, &stranger, &identity);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
        testify(&mut headers, &stranger, Some(&HeaderValue::from_static("me")));
        assert_eq!(headers["x-forwarded-for"], "9.9.9.9");
        assert_eq!(headers["x-forwarded-proto"], "http");
        assert_eq!(headers["x-forwarded-host"], "me");
        assert_eq!(headers["forwarded"], "for=9.9.9.9;proto=http;host=\"me\"");
    }

    #[test]
    fn what_a_trusted_proxy_said_is_kept_and_continued() {
        let (mut headers, identity) = (headers(SAID), [HeaderName::from_static("x-user")]);
        let front = peer("::ffff:10.0.0.1", true);
        take_off_forged(&mut headers, &front, &identity);
        testify(&mut headers, &front, Some(&HeaderValue::from_static("me")));
        assert_eq!(headers["x-forwarded-for"], "6.6.6.6, 5.5.5.5, 10.0.0.1");
        assert_eq!(
            (&headers["x-forwarded-proto"], &headers["x-forwarded-host"]),
            (&"https".parse().expect("a value"), &"shop".parse().expect("a value"))
        );
        assert_eq!(headers["forwarded"], "for=6.6.6.6, for=10.0.0.1;proto=http;host=\"me\"");
        assert_eq!(headers["x-user"], "root");
    }

    #[test]
    fn an_underscore_is_no_disguise_even_for_a_trusted_proxy() {
        let lines = [
            ("x_user", "root"),
            ("x_forwarded_for", "1.1.1.1"),
            ("idempotency_key", "k"),
            ("idempotency-generation", "9"),
            ("my_own", "1"),
        ];
        let mut headers = headers(&lines);
        take_off_forged(&mut headers, &peer("10.0.0.1", true), &[HeaderName::from_static("x-user")]);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["my_own"]);
    }

    #[test]
    fn an_address_of_version_6_is_quoted() {
        let mut headers = HeaderMap::new();
        testify(&mut headers, &peer("2001:db8::7", false), None);
        assert_eq!(headers["forwarded"], "for=\"[2001:db8::7]\";proto=http");
        assert_eq!(headers["x-forwarded-for"], "2001:db8::7");
    }
}
