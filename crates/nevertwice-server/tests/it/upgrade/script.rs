//! What is recorded: every route, every kind of entry, and answers of every kind.

use serde_json::{Value, json};

use super::exchange::{Asked, Step, Told, perform};
use crate::house::{House, START_MS, path_of};

/// How long a hold lasts.
const HOLD_MS: i64 = 14_400_000;

/// A server, and what was said to it and by it so far.
pub(super) struct Recorder {
    house: Option<House>,
    pub(super) steps: Vec<Step>,
    has_snapshots: bool,
}

impl Recorder {
    pub(super) fn new(house: House, has_snapshots: bool) -> Self {
        Self { house: Some(house), steps: Vec::new(), has_snapshots }
    }

    /// The server as it is after all of it.
    pub(super) fn into_house(self) -> House {
        self.house.expect("there is a server")
    }

    async fn send(&mut self, request: Asked) -> Value {
        let answer = request.send(self.house.as_ref().expect("there is a server")).await;
        self.steps.push(Step::Ask { request, answer: answer.clone() });
        let Told { body, .. } = answer;
        body
    }

    async fn get(&mut self, path: &str) -> Value {
        let headers = vec![("host".to_owned(), "localhost".to_owned())];
        self.send(Asked { method: "GET".to_owned(), path: path.to_owned(), headers, body: String::new() }).await
    }

    async fn post(&mut self, path: &str, key: &str, body: Value) -> Value {
        self.post_with(path, &[("idempotency-key", key), ("content-type", "application/json")], &body.to_string()).await
    }

    async fn post_with(&mut self, path: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let host = [("host", "localhost")];
        let headers = host.iter().chain(headers).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.send(Asked { method: "POST".to_owned(), path: path.to_owned(), headers, body: body.to_owned() }).await
    }

    async fn happen(&mut self, step: Step) {
        let house = self.house.take().expect("there is a server");
        self.house = Some(perform(house, &step, self.has_snapshots).await);
        self.steps.push(step);
    }

    /// All of it.
    pub(super) async fn record(&mut self) {
        self.market().await;
        self.sale().await;
        self.happen(Step::Restart).await;
        self.happen(Step::Snapshot).await;
        self.trade().await;
        self.happen(Step::Snapshot).await;
        self.book().await;
        self.end().await;
        self.mistakes().await;
        self.documents().await;
    }

    async fn market(&mut self) {
        let limits = json!({"quantity_max": 1_000, "holding_max": 1_000_000, "house_loss_max": 10_000_000});
        self.post("/v1/markets", "m", json!({"market": "wc", "decimals": 2, "fee_bps": 50, "limits": limits, "mode": "open"})).await;
        for (instrument, base, slope) in [("ARG", 1_000, 2), ("BRA", 900, 1), ("FRA", 1_100, 3)] {
            let body = json!({"instrument": instrument, "base": base, "slope": slope});
            self.post("/v1/markets/wc/instruments", &format!("list-{instrument}"), body).await;
        }
        for (account, class, balance) in [("ann", "player", 1_000_000), ("ben", "player", 500_000), ("bot-1", "bot", 100_000)] {
            let body = json!({"account": account, "class": class, "opening_balance": balance});
            self.post("/v1/markets/wc/accounts", &format!("open-{account}"), body).await;
        }
        self.order("o-1", "ann", "ARG", "buy", 10).await;
        self.order("o-1", "ann", "ARG", "buy", 10).await;
        self.order("o-1", "ann", "ARG", "buy", 11).await;
        self.order("o-2", "ben", "BRA", "buy", 7).await;
    }

    async fn order(&mut self, key: &str, account: &str, instrument: &str, side: &str, quantity: i64) -> Value {
        let body = json!({"account": account, "instrument": instrument, "side": side, "quantity": quantity});
        self.post("/v1/markets/wc/orders", key, body).await
    }

    async fn sale(&mut self) {
        let levels = json!([{"level": "north", "cap": 3}, {"level": "south", "cap": null}]);
        let (opens_at, closes_at) = (START_MS - 1_000, START_MS + 86_400_000);
        let sale =
            json!({"sale": "final", "levels": levels, "total_cap": 5, "hold_ms": HOLD_MS, "opens_at": opens_at, "closes_at": closes_at});
        self.post("/v1/sales", "s", sale).await;
        let candidates = json!([{"code": "A1"}, {"code": "b2"}, {"code": "C3"}, {"code": "D4", "email": "Dee@Example.org", "levels": ["north"]}, {"code": "E5"}, {"code": "F6"}]);
        self.post("/v1/sales/final/candidates", "load", json!({"candidates": candidates})).await;
        self.book_seat("early", "A1", "north").await;
        self.post("/v1/sales/final/open", "doors", json!({"open": true})).await;
        self.book_seat("b-a", "A1", "north").await;
    }

    async fn book_seat(&mut self, key: &str, code: &str, level: &str) -> Value {
        self.post("/v1/sales/final/bookings", key, json!({"code": code, "level": level})).await
    }

    async fn trade(&mut self) {
        self.order("o-3", "ann", "ARG", "sell", 4).await;
        let guarded = json!({"account": "ann", "instrument": "BRA", "side": "buy", "quantity": 2, "limit_price": 2_000, "expected_price": 950, "max_slippage_bps": 500});
        let headers = [
            ("content-type", "application/json"),
            ("ack-level", "journaled"),
            ("principal", "ann"),
            ("idempotency-expires", "1790000060000"),
        ];
        self.post_with("/v1/markets/wc/orders", &[&headers[..], &[("idempotency-key", "\"o 4\"")]].concat(), &guarded.to_string()).await;
        self.post_with("/v1/markets/wc/orders", &[&headers[..], &[("idempotency-key", "\"o-4\"")]].concat(), &guarded.to_string()).await;
        for (key, member, value) in [
            ("o-5", "limit_price", json!(1)),
            ("o-6", "quantity", json!(900)),
            ("o-7", "quantity", json!(0)),
            ("o-8", "side", json!("hold")),
        ] {
            let mut order = json!({"account": "ben", "instrument": "ARG", "side": "buy", "quantity": 1});
            order[member] = value;
            self.post("/v1/markets/wc/orders", key, order).await;
        }
        let order = |account: &str, quantity: i64| json!({"account": account, "instrument": "FRA", "side": "buy", "quantity": quantity});
        let lines = [
            json!({"key": "l-1", "order": order("ann", 3)}).to_string(),
            json!({"key": "l-2", "principal": "ben", "order": order("ben", 2)}).to_string(),
            json!({"key": "l-1", "order": order("ann", 3)}).to_string(),
            json!({"key": "l-3", "order": order("nobody", 1)}).to_string(),
            "nonsense".to_owned(),
        ];
        self.post_with("/v1/markets/wc/orders/batch", &[("content-type", "application/x-ndjson")], &lines.join("\n")).await;
        self.post("/v1/markets/wc/instruments/BRA/reprice", "rp", json!({"base": 950})).await;
        self.post("/v1/markets/wc/instruments/FRA/freeze", "fr", json!({})).await;
        self.order("o-9", "ann", "FRA", "buy", 1).await;
        self.post("/v1/markets/wc/instruments/FRA/unfreeze", "un", json!({})).await;
        self.post("/v1/markets/wc/mode", "ro", json!({"mode": "reduce_only"})).await;
        self.order("o-10", "ann", "FRA", "buy", 1).await;
        self.post("/v1/markets/wc/mode", "op", json!({"mode": "open"})).await;
        for path in [
            "/v1/markets/wc",
            "/v1/markets/wc?level=decided",
            "/v1/markets/wc/instruments",
            "/v1/markets/wc/instruments?from=1",
            "/v1/markets/wc/instruments/ARG",
            "/v1/markets/wc/instruments/ARG/quote?side=buy&quantity=5",
            "/v1/markets/wc/instruments/ARG/quote?side=sell&quantity=6&level=journaled",
            "/v1/markets/wc/instruments/FRA/holders",
            "/v1/markets/wc/accounts/ann",
            "/v1/markets/wc/accounts/ann/holdings",
            "/v1/markets/wc/acks/2-12?level=journaled",
            "/v1/markets/wc/acks/1-3",
        ] {
            self.get(path).await;
        }
        self.post("/v1/markets/wc/instruments/ARG/settle", "st", json!({"price": 1_015})).await;
        self.get("/v1/markets/wc/instruments/ARG").await;
        self.happen(Step::PayHolders { instrument: "ARG".to_owned(), holders: vec!["ann".to_owned()] }).await;
        self.get("/v1/markets/wc/accounts/ann").await;
    }

    async fn book(&mut self) {
        self.book_seat("b-a", "A1", "north").await;
        self.book_seat("b-a2", "a1", "north").await;
        let paid = self.book_seat("b-b", "B2", "north").await;
        let declined = self.book_seat("b-c", "C3", "south").await;
        self.post("/v1/sales/final/bookings", "b-d", json!({"code": "D4", "level": "north", "email": "x@example.org"})).await;
        let confirmed =
            self.post("/v1/sales/final/bookings", "b-d", json!({"code": "D4", "level": "north", "email": "dee@example.org"})).await;
        self.book_seat("b-e", "E5", "north").await;
        let kept = self.book_seat("b-e", "E5", "south").await;
        self.book_seat("b-f", "F6", "south").await;
        self.post("/v1/sales/final/caps", "caps", json!({"levels": [{"level": "north", "cap": 4}], "total_cap": 6})).await;
        self.post("/v1/sales/final/caps", "caps-2", json!({"total_cap": 1})).await;
        for (booking, act) in [(&paid, "pay"), (&declined, "decline")] {
            let page = path_of(&booking["state"]["payment_url"]);
            self.get(&page).await;
            self.post_with(&format!("{page}/{act}"), &[], "").await;
        }
        self.get("/sandbox/payments/final/final.9-9").await;
        let of = |booking: &Value| booking["result"]["booking"].as_str().expect("an id").to_owned();
        let payment = |booking: &Value| booking["state"]["payment"].clone();
        self.post(&format!("/v1/sales/final/bookings/{}/confirm", of(&confirmed)), "cf", json!({"payment": payment(&confirmed)})).await;
        self.post(&format!("/v1/sales/final/bookings/{}/confirm", of(&kept)), "cf-2", json!({"payment": payment(&paid)})).await;
        self.post(&format!("/v1/sales/final/bookings/{}/release", of(&declined)), "rl", json!({"payment": payment(&declined)})).await;
        self.post(&format!("/v1/sales/final/bookings/{}/release", of(&paid)), "rl-2", json!({})).await;
        for path in [
            "/v1/sales/final".to_owned(),
            "/v1/sales/final/bookings".to_owned(),
            format!("/v1/sales/final/bookings/{}", of(&paid)),
            format!("/v1/sales/final/bookings/{}?level=journaled", of(&declined)),
            "/v1/sales/final/acks/1-3?level=journaled".to_owned(),
            "/v1/sales/final/acks/1-999".to_owned(),
        ] {
            self.get(&path).await;
        }
        self.happen(Step::Later { ms: HOLD_MS + 1 }).await;
        self.happen(Step::ExpireHolds { bookings: vec![of(&kept)] }).await;
        self.get(&format!("/v1/sales/final/bookings/{}", of(&kept))).await;
        self.post("/v1/sales/final/open", "shut", json!({"open": false})).await;
        self.book_seat("b-g", "F6", "south").await;
    }

    async fn end(&mut self) {
        self.order("o-11", "ben", "BRA", "sell", 3).await;
        self.order("o-12", "bot-1", "FRA", "buy", 1).await;
    }

    async fn mistakes(&mut self) {
        self.post_with("/v1/markets/wc/orders", &[("content-type", "application/json")], "{}").await;
        self.post_with("/v1/markets/wc/orders", &[("idempotency-key", "x"), ("content-type", "text/plain")], "{}").await;
        self.post_with("/v1/markets/wc/orders", &[("idempotency-key", "x"), ("content-type", "application/json")], "{").await;
        self.post("/v1/markets/no where/orders", "x", json!({})).await;
        for path in ["/v1/markets/nowhere", "/v1/markets/wc?verbose=1", "/v1/sales/final/bookings/x", "/nowhere", "/v1/markets/wc/orders"] {
            self.get(path).await;
        }
    }

    async fn documents(&mut self) {
        for path in ["/healthz", "/readyz", "/metrics", "/errors/sale_full", "/errors/none", "/openapi.json"] {
            self.get(path).await;
        }
    }
}
