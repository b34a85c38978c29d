//! The figures of `docs/markets.md` that follow from the limits, computed again and compared with the page's text.

use nevertwice_core::curve;
use nevertwice_core::limits::{AMOUNT_MAX, DECIMALS_MAX, HOLDING_MAX, HOUSE_LOSS_MAX, ISSUANCE_MAX, NOTIONAL_MAX};

/// The figure with commas between the thousands.
fn grouped(figure: i64) -> String {
    let digits = figure.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount in the currency's own terms, with all its decimals.
fn amount(figure: i64, decimals: u8) -> String {
    let unit = 10_i64.pow(decimals.into());
    let whole = grouped(figure / unit);
    match decimals {
        0 => whole,
        _ => format!("{whole}.{:0width$}", figure % unit, width = decimals.into()),
    }
}

/// How many shares so much money buys from a net of 0, on a curve of base 100 and slope 0.01.
fn shares(money: i64, decimals: u8) -> String {
    if decimals < 2 {
        return "not expressible".to_owned();
    }
    let (base, slope) = (100 * 10_i64.pow(decimals.into()), 10_i64.pow(u32::from(decimals) - 2));
    let is_bought = |quantity: i64| curve::sum(base, slope, 0, quantity).is_some_and(|cost| cost <= money);
    let (mut bought, mut too_many) = (0, HOLDING_MAX + 1);
    while too_many - bought > 1 {
        let middle = bought + (too_many - bought) / 2;
        if is_bought(middle) { bought = middle } else { too_many = middle }
    }
    grouped(bought)
}

/// The row of a table without its last column, in which the page explains.
fn has_row(page: &str, cells: &[&str]) -> bool {
    page.lines().any(|line| line.starts_with(&format!("| {} |", cells.join(" | "))))
}

#[test]
fn the_tables_of_the_markets_page_follow_from_the_limits() {
    let page = include_str!("../../../../docs/markets.md");
    for decimals in 0..=DECIMALS_MAX {
        let row = [
            decimals.to_string(),
            amount(1, decimals),
            amount(NOTIONAL_MAX, decimals),
            amount(ISSUANCE_MAX, decimals),
            shares(NOTIONAL_MAX, decimals),
            shares(ISSUANCE_MAX, decimals),
        ];
        let row = format!("| {} |", row.join(" | "));
        assert!(page.lines().any(|line| line == row), "docs/markets.md has no row {row}");
    }
    for (name, figure) in [("AMOUNT_MAX", AMOUNT_MAX), ("NOTIONAL_MAX", NOTIONAL_MAX), ("ISSUANCE_MAX", ISSUANCE_MAX)] {
        let (name, figure) = (format!("`{name}`"), grouped(figure));
        assert!(has_row(page, &[&name, &figure]), "docs/markets.md does not give {name} as {figure}");
    }
    let holding = format!("{} shares", grouped(HOLDING_MAX));
    assert!(has_row(page, &["`HOLDING_MAX`", &holding]), "docs/markets.md does not give `HOLDING_MAX` as {holding}");
    assert_eq!(HOUSE_LOSS_MAX, ISSUANCE_MAX, "the page says that the bounds are the same");
}

/// The page on the state hash shows the hash of a market before its first entry.
#[test]
fn the_example_of_a_state_hash_is_one() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-hash.md")).expect("the page is there");
    let name = nevertwice_core::Name::new("cup").expect("it is a name");
    let unopened = nevertwice_core::State::new(nevertwice_core::ShardId::market(name), 1, (1, 2));
    assert!(page.contains(&unopened.state_hash().to_string()), "{}", unopened.state_hash());
}
