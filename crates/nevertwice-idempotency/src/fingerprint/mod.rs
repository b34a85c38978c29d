//! What makes two requests the same: a digest over where they go and what they carry.
//!
//! JSON is compared in its canonical form, with the exact text of numbers: two amounts above 2^53 never share a fingerprint. Forms and
//! multipart bodies are compared by their parts. Everything else, and what does not parse, by its bytes. Headers count only where a
//! route names them: request ids, timestamps and signatures differ with every attempt.

mod form;
mod json;
mod multipart;
mod request;

pub(crate) use form::fields as query_fields;
#[cfg(feature = "fuzzing")]
pub(crate) use multipart::parts;
pub(crate) use request::Head;
pub use request::{FINGERPRINT_VERSION, FingerprintRules};
