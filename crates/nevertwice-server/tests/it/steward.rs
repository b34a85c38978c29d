//! What the server does by itself, in time.

use nevertwice_api::person::SaleKey;
use nevertwice_api::{Backend as _, Levels, Request};
use nevertwice_core::{Admit, Code, Command, Decision, IdempotencyKey, Intent, Name, Principal, ShardId};
use serde_json::{Value, json};

use crate::client::Ask;
use crate::house::{House, eventually, path_of};

const HOLD_MS: i64 = 600_000;
const GRACE_MS: i64 = 60_000;

async fn swept() -> House {
    House::configured(|config| config.sweep_ms = 10).await
}

async fn reaches(house: &House, id: &Value, state: &str) -> Value {
    eventually(state, async || Some(house.booking(id).await).filter(|booking| booking["state"] == state)).await
}

#[tokio::test]
async fn a_hold_whose_payment_was_begun_ends_only_once_the_gateway_has_told_how() {
    let house = swept().await.with_sale().await;
    let open = house.book("a", "A1", "north").await.json();
    let declined = house.book("b", "B2", "north").await.json();
    let paid = house.book("c", "C3", "south").await.json();
    house.send(Ask::new("POST", format!("{}/decline", path_of(&declined["state"]["payment_url"])))).await;
    house.send(Ask::new("POST", format!("{}/pay", path_of(&paid["state"]["payment_url"])))).await;
    house.later(HOLD_MS);
    // What was declined is released at once; what is open still has its grace, and its seat.
    reaches(&house, &declined["result"]["booking"], "released").await;
    reaches(&house, &open["result"]["booking"], "closing").await;
    house.later(GRACE_MS);
    let released = reaches(&house, &open["result"]["booking"], "released").await;
    assert_eq!(released["seat"], open["result"]["seat"]);
    assert_eq!(house.booking(&paid["result"]["booking"]).await["state"], "paid");
    assert_eq!(house.get("/v1/sales/final").await.result()["live"], 1);
    // The page knows that it is over.
    let late = house.send(Ask::new("POST", format!("{}/pay", path_of(&open["state"]["payment_url"])))).await;
    assert_eq!(late.status, 409);
    assert_eq!(house.metric("nevertwice_late_payments_total").await, 0.0);
    assert_eq!(house.metric("nevertwice_closings_released_total").await, 2.0);
    assert_eq!(house.metric("nevertwice_steward_failures_total").await, 0.0);
}

#[tokio::test]
async fn a_hold_whose_payment_never_began_is_released_at_its_end() {
    let house = swept().await.with_sale().await;
    // As if the server had died between the admission and the begin of the payment.
    let level = Name::new("north").expect("a name");
    let candidate = SaleKey::derive(&[7; 32], "final").candidate(&Code::new("A1").expect("a code"));
    let intent = Intent {
        principal: Principal::new("web").expect("a principal"),
        key: IdempotencyKey::new("a").expect("a key"),
        fingerprint: [1; 32],
        expires_at: None,
    };
    let command = Command::new(intent, Admit { candidate, email: None, level });
    let request = Request { shard: ShardId::sale(Name::new("final").expect("a name")), command, levels: Levels::NONE };
    let Decision::Accepted(entry) = house.backend.submit(request).await.expect("an answer").decision else { panic!("it was not admitted") };
    let id = json!(entry.position.to_string());
    house.later(HOLD_MS - 1);
    assert_eq!(house.booking(&id).await["state"], "admitted");
    house.later(1);
    let released = reaches(&house, &id, "released").await;
    assert_eq!((&released["payment"], &released["seat"]), (&Value::Null, &json!(1)));
    assert_eq!(house.get("/v1/sales/final").await.result()["live"], 0);
    assert_eq!(house.metric("nevertwice_holds_ended_total").await, 1.0);
    assert_eq!(house.book("b", "B2", "north").await.result()["seat"], 1);
}

#[tokio::test]
async fn a_payment_within_the_grace_keeps_the_seat() {
    let house = swept().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    house.later(HOLD_MS);
    reaches(&house, &booked["result"]["booking"], "closing").await;
    let paid = house.send(Ask::new("POST", format!("{}/pay", path_of(&booked["state"]["payment_url"])))).await;
    assert!(paid.status == 200 && paid.text.contains("is paid"), "{}", paid.text);
    house.later(10 * GRACE_MS);
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paid");
}

#[tokio::test]
async fn what_waited_before_a_restart_is_found_after_it() {
    let house = swept().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    house.later(HOLD_MS);
    reaches(&house, &booked["result"]["booking"], "closing").await;
    let mut plan = crate::house::Plan::default();
    plan.config.sweep_ms = 10;
    let house = house.reopen(plan).await;
    house.later(GRACE_MS);
    reaches(&house, &booked["result"]["booking"], "released").await;
}

#[tokio::test]
async fn holders_of_a_settled_instrument_are_paid_in_steps_until_none_is_left() {
    let house = swept().await.with_market().await;
    // More holders than one step pays.
    for number in 0..150 {
        let account = json!({"account": format!("h{number}"), "opening_balance": 10_000});
        house.post("/v1/markets/wc/accounts", &format!("h{number}"), account).await.result();
        let order = json!({"account": format!("h{number}"), "instrument": "ARG", "side": "buy", "quantity": 1});
        house.post("/v1/markets/wc/orders", &format!("o{number}"), order).await.result();
    }
    house.post("/v1/markets/wc/instruments/ARG/settle", "s", json!({"price": 5_000})).await.result();
    let settled = eventually("all are paid", async || {
        Some(house.get("/v1/markets/wc/instruments/ARG").await.result()).filter(|instrument| instrument["net"] == 0)
    })
    .await;
    assert_eq!((&settled["state"], &settled["price"]), (&json!("settled"), &json!(5_000)));
    let first = house.get("/v1/markets/wc/accounts/h0").await.result();
    assert_eq!((&first["balance"], &first["holdings"]), (&json!(10_000 - 1_002 - 6 + 5_000), &json!(0)));
    assert_eq!(house.metric("nevertwice_holders_paid_total").await, 150.0);
}

#[tokio::test]
async fn a_settlement_before_a_restart_is_paid_after_it() {
    let house = House::open().await.with_market().await;
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 3});
    house.post("/v1/markets/wc/orders", "o", order).await.result();
    house.post("/v1/markets/wc/instruments/ARG/settle", "s", json!({"price": 2_000})).await.result();
    let holders = house.get("/v1/markets/wc/instruments/ARG/holders").await.result();
    assert!(holders["holdings"].is_array(), "{holders}");
    let mut plan = crate::house::Plan::default();
    plan.config.sweep_ms = 10;
    let house = house.reopen(plan).await;
    eventually("the holder is paid", async || (house.get("/v1/markets/wc/instruments/ARG").await.result()["net"] == 0).then_some(())).await;
}
