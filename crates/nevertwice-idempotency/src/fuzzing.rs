//! The readers of what comes from outside, open to the fuzz targets (feature `fuzzing`). Each is what the layer itself calls.

use crate::fingerprint;

/// The parts of a multipart body: what their headers say they are, and their contents. None if it is not well-formed.
#[must_use]
pub fn multipart(media_type: &str, body: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let parts = fingerprint::parts(media_type, body)?;
    Some(parts.into_iter().map(|part| (part.head, part.content.to_vec())).collect())
}

/// The fields of a form or a query.
#[must_use]
pub fn fields(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    fingerprint::query_fields(text)
}
