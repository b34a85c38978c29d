//! The names of metrics in an expression.

use std::collections::BTreeSet;

/// Words that stand before a list of labels.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// Every name in the expression that is no function, no operator, no label and no number.
pub(crate) fn metrics(expression: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '"' => behind(rest, '"'),
            '{' => behind(rest, '}'),
            '[' => behind(rest, ']'),
            '0'..='9' | '$' => split(&rest[1..]).1,
            'a'..='z' | 'A'..='Z' | '_' | ':' => {
                let (word, after) = split(rest);
                let next = after.trim_start();
                if BEFORE_LABELS.contains(&word) {
                    behind(next, ')')
                } else {
                    let aggregates = BEFORE_LABELS.iter().any(|before| split(next).0 == *before);
                    if !aggregates && !next.starts_with('(') && !OPERATORS.contains(&word) {
                        found.insert(word.to_owned());
                    }
                    after
                }
            }
            other => &rest[other.len_utf8()..],
        };
    }
    found
}

/// What the label is compared with, wherever it is compared with one value.
pub(crate) fn values<'a>(expression: &'a str, label: &str) -> Vec<&'a str> {
    let compared = format!("{label}=\"");
    expression.split(&compared).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':' || c == '.')).unwrap_or(text.len());
    text.split_at(end)
}

/// What comes behind the end of what begins with the first character.
fn behind(text: &str, end: char) -> &str {
    text.char_indices().skip(1).find(|(_, c)| *c == end).map_or("", |(at, c)| &text[at + c.len_utf8()..])
}

#[test]
fn the_names_in_an_expression_are_found() {
    for (expression, names) in [
        ("up{job=\"nevertwice\"} == 0", &["up"][..]),
        ("sum by (instance, le) (rate(a_bucket[5m])) > 5 * b offset 5m", &["a_bucket", "b"]),
        ("sum(rate(a[$__rate_interval])) by (endpoint) / on (instance) group_left () c and d:e:f > 0.02", &["a", "c", "d:e:f"]),
        ("predict_linear(x[1h], 4 * 3600) < 0 or topk(3, y{a=\"min(z)\"})", &["x", "y"]),
    ] {
        assert_eq!(metrics(expression), names.iter().map(|name| (*name).to_owned()).collect(), "{expression}");
    }
    assert_eq!(values("a{outcome=\"x\"} / a{b=\"c\", outcome=\"y\"}", "outcome"), ["x", "y"]);
}
