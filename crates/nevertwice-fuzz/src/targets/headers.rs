//! The headers that make a request an intent.

use std::net::{IpAddr, Ipv4Addr};

use nevertwice_api::Level;
use nevertwice_server::fuzzing::Headers;

use crate::{Verdict, problem};

/// What these headers are made of.
pub const WORDS: &[&str] = &[
    "idempotency-key: ",
    "idempotency-expires: ",
    "ack-level: ",
    "content-type: ",
    "x-forwarded-for: ",
    "10.0.0.2",
    "[fd00::1]:80",
    "::ffff:1.2.3.4",
    "application/json",
    "\n",
    "\"",
    "\\\"",
    "\\\\",
    ",",
    " ",
    "\t",
    ";",
    "decided",
    "journaled",
    "replicated",
    "ledgered",
    "9223372036854775807",
    "-1",
    "\u{e9}",
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
];

/// The input is header lines, each `name: value`. Accepted: the key was read.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let split = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii_start()))
    });
    let Some(headers) = Headers::new(split) else { return Verdict::Refused };
    if let Err(refused) = headers.media_type() {
        problem::check(&refused);
    }
    match headers.expires_at() {
        Ok(expires_at) => assert!(expires_at.is_none_or(|at| at >= 0)),
        Err(refused) => drop(problem::check(&refused)),
    }
    match headers.ack_levels() {
        Ok(levels) => assert!(levels.iter().all(|level| Level::ALL.contains(&level))),
        Err(refused) => drop(problem::check(&refused)),
    }
    check_peer(&headers, bytes);
    let key = match headers.idempotency_key() {
        Ok(key) => key,
        Err(refused) => {
            problem::check(&refused);
            return Verdict::Refused;
        }
    };
    // Both spellings are the same key; the bare one has no commas and no quotes.
    let text = key.as_str();
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    assert_eq!(spelt(quoted.as_bytes()), Some(text.to_owned()), "{quoted}");
    if !text.contains([',', '"']) {
        assert_eq!(spelt(text.as_bytes()), Some(text.to_owned()), "{text}");
    }
    Verdict::Accepted
}

/// The address is the connection's, or one that stands in the header; and it is the connection's where nobody is trusted.
fn check_peer(headers: &Headers, bytes: &[u8]) {
    let connected = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(headers.peer(connected, ""), Some(connected));
    assert_eq!(headers.peer(connected, "192.168.0.0/16"), Some(connected));
    let peer = headers.peer(connected, "10.0.0.0/8, fd00::/8").expect("these are networks");
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    assert!(peer == connected || text.contains("x-forwarded-for"), "{peer}");
    assert_eq!(peer, peer.to_canonical());
}

fn spelt(value: &[u8]) -> Option<String> {
    let headers = Headers::new([(&b"idempotency-key"[..], value)])?;
    headers.idempotency_key().ok().map(|key| key.as_str().to_owned())
}
