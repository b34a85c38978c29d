//! The header that says of which trace a request is part.

use nevertwice_core::TraceContext;
use nevertwice_server::fuzzing::Headers;

use crate::Verdict;

/// What it is made of.
pub const WORDS: &[&str] = &[
    "00-",
    "01-",
    "ff-",
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "00f067aa0ba902b7",
    "-01",
    "-00",
    "-ff",
    "0000000000000000",
    "-",
    " ",
    "\t",
    "A",
    "+",
];

/// The input is the header's value. Accepted: a trace was found in it.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some(headers) = Headers::new([(&b"traceparent"[..], bytes)]) else { return Verdict::Refused };
    // No HTTP library shows other characters of a header.
    let expected = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii()).and_then(|text| slowly(text.trim_matches([' ', '\t'])));
    let traced = headers.trace();
    assert_eq!(traced.as_ref().map(|(caller, _)| (caller.trace_id(), caller.parent_id(), caller.flags())), expected);
    let Some((caller, step)) = traced else { return Verdict::Refused };
    assert_eq!(caller.to_string().parse(), Ok(caller), "what was read is written and read as it was");
    let step: TraceContext = step.parse().expect("what names the server's step is a place in a trace");
    assert!(step.trace_id() == caller.trace_id() && step.flags() == caller.flags(), "{step}: it stays in the trace");
    assert_ne!(step.parent_id(), caller.parent_id(), "the server's step is its own");
    // Two lines are none: nobody knows which one counts.
    let twice = Headers::new([(&b"traceparent"[..], bytes), (&b"traceparent"[..], bytes)]).expect("each was let through");
    assert_eq!(twice.trace(), None);
    Verdict::Accepted
}

/// W3C Trace Context, read slowly and obviously: version, trace, parent, flags.
fn slowly(text: &str) -> Option<(u128, u64, u8)> {
    let is_hex = |part: &str, digits: usize| part.len() == digits && part.chars().all(|c| "0123456789abcdef".contains(c));
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, more @ ..] = parts.as_slice() else { return None };
    let is_read = is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2) && *version != "ff";
    if !is_read || (*version == "00" && !more.is_empty()) {
        return None;
    }
    let (trace, parent) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(parent, 16).ok()?);
    let flags = u8::from_str_radix(flags, 16).ok()? & TraceContext::FLAGS;
    (trace != 0 && parent != 0).then_some((trace, parent, flags))
}
