//! The example of a shop does what it says.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request};
use nevertwice_ledger::DatabaseOptions;
use nevertwice_ledger::keys::SqlKeyOptions;
use tower::ServiceExt as _;

use crate::publisher::house::{House, options};

// The example's own `main` is not called here.
#[allow(dead_code)]
#[path = "../../examples/ordering.rs"]
mod shop;

async fn order(app: &Router, key: &str, item: &str) -> (u16, HeaderMap, Bytes) {
    let request =
        Request::post("/orders").header("content-type", "application/json").header("x-user", "ann").header("idempotency-key", key);
    let request = request.body(Body::from(format!(r#"{{"item":"{item}"}}"#))).expect("it is a request");
    let (head, body) = app.clone().oneshot(request).await.expect("a router does not fail").into_parts();
    (head.status.as_u16(), head.headers, axum::body::to_bytes(body, 1 << 20).await.expect("the body is whole"))
}

#[tokio::test]
async fn an_order_is_placed_once_also_across_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("sqlite:{}", folder.path().join("orders.db").display());
    let open = async || shop::Shop::open(&address, SqlKeyOptions::default()).await.expect("it opens");
    let shop = open().await;
    let app = shop::app(shop.clone(), [7; 32]).expect("the policy is one");
    let first = order(&app, "a", "seat-17").await;
    assert_eq!((first.0, &first.1["location"]), (201, &"/orders/1".parse().expect("it is a value")));
    for app in [app, shop::app(open().await, [7; 32]).expect("the policy is one")] {
        let again = order(&app, "a", "seat-17").await;
        assert_eq!((again.0, &again.1["location"], &again.2), (201, &first.1["location"], &first.2));
        assert_eq!(
            (&again.1["content-type"], &again.1["idempotent-replayed"]),
            (&first.1["content-type"], &"true".parse().expect("a value"))
        );
        assert_eq!(order(&app, "a", "seat-18").await.0, 422, "another order under the same key");
        assert_eq!(order(&app, "b", "seat-17").await.0, 409, "somebody else has it");
        assert_eq!(order(&app, "b", "seat-17").await.0, 409, "a refusal frees the key");
    }
    assert_eq!(shop.figures().await.expect("it answers"), (1, 1), "one order and one message");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_retries_across_restarts_are_one_order_and_one_delivery_id() {
    const RETRIES: usize = 1_000;
    const RESTARTS: usize = 4;
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("sqlite:{}", folder.path().join("orders.db").display());
    let mut ids = std::collections::BTreeSet::new();
    for restart in 0..RESTARTS {
        let shop = shop::Shop::open(&address, SqlKeyOptions::default()).await.expect("it opens");
        let app = shop::app(shop.clone(), [7; 32]).expect("the policy is one");
        let retries: Vec<_> = (0..RETRIES / RESTARTS)
            .map(|_| {
                let app = app.clone();
                tokio::spawn(async move { order(&app, "tap", "seat-17").await.0 })
            })
            .collect();
        for retry in retries {
            let status = retry.await.expect("no panic");
            assert!(status == 201 || (restart == 0 && status == 409), "restart {restart}: {status}");
        }
        let database =
            nevertwice_ledger::Database::open(&address.parse().expect("an address"), &DatabaseOptions::default()).await.expect("it opens");
        let house = House::new(&database, options("one", &["a", "b"]));
        house.settle().await;
        ids.extend(house.book.ids());
        assert_eq!(shop.figures().await.expect("it answers").0, 1, "restart {restart}");
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
}
