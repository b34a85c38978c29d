//! The table that all clients share.

use data_encoding::HEXLOWER;
use nevertwice_client::http::Request;
use nevertwice_client::{IntentOptions, IntentState, Outcome, fresh_key, retry_after_ms};
use serde_json::{Value, json};

use crate::scripted::{TABLE, post, retries, scripted};

fn rows(name: &str) -> &'static [Value] {
    TABLE[name].as_array().expect("rows")
}

fn told(outcome: &Outcome, state: IntentState) -> Value {
    match outcome {
        Outcome::Done(done) => {
            json!({"kind": "done", "status": done.reply.status, "replayed": done.replayed, "attempts": done.attempts, "state": state})
        }
        Outcome::Failed(failed) => json!({"kind": "failed", "code": failed.code, "attempts": failed.attempts, "state": state}),
        Outcome::Unknown(unknown) => json!({
            "kind": "unknown", "reason": unknown.reason.word(), "code": unknown.code, "attempts": unknown.attempts, "state": state
        }),
    }
}

#[tokio::test]
async fn every_case_ends_as_the_table_says() {
    assert!(rows("cases").len() > 30);
    for case in rows("cases") {
        let name = &case["name"];
        let (client, scene) = scripted(case["script"].as_array().expect("a script"));
        let mut client = client.with_retries(retries(&case["settings"])).expect("bounds");
        let expires_in_ms = case["expires_in_ms"].as_u64().or(TABLE["expires_in_ms"].as_u64()).expect("a time");
        let expires_at = Some(TABLE["now_ms"].as_u64().expect("an instant") + expires_in_ms);
        let options = IntentOptions { expires_at, ..IntentOptions::default() };
        let mut intent = client.intent(post("/charges", &json!({"amount": 3})), options).expect("an intent");
        let outcome = client.send(&mut intent).await.expect("an outcome");
        let told = told(&outcome, intent.state());
        for (member, expected) in case["outcome"].as_object().expect("an outcome") {
            assert_eq!(told[member], *expected, "{name}: {member}: {told}");
        }
        let scene = scene.lock().expect("not poisoned");
        assert_eq!(json!(scene.waits), case["waits_ms"], "{name}");
        assert!(scene.steps.is_empty(), "{name}: {:?}", scene.steps);
        assert!(case["timeouts_ms"].is_null() || json!(scene.timeouts) == case["timeouts_ms"], "{name}: {:?}", scene.timeouts);
        // Whatever happens, every attempt is the same request with the same key.
        assert!(scene.sent.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    }
}

#[tokio::test]
async fn codes_that_say_that_nothing_was_done_are_believed() {
    for code in rows("nothing_done") {
        let (client, _) = scripted(&[json!({"status": 503, "body": {"code": code, "retryable": true}})]);
        let mut client = client.with_retries(retries(&json!({"attempts_max": 1}))).expect("bounds");
        let mut intent = client.intent(post("/x", &json!({})), IntentOptions::default()).expect("an intent");
        let outcome = client.send(&mut intent).await.expect("an outcome");
        assert_eq!(told(&outcome, intent.state()), json!({"kind": "failed", "code": code, "attempts": 1, "state": "new"}));
    }
}

#[test]
fn keys_are_uuids_of_version_7() {
    for case in rows("keys") {
        let bytes = HEXLOWER.decode(case["bytes"].as_str().expect("bytes").as_bytes()).expect("hex");
        let key = fresh_key(case["now_ms"].as_u64().expect("an instant"), bytes.try_into().expect("10 bytes"));
        assert_eq!(key, case["key"]);
    }
}

#[test]
fn a_digest_covers_method_path_principal_and_body() {
    for case in rows("digests") {
        let text = |name: &str| case[name].as_str().expect("text");
        let method = if text("method") == "POST" { "POST" } else { "DELETE" };
        let headers = if text("principal").is_empty() { vec![] } else { vec![("Principal", text("principal").to_owned())] };
        let body = (!text("body").is_empty()).then(|| text("body").to_owned().into());
        let request = Request { method, path: text("path").to_owned(), headers, body };
        let intent = scripted(&[]).0.intent(request, IntentOptions::default()).expect("an intent");
        assert_eq!(intent.digest(), text("digest"));
    }
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now_ms = TABLE["now_ms"].as_u64().expect("an instant");
    for case in rows("retry_after") {
        let text = |name: &str| case[name].as_str();
        assert_eq!(json!(retry_after_ms(text("value"), text("date"), now_ms)), case["ms"], "{case}");
    }
    assert_eq!(retry_after_ms(None, None, 0), None);
}
