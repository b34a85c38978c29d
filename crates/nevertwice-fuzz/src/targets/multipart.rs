//! Multipart bodies, of which fingerprints are made.

use nevertwice_idempotency::fuzzing::multipart;

use crate::Verdict;

/// What these bodies are made of.
pub const WORDS: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "--",
    "--b",
    "\r\n--b\r\n",
    "\r\n--b--\r\n",
    "Content-Disposition: form-data; name=\"a\"",
    "content-type: text/plain",
    "Content-Transfer-Encoding: 8bit",
    "X-Other: 1",
    "multipart/form-data; boundary=b\n",
    "multipart/form-data; charset=x; Boundary=\"b\"\n",
];

/// A boundary that no input has in it, but by a chance that will not come.
const OTHER: &str = "another-boundary-5f0e8a3c6d9b4127";

/// Parts of one body, at most.
const PARTS_MAX: usize = 1_024;

/// The input is a media type, a line break, and a body.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let media_type = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let body = bytes.get(at + 1..).unwrap_or_default();
    let Some(parts) = multipart(&media_type, body) else { return Verdict::Refused };
    assert!(parts.len() <= PARTS_MAX, "{} parts", parts.len());
    let length: usize = parts.iter().map(|(head, content)| head.len() + content.len()).sum();
    // Each header has its line break in the body too, but perhaps the last of a part, which has one more byte here.
    assert!(length <= body.len() + parts.len(), "{length} bytes out of {}", body.len());
    for (head, _) in &parts {
        assert!(head.is_empty() || head.ends_with(b"\n"), "{head:?}");
    }
    if !bytes.windows(OTHER.len()).any(|window| window == OTHER.as_bytes()) {
        assert_eq!(multipart(&format!("multipart/form-data; boundary={OTHER}"), &written(&parts)), Some(parts), "whatever the boundary");
    }
    Verdict::Accepted
}

/// The parts as a body, between other boundaries.
fn written(parts: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend(format!("--{OTHER}\r\n").as_bytes());
        for line in head.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            body.extend([line, b"\r\n"].concat());
        }
        body.extend([b"\r\n", content.as_slice(), b"\r\n"].concat());
    }
    body.extend(format!("--{OTHER}--\r\n").as_bytes());
    body
}
