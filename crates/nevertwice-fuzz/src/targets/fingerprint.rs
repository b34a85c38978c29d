//! The canonical form of JSON, of which fingerprints are made, beside another reader of JSON.

use nevertwice_api::fingerprint::{canonical_json, of_json};
use serde_json::Value;

use super::respell::{numbers, respelt};
use crate::Verdict;

/// The input is a JSON text.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let other: Result<Value, _> = serde_json::from_slice(bytes);
    let canonical = match canonical_json(bytes) {
        Ok(canonical) => canonical,
        Err(refused) => {
            assert!(refused.at <= bytes.len(), "{refused}");
            assert!(of_json(&["test"], bytes).is_err() || bytes.is_empty());
            // Stricter than the other in two things alone.
            let stricter = refused.what.contains("twice") || refused.what.contains("nested");
            assert!(other.is_err() || stricter, "{refused}, and another reader takes it");
            return Verdict::Refused;
        }
    };
    assert_eq!(canonical_json(&canonical).as_ref(), Ok(&canonical), "the canonical form is its own");
    let respelt = respelt(&canonical);
    assert_eq!(canonical_json(&respelt).as_ref(), Ok(&canonical), "the same text, spelt otherwise: {}", respelt.escape_ascii());
    assert_eq!(numbers(&canonical), numbers(bytes), "numbers keep their text");
    assert_eq!(of_json(&["test"], &canonical), of_json(&["test"], bytes));
    assert_ne!(of_json(&["other"], bytes), of_json(&["test"], bytes));
    let again: Result<Value, _> = serde_json::from_slice(&canonical);
    match (other, again) {
        (Ok(other), Ok(again)) => assert_eq!(other, again, "the canonical form means the same"),
        // Numbers stay a text here, and are read there.
        (Err(other), Err(again)) => {
            assert!([other, again].iter().all(|error| error.to_string().contains("number out of range")));
        }
        (other, again) => panic!("only one of the text and its canonical form is JSON elsewhere: {other:?}, {again:?}"),
    }
    Verdict::Accepted
}
