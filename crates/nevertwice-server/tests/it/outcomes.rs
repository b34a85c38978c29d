//! docs/keys.md has the one list of outcomes: of the layer and the proxy, and of the server's calls about keys.

use std::collections::BTreeSet;

use nevertwice_idempotency::Outcome;
use nevertwice_server::KEY_OUTCOMES;

/// The rows of the page's list whose column says yes.
fn listed(page: &str, column: usize) -> BTreeSet<&str> {
    let list = page.split("## Outcomes").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the page has the list");
    let rows = list.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells| cells[column] == "yes").map(|cells| cells[1].trim_matches('`')).collect()
}

#[test]
fn the_page_lists_every_outcome_and_no_other() {
    let page = include_str!("../../../../docs/keys.md");
    let of_layer: BTreeSet<&str> = Outcome::ALL.iter().map(|outcome| outcome.word()).collect();
    assert_eq!(of_layer.len(), Outcome::ALL.len(), "each outcome has a word of its own");
    assert_eq!(listed(page, 2), of_layer);
    assert_eq!(listed(page, 3), KEY_OUTCOMES.iter().copied().collect::<BTreeSet<&str>>());
}
