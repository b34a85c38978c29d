//! What makes two requests the same.

use nevertwice_api::fingerprint::{DEPTH_MAX, canonical_json, of_json};
use proptest::prelude::*;

fn canonical(text: &str) -> String {
    String::from_utf8(canonical_json(text.as_bytes()).expect("it is JSON")).expect("the canonical form is UTF-8")
}

#[test]
fn order_space_and_escapes_do_not_matter() {
    let plain = canonical(r#"{"a":1,"b":["x",true,null],"ü":"\n"}"#);
    assert_eq!(plain, canonical(" { \"b\" : [ \"\\u0078\" , true,null ],\r\n\t\"\\u00fc\":\"\\u000A\", \"\\u0061\":1 } "));
    assert_eq!(canonical(r#""\ud83d\ude00\/""#), "\"\u{1f600}/\"");
}

#[test]
fn the_text_of_numbers_and_the_order_of_arrays_matter() {
    for (one, other) in [
        ("9007199254740993", "9007199254740992"),
        ("1", "1.0"),
        ("1e2", "100"),
        ("-0", "0"),
        ("[1,2]", "[2,1]"),
        ("\"1\"", "1"),
        ("{}", "[]"),
    ] {
        assert_ne!(of_json(&["op"], one.as_bytes()), of_json(&["op"], other.as_bytes()), "{one} {other}");
    }
}

#[test]
fn the_operation_matters_and_its_parts_do_not_run_together() {
    assert_ne!(of_json(&["place_order", "wc"], b"{}"), of_json(&["place_order", "wd"], b"{}"));
    assert_ne!(of_json(&["ab", "c"], b"{}"), of_json(&["a", "bc"], b"{}"));
    assert_ne!(of_json(&["ab"], b""), of_json(&["ab"], b"{}"));
}

#[test]
fn what_is_not_one_json_text_is_refused_with_its_place() {
    for (text, at) in [
        ("", 0),
        ("{", 1),
        ("[1,]", 3),
        ("{\"a\":1,}", 7),
        ("01", 1),
        ("1.", 2),
        ("+1", 0),
        ("nul", 0),
        ("\"a", 2),
        ("\"\\x\"", 2),
        ("\"\\ud800\"", 7),
        ("\"\u{1}\"", 1),
        ("{} {}", 3),
        ("{\"a\":1,\"a\":2}", 12),
        ("'a'", 0),
    ] {
        let error = canonical_json(text.as_bytes()).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
    }
    assert!(canonical_json(b"\"\xff\"").is_err());
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(canonical_json(nested(DEPTH_MAX).as_bytes()).is_ok());
    assert!(canonical_json(nested(DEPTH_MAX + 2).as_bytes()).is_err());
    assert!(canonical_json(nested(1_000_000).as_bytes()).is_err());
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_canonical_form_is_json_of_the_same_value_and_its_own_canonical_form(value in json()) {
        let pretty = serde_json::to_vec_pretty(&value).expect("a value can be written");
        let canonical = canonical_json(&pretty).expect("it is JSON");
        prop_assert_eq!(&serde_json::from_slice::<serde_json::Value>(&canonical).expect("the canonical form is JSON"), &value);
        prop_assert_eq!(canonical_json(&canonical).expect("it is JSON"), canonical);
    }

    #[test]
    fn it_agrees_with_a_known_parser_about_what_is_json(bytes in "[\\[\\]{}\",:0-9a-u\\\\ .eE+-]{0,12}") {
        let ours = canonical_json(bytes.as_bytes());
        let theirs = serde_json::from_str::<serde_json::Value>(&bytes);
        // They take the last of two members of one name; we refuse both. They refuse numbers beyond the range of a double.
        if let Ok(canonical) = &ours {
            let out_of_range = theirs.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
            prop_assert!(theirs.is_ok() || out_of_range, "{} {:?}", bytes, canonical);
        }
        if theirs.is_ok() {
            prop_assert!(ours.is_ok() || ours.is_err_and(|error| error.what.contains("twice")), "{}", bytes);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = canonical_json(&bytes);
    }
}
