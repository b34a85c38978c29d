//! The examples do what they show.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request};
use tower::ServiceExt as _;

// The examples' own `main`s are not called here.
#[allow(dead_code)]
#[path = "../../examples/axum.rs"]
mod axum_service;
#[allow(dead_code)]
#[path = "../../examples/webhooks.rs"]
mod webhooks;

async fn send(app: &Router, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, HeaderMap, Bytes) {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.clone().oneshot(request.body(Body::from(body.to_owned())).expect("it is a request")).await;
    let (head, body) = response.expect("a router does not fail").into_parts();
    (head.status.as_u16(), head.headers, axum::body::to_bytes(body, 1 << 20).await.expect("the body is whole"))
}

#[tokio::test]
async fn a_charge_happens_once_for_each_key_and_caller() {
    let till = axum_service::Till::default();
    let app = axum_service::app(till.clone()).expect("the policy is one");
    let charge =
        async |user: &str, key: &str, body: &str| send(&app, "/charges", &[("authorization", user), ("idempotency-key", key)], body).await;
    let first = charge("Bearer ann", "order-17", r#"{"amount":500}"#).await;
    let again = charge("Bearer ann", "order-17", r#"{ "amount": 500 }"#).await;
    assert_eq!((first.0, &first.1["location"], &first.2), (201, &again.1["location"], &again.2));
    assert_eq!((again.0, &again.1["idempotent-replayed"]), (201, &"true".parse().expect("it is a value")));
    assert_eq!(charge("Bearer ann", "order-17", r#"{"amount":501}"#).await.0, 422);
    assert_eq!(charge("Bearer bob", "order-17", r#"{"amount":500}"#).await.0, 201);
    assert_eq!(charge("nobody", "order-18", r#"{"amount":500}"#).await.0, 401);
    assert_eq!(till.figures(), (2, 1_000));
}

#[tokio::test]
async fn an_event_that_is_delivered_twice_is_handled_once() {
    const NOW_S: i64 = 1_790_000_000;
    let sender = webhooks::Sender { secret: vec![7; 32], now_s: || NOW_S };
    let handled = webhooks::Handled::default();
    let app = webhooks::app(sender.clone(), handled.clone()).expect("the policy is one");
    let deliver = async |id: &str, sent_s: i64, signed: &'static str, body: &'static str| {
        let timestamp = sent_s.to_string();
        let signature = format!("v1,AAAA {}", sender.sign(id, &timestamp, &Bytes::from_static(signed.as_bytes())));
        let headers = [("webhook-id", id), ("webhook-timestamp", timestamp.as_str()), ("webhook-signature", signature.as_str())];
        send(&app, "/webhooks", &headers, body).await.0
    };
    let paid = r#"{"type":"invoice.paid","data":{"id":"in_7"}}"#;
    assert_eq!(deliver("msg_1", NOW_S, paid, paid).await, 204);
    assert_eq!(deliver("msg_1", NOW_S + 60, paid, paid).await, 204, "another attempt: another time, another signature");
    assert_eq!(deliver("msg_2", NOW_S, paid, paid).await, 204, "another event with the same body");
    let other = r#"{"type":"invoice.voided"}"#;
    assert_eq!(deliver("msg_1", NOW_S, other, other).await, 422, "an id that was used for another event");
    assert_eq!(deliver("msg_3", NOW_S, paid, other).await, 401, "another body than was signed");
    assert_eq!(deliver("msg_3", NOW_S - 301, paid, paid).await, 401, "a delivery of long ago");
    assert_eq!(handled.types(), ["invoice.paid", "invoice.paid"]);
}
