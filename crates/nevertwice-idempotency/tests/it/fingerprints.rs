//! What makes two requests the same.

use nevertwice_idempotency::{FingerprintRules, Policy};

use crate::house::{House, request};

/// Whether the second request counts as the first one again.
async fn is_same(policy: Policy, media: [&str; 2], bodies: [&str; 2]) -> bool {
    let house = House::plain(policy, 201, "done");
    let sent = |media, body| request("/charges", &[("user", "ann"), ("idempotency-key", "k"), ("content-type", media)], body);
    assert_eq!(house.send(sent(media[0], bodies[0])).await.status, 201);
    let again = house.send(sent(media[1], bodies[1])).await;
    assert!(again.is_replay() || again.status == 422, "{}", again.status);
    again.is_replay()
}

async fn is_same_json(a: &str, b: &str) -> bool {
    is_same(Policy::ietf(), ["application/json"; 2], [a, b]).await
}

#[tokio::test(start_paused = true)]
async fn json_is_compared_in_its_canonical_form_with_the_text_of_numbers() {
    assert!(is_same_json(r#"{"a":1,"b":"\u0041"}"#, r#" { "b" : "A", "a" : 1 } "#).await);
    assert!(!is_same_json(r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#).await, "two amounts above 2^53");
    assert!(!is_same_json("[1,2]", "[2,1]").await, "the order of an array");
    assert!(!is_same_json("{", "{ ").await, "what does not parse counts by its bytes");
    let media = ["application/json; charset=utf-8", "application/json"];
    assert!(is_same(Policy::ietf(), media, ["{}", "{ }"]).await);
    assert!(is_same(Policy::ietf(), ["application/vnd.pay+json"; 2], ["{}", "{ }"]).await);
}

#[tokio::test(start_paused = true)]
async fn pointers_choose_what_counts() {
    let with = |include: &[&str], exclude: &[&str]| Policy {
        fingerprint: FingerprintRules {
            json_include: include.iter().map(|&pointer| pointer.to_owned()).collect(),
            json_exclude: exclude.iter().map(|&pointer| pointer.to_owned()).collect(),
            headers: Vec::new(),
        },
        ..Policy::ietf()
    };
    let json = ["application/json"; 2];
    let bodies = [r#"{"amount":5,"meta":{"sent_at":1,"a/b":1},"list":[1,2]}"#, r#"{"amount":5,"meta":{"sent_at":2,"a/b":1},"list":[1,2]}"#];
    assert!(is_same(with(&[], &["/meta/sent_at"]), json, bodies).await);
    assert!(!is_same(with(&[], &["/meta/a~1b"]), json, bodies).await);
    assert!(is_same(with(&["/amount", "/list"], &[]), json, bodies).await);
    assert!(!is_same(with(&["/amount", "/meta"], &[]), json, bodies).await);
    assert!(is_same(with(&["/meta"], &["/meta/sent_at"]), json, bodies).await);
    assert!(!is_same(with(&["/list/1"], &[]), json, [r#"{"list":[1,2]}"#, r#"{"list":[2,1]}"#]).await);
    assert!(!is_same(with(&["/a", "/b"], &[]), json, [r#"{"a":1}"#, r#"{"b":1}"#]).await, "values do not change places");
    assert!(!is_same(with(&["/a"], &[]), json, [r#"{"a":[]}"#, r#"{"a":{}}"#]).await);
    assert!(!is_same(with(&["/a"], &[]), json, [r#"{"a":[[1],2]}"#, r#"{"a":[[1,2]]}"#]).await);
}

#[tokio::test(start_paused = true)]
async fn forms_are_compared_by_their_fields() {
    let form = ["application/x-www-form-urlencoded"; 2];
    assert!(is_same(Policy::ietf(), form, ["a=1&b=x+y", "b=x%20y&a=1"]).await);
    assert!(!is_same(Policy::ietf(), form, ["a=1&a=2", "a=2&a=1"]).await);
    assert!(!is_same(Policy::ietf(), form, ["a=%FF", "a=%FE"]).await, "bytes that are no text are not all one");
}

#[tokio::test(start_paused = true)]
async fn multipart_bodies_are_compared_by_their_parts_whatever_the_boundary() {
    let body = |boundary: &str, content: &str| {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"f\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--{boundary}--\r\n"
        )
    };
    let media = ["multipart/form-data; boundary=one", "multipart/form-data; boundary=\"two\""];
    assert!(is_same(Policy::ietf(), media, [&body("one", "x"), &body("two", "x")]).await);
    assert!(!is_same(Policy::ietf(), media, [&body("one", "x"), &body("two", "y")]).await);
    let renamed = body("two", "x").replace("name=\"f\"", "name=\"g\"");
    assert!(!is_same(Policy::ietf(), media, [&body("one", "x"), &renamed]).await);
}

/// One reader would see two headers in the first body, another one; both see two in the second.
#[tokio::test(start_paused = true)]
async fn half_a_line_break_in_a_part_is_no_line_break() {
    let body = |line_break: &str| format!("--one\r\nContent-Disposition: a{line_break}Content-Type: b\r\n\r\nx\r\n--one--\r\n");
    for line_break in ["\n", "\r"] {
        assert!(!is_same(Policy::ietf(), ["multipart/form-data; boundary=one"; 2], [&body(line_break), &body("\r\n")]).await);
    }
}

#[tokio::test(start_paused = true)]
async fn the_whole_body_counts_and_headers_only_by_choice() {
    let long = "x".repeat(70_000);
    let (a, b) = (format!("{long}1"), format!("{long}2"));
    assert!(!is_same(Policy::ietf(), ["text/plain"; 2], [&a, &b]).await);
    for (names, replays) in [(vec![], true), (vec![http::HeaderName::from_static("x-sign")], false)] {
        let rules = FingerprintRules { headers: names, ..FingerprintRules::default() };
        let house = House::plain(Policy { fingerprint: rules, ..Policy::ietf() }, 201, "done");
        for sign in ["1", "2"] {
            let sent = request("/charges", &[("user", "ann"), ("idempotency-key", "k"), ("x-sign", sign)], "{}");
            let told = house.send(sent).await;
            assert_eq!(told.status == 201, sign == "1" || replays);
        }
    }
}
