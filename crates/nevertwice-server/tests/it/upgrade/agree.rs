//! When an answer of today agrees with a recorded one: it has everything that the recorded one has, and may have more.

use serde_json::Value;

use super::exchange::Told;

/// What people read may be said in other words.
const WORDING: &[&str] = &["detail"];

/// Where a scan goes on is nobody's business but the server's.
const OPAQUE: &[&str] = &["next"];

/// Says where the answers differ, if they do.
pub(super) fn differs(recorded: &Told, now: &Told) -> Option<String> {
    if recorded.status != now.status {
        return Some(format!("status {}, and was {}", now.status, recorded.status));
    }
    if let Some(header) = recorded.headers.iter().find(|header| !now.headers.contains(header)) {
        return Some(format!("the header {header:?} is another: {:?}", now.headers));
    }
    differ(&recorded.body, &now.body, "")
}

/// Says where a value of today lacks something of a recorded one.
pub(super) fn differ(recorded: &Value, now: &Value, place: &str) -> Option<String> {
    match (recorded, now) {
        (Value::Object(recorded), Value::Object(now)) => recorded.iter().find_map(|(name, value)| {
            let place = format!("{place}/{name}");
            match now.get(name) {
                _ if OPAQUE.contains(&name.as_str()) => None,
                None => Some(format!("{place} is not there any more")),
                Some(now) if WORDING.contains(&name.as_str()) => {
                    (now.is_string() != value.is_string()).then(|| format!("{place} is no text any more"))
                }
                Some(now) => differ(value, now, &place),
            }
        }),
        // Lists of texts are outlines, in which there may be more; others have as many items, in any order where a scan has none.
        (Value::Array(recorded), Value::Array(now)) => {
            let is_outline = recorded.iter().all(Value::is_string);
            if !is_outline && recorded.len() != now.len() {
                return Some(format!("{place} has {} items, and had {}", now.len(), recorded.len()));
            }
            let mut left: Vec<&Value> = now.iter().collect();
            recorded.iter().enumerate().find_map(|(number, value)| match left.iter().position(|now| differ(value, now, "").is_none()) {
                Some(at) => {
                    left.remove(at);
                    None
                }
                None => Some(format!("{place}/{number} is not there any more: {value}")),
            })
        }
        _ => (recorded != now).then(|| format!("{place} is {now}, and was {recorded}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn more_agrees_and_less_or_other_does_not() {
        let recorded = json!({"a": 1, "list": [{"b": 1}, {"b": 2}], "words": ["x"], "detail": "so", "next": 3});
        for now in [
            recorded.clone(),
            json!({"a": 1, "list": [{"b": 2, "c": 3}, {"b": 1}], "words": ["y", "x"], "detail": "in other words", "more": null}),
        ] {
            assert_eq!(differ(&recorded, &now, ""), None);
        }
        for (now, place) in [
            (json!({"a": 2, "list": [{"b": 1}, {"b": 2}], "words": ["x"], "detail": "so"}), "/a"),
            (json!({"a": "1", "list": [{"b": 1}, {"b": 2}], "words": ["x"], "detail": "so"}), "/a"),
            (json!({"a": 1, "list": [{"b": 1}], "words": ["x"], "detail": "so"}), "/list"),
            (json!({"a": 1, "list": [{"b": 1}, {"b": 1}], "words": ["x"], "detail": "so"}), "/list/1"),
            (json!({"a": 1, "list": [{"b": 1}, {"b": 2}], "words": ["y"], "detail": "so"}), "/words/0"),
            (json!({"a": 1, "list": [{"b": 1}, {"b": 2}], "words": ["x"], "detail": null}), "/detail"),
            (json!({"a": 1, "list": [{"b": 1}, {"b": 2}], "words": ["x"]}), "/detail"),
        ] {
            assert!(differ(&recorded, &now, "").is_some_and(|told| told.starts_with(place)), "{now}");
        }
    }
}
