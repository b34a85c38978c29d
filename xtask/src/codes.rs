//! Every error code was met by a test, in a real answer over HTTP or in what the binary told; or it is listed, with a reason.
//!
//! Tidy sees to it that each code stands in some test. That says too little: a code that only stands in a list is one that may never
//! come. So the tests note each code that an answer carried, and what is missing in the end is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::step::Failure;
use crate::suite::unusable;

/// The catalogue: tidy sees to it that each code has a page of its name there, and nothing else has.
const PAGES: &str = "docs/errors";

/// The codes that no test can get over HTTP or from the binary, each with the reason.
const UNMET: &str = "xtask/codes-unmet.txt";

/// Compares what was met with the catalogue.
pub(crate) fn check(root: &Path, codes_dir: &Path) -> Result<String, Failure> {
    let pages = names(&root.join(PAGES))?;
    let catalogue = pages.iter().filter_map(|name| name.strip_suffix(".md")).filter(|name| *name != "README").map(str::to_owned);
    let list = root.join(UNMET);
    let text = fs::read_to_string(&list).map_err(|error| unusable(&list, &error))?;
    compare(&catalogue.collect(), &names(codes_dir)?, &reasons(&text)?)
}

fn names(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| unusable(folder, &error))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Lines `code reason`; empty lines and lines that start with `#` say nothing.
fn reasons(text: &str) -> Result<BTreeMap<String, String>, Failure> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        let (code, reason) = line.split_once(' ').filter(|(_, reason)| reason.trim().len() >= 20)?;
        Some((code.to_owned(), reason.trim().to_owned()))
    };
    lines
        .map(|line| {
            read(line)
                .ok_or_else(|| Failure::new(format!("{UNMET}: `{line}` gives no reason"), "write the code, and why no test can get it"))
        })
        .collect()
}

fn compare(catalogue: &BTreeSet<String>, met: &BTreeSet<String>, unmet: &BTreeMap<String, String>) -> Result<String, Failure> {
    let mut wrong = Vec::new();
    for code in catalogue.iter().filter(|code| !met.contains(*code) && !unmet.contains_key(*code)) {
        wrong.push(format!("{code}: no answer and no command carried it"));
    }
    for code in unmet.keys() {
        if !catalogue.contains(code) {
            wrong.push(format!("{code}: {UNMET} lists it, and the catalogue does not have it"));
        } else if met.contains(code) {
            wrong.push(format!("{code}: {UNMET} lists it, and a test got it"));
        }
    }
    if wrong.is_empty() {
        return Ok(format!(
            "{} of {} error codes were met, {} can't be",
            met.intersection(catalogue).count(),
            catalogue.len(),
            unmet.len()
        ));
    }
    let remedy = format!("write a test that gets it over HTTP or from the binary; if none can, list it in {UNMET} with the reason");
    Err(Failure::new(wrong.join("\n"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_code_is_met_or_has_a_reason_and_not_both() {
        let catalogue = set(&["sold_out", "internal"]);
        let unmet = reasons("# code reason\n\ninternal  a fault that nobody can make happen\n").expect("a list");
        assert_eq!(compare(&catalogue, &set(&["sold_out"]), &unmet).expect("all is well"), "1 of 2 error codes were met, 1 can't be");
        for (catalogue, met, told) in [
            (&catalogue, set(&[]), "sold_out: no answer"),
            (&catalogue, set(&["sold_out", "internal"]), "internal: xtask/codes-unmet.txt lists it, and a test got it"),
            (&set(&["sold_out"]), set(&["sold_out"]), "the catalogue does not have it"),
        ] {
            let text = compare(catalogue, &met, &unmet).expect_err(told).to_string();
            assert!(text.contains(told), "{text}");
        }
        assert!(reasons("internal because").is_err() && reasons("internal").is_err());
    }
}
