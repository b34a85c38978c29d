//! Refusals for rare causes, each got by its cause.

use std::fs;
use std::path::PathBuf;

use nevertwice_api::{Backend as _, Levels, Request};
use nevertwice_core::limits::{AT_MS_MAX, INSTRUMENTS_MAX};
use nevertwice_core::{Command, Decision, IdempotencyKey, Intent, ListInstrument, Name, Principal, ShardId};
use serde_json::json;

use crate::house::{House, START_MS};

#[tokio::test]
async fn nobody_holds_more_than_the_market_allows() {
    let house = House::open().await;
    let limits = json!({"quantity_max": 9, "holding_max": 9, "house_loss_max": 0});
    let market = json!({"market": "wc", "decimals": 0, "fee_bps": 0, "limits": limits, "mode": "open"});
    house.post("/v1/markets", "open", market).await.result();
    house.post("/v1/markets/wc/instruments", "list", json!({"instrument": "ARG", "base": 1, "slope": 0})).await.result();
    house.post("/v1/markets/wc/accounts", "ann", json!({"account": "ann", "opening_balance": 100})).await.result();
    let buy = |quantity: u32| json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": quantity});
    house.post("/v1/markets/wc/orders", "nine", buy(9)).await.result();
    let refused = house.post("/v1/markets/wc/orders", "ten", buy(1)).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "holding_too_large"));
}

/// All but the last are listed without HTTP, which is quicker.
#[tokio::test]
async fn a_market_has_no_more_instruments_than_may_be() {
    let house = House::open().await.with_market().await;
    let list = |number: usize| {
        let name = Name::new(&format!("I{number}")).expect("a name");
        let key = IdempotencyKey::new(name.as_str()).expect("a key");
        let intent = Intent { principal: Principal::new("ann").expect("a principal"), key, fingerprint: [0; 32], expires_at: None };
        let command = Command::new(intent, ListInstrument { instrument: name, base: 1, slope: 0 });
        house.backend.submit(Request { shard: ShardId::market(Name::new("wc").expect("a name")), command, levels: Levels::NONE })
    };
    // One is there already. No more at a time than the queue takes.
    for from in (1..INSTRUMENTS_MAX).step_by(4_096) {
        let under_way: Vec<_> = (from..INSTRUMENTS_MAX.min(from + 4_096)).map(list).collect();
        for answer in under_way {
            assert!(matches!(answer.await.expect("it is decided").decision, Decision::Accepted(_)));
        }
    }
    let refused = house.post("/v1/markets/wc/instruments", "last", json!({"instrument": "LAST", "base": 1, "slope": 0})).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "instruments_full"));
}

#[tokio::test]
async fn nobody_books_before_the_window_begins() {
    let house = House::open().await;
    let levels = json!([{"level": "north", "cap": null}]);
    let window = (START_MS + 1_000, START_MS + 86_400_000);
    let sale = json!({"sale": "final", "levels": levels, "total_cap": 3, "opens_at": window.0, "closes_at": window.1});
    house.post("/v1/sales", "open", sale).await.result();
    house.post("/v1/sales/final/candidates", "load", json!({"candidates": [{"code": "A1"}]})).await.result();
    house.post("/v1/sales/final/open", "doors", json!({"open": true})).await.result();
    assert_eq!(house.book("a", "A1", "north").await.code(), "sale_not_started");
    house.later(1_000);
    house.book("a", "A1", "north").await.result();
}

#[tokio::test]
async fn a_clock_beyond_all_instants_decides_nothing() {
    let house = House::open().await.with_market().await;
    house.clock.set(AT_MS_MAX + 1);
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let refused = house.post("/v1/markets/wc/orders", "k", order).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "instant_out_of_range"));
}

/// The journal under a running server, as somebody else leaves it: what has happened is looked for there, and not found.
#[tokio::test]
async fn a_journal_that_is_damaged_gone_or_barred_under_a_running_server_is_told() {
    let house = House::open().await.with_market().await;
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "segment");
    let files = fs::read_dir(house.data()).expect("it can be listed").map(|file| file.expect("a file").path());
    let segment = files.filter(is_segment).min().expect("a segment");
    let explain = || house.get("/v1/explain?principal=local&key=nobodys");
    assert_eq!(explain().await.status, 200);
    let good = fs::read(&segment).expect("it can be read");
    let mut bad = good.clone();
    bad[4_096 + 70..4_096 + 90].fill(0xA5);
    fs::write(&segment, bad).expect("it can be written");
    let damaged = explain().await;
    assert_eq!((damaged.status, damaged.code().as_str()), (500, "history_damaged"));
    fs::remove_file(&segment).expect("it can be removed");
    assert_eq!(explain().await.code(), "history_damaged");
    // What the system does not let anybody read is no damage.
    fs::create_dir(&segment).expect("it can be made");
    let barred = explain().await;
    assert_eq!((barred.status, barred.code().as_str()), (503, "history_unreadable"));
    fs::remove_dir(&segment).expect("it can be removed");
    fs::write(&segment, good).expect("it can be written");
    assert_eq!(explain().await.status, 200);
}
