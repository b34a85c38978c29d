//! What a scrape of a server shows that has done some of everything, and one of its standby.

use std::collections::BTreeSet;

use nevertwice_api::ErrorCode;
use nevertwice_server::KEY_OUTCOMES;
use serde_json::json;

use super::promql;
use crate::client::Ask;
use crate::house::House;
use crate::standby::Annex;

/// Outcomes of requests that are no problem.
const FINE: [&str; 4] = ["served", "accepted", "replayed", "feigned"];

/// The names of all samples of a scrape.
pub(crate) async fn names() -> BTreeSet<String> {
    let house = House::open().await.with_market().await.with_sale().await;
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    house.post("/v1/markets/wc/orders", "o", order).await.result();
    house.book("b", "A1", "north").await.result();
    let standby = Annex::of(&house).await;
    standby.caught_up(&house).await;
    let text = house.get("/metrics").await.text + &standby.send(Ask::get("/metrics")).await.text;
    standby.close().await;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// Each name is one that a server shows, or one of `more`; each outcome is one that a request can have.
pub(crate) fn check(expression: &str, shown: &BTreeSet<String>, more: &BTreeSet<String>) {
    let used = promql::metrics(expression);
    assert!(!used.is_empty(), "it looks at nothing: {expression}");
    // What a proxy shows is looked at by the tests of the program, which start one.
    if used.iter().all(|name| name.starts_with("nevertwice_proxy_")) {
        return;
    }
    for name in used {
        assert!(shown.contains(&name) || more.contains(&name), "no server shows {name}, which is looked at by {expression}");
    }
    for outcome in promql::values(expression, "outcome") {
        let is_known = FINE.contains(&outcome) || KEY_OUTCOMES.contains(&outcome) || outcome.parse::<ErrorCode>().is_ok();
        assert!(is_known, "no request has the outcome {outcome}");
    }
}
