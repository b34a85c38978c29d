//! Query strings, and the texts of a path: positions, names, principals.

use nevertwice_server::fuzzing::{name, position, principal, query};

use crate::{Verdict, problem};

/// What these texts are made of.
pub const WORDS: &[&str] = &[
    "from=",
    "level=",
    "side=",
    "cursor=",
    "&",
    "=",
    "%",
    "%2B",
    "+",
    "%00",
    "%ff",
    "decided",
    "journaled",
    "18446744073709551616",
    "0",
    "1-1",
    "4294967295-18446744073709551615",
    "-",
    ".",
    "..",
    "nevertwice",
    "operator",
    "\u{e9}",
];

const KNOWN: &[&str] = &["from", "level", "side"];

/// The input is one byte that chooses, then the text.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    // What is read is written as it was.
    let read = match choice % 4 {
        0 => query(text, KNOWN).map(|(texts, from, level)| {
            let [from_text, level_text, _] = texts.as_slice() else { panic!("each known parameter has its place: {texts:?}") };
            assert_eq!(from_text.as_ref().map(|text| text.parse().ok()), from.map(Some));
            assert_eq!(level_text.as_deref(), level.map(|level| level.word()));
            let again = texts.iter().zip(KNOWN).filter_map(|(text, name)| Some(format!("{name}={}", escape(text.as_ref()?))));
            let again: Vec<String> = again.collect();
            assert_eq!(query(&again.join("&"), KNOWN), Ok((texts.clone(), from, level)));
        }),
        1 => position(text).map(|position| assert_eq!(position.to_string(), text)),
        2 => name(text).map(|name| assert_eq!(name.as_str(), text)),
        _ => principal(text).map(|principal| assert_eq!(principal.as_str(), text)),
    };
    if let Err(refused) = &read {
        problem::check(refused);
    }
    Verdict::of(read.is_ok())
}

/// Every byte escaped.
fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
