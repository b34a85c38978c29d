//! Bounds of callers: how often, how much at once, and whose turn it is.

use std::fmt::Write as _;

use nevertwice_server::Config;
use nevertwice_server::config::Secret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::callers::{OPERATOR, SERVICE};
use crate::client::{Answer, Ask};
use crate::house::{House, Plan, eventually};

const ORDERS: &str = "/v1/markets/wc/orders";

fn by_operator(ask: Ask) -> Ask {
    ask.header("authorization", format!("Bearer {OPERATOR}"))
}

pub(crate) fn by_service(ask: Ask, principal: &str) -> Ask {
    ask.header("authorization", format!("Bearer {SERVICE}")).header("principal", principal)
}

/// A server with two keys and a market.
async fn guarded(change: impl FnOnce(&mut Config)) -> House {
    let mut plan = Plan::default();
    change(&mut plan.config);
    guarded_by(plan).await
}

/// The same with more than other settings.
pub(crate) async fn guarded_by(mut plan: Plan) -> House {
    plan.config.operator_key = Some(Secret::new(OPERATOR));
    plan.config.service_key = Some(Secret::new(SERVICE));
    let house = House::with(plan).await;
    let limits = json!({"quantity_max": 1_000, "holding_max": 1_000_000, "house_loss_max": 10_000_000});
    for (key, path, body) in [
        ("1", "/v1/markets", json!({"market": "wc", "decimals": 2, "fee_bps": 0, "limits": limits, "mode": "open"})),
        ("2", "/v1/markets/wc/instruments", json!({"instrument": "ARG", "base": 1_000, "slope": 0})),
        ("3", "/v1/markets/wc/accounts", json!({"account": "ann", "opening_balance": 1_000_000})),
    ] {
        house.send(by_operator(Ask::post(path, key, body.to_string()))).await.result();
    }
    house
}

pub(crate) fn order(key: &str) -> Ask {
    Ask::post(ORDERS, key, json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}).to_string())
}

async fn place(house: &House, key: &str, principal: &str) -> Answer {
    house.send(by_service(order(key), principal)).await
}

async fn net(house: &House) -> Value {
    house.send(by_operator(Ask::get("/v1/markets/wc/instruments/ARG"))).await.result()["net"].clone()
}

/// A request that is under way until the rest of it is sent.
pub(crate) struct Slow {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Slow {
    pub(crate) async fn begin(house: &House, ask: Ask) -> Self {
        let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
        let bytes = ask.bytes();
        let (first, rest) = bytes.split_at(bytes.len() - 5);
        stream.write_all(first).await.expect("it can be sent");
        Self { stream, rest: rest.to_vec() }
    }

    pub(crate) async fn end(mut self) -> String {
        self.stream.write_all(&self.rest).await.expect("it can be sent");
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.expect("it can be read");
        answer
    }
}

#[tokio::test]
async fn a_principal_that_asks_too_often_waits_and_others_do_not() {
    let house = guarded(|config| (config.rate_per_principal, config.burst_per_principal) = (1, 2)).await;
    assert_eq!((place(&house, "a", "ann").await.status, place(&house, "b", "ann").await.status), (201, 201));
    let refused = place(&house, "c", "ann").await;
    assert_eq!((refused.status, refused.code().as_str(), refused.header("retry-after")), (429, "rate_limited", Some("1")));
    let figures = &refused.json()["figures"];
    assert_eq!((&figures["limit"], &figures["retry_after_ms"]), (&json!("principal"), &json!(1_000)));
    // A replay is a request as well.
    assert_eq!(place(&house, "a", "ann").await.code(), "rate_limited");
    assert_eq!(place(&house, "c", "bob").await.status, 201);
    for key in ["d", "e", "f"] {
        assert_eq!(house.send(by_operator(order(key))).await.status, 201, "the operator is not bounded");
    }
    assert_eq!(net(&house).await, 6, "what was refused was not done");
    house.later(999);
    assert_eq!(place(&house, "c", "ann").await.code(), "rate_limited");
    house.later(1);
    assert_eq!(place(&house, "c", "ann").await.status, 201, "and its key is free");
    assert_eq!(net(&house).await, 7);
}

#[tokio::test]
async fn a_key_that_asks_too_often_waits_whoever_it_asks_for() {
    let house = guarded(|config| (config.rate_per_key, config.burst_per_key) = (2, 3)).await;
    for (key, principal) in [("a", "ann"), ("b", "bob"), ("c", "cid")] {
        assert_eq!(place(&house, key, principal).await.status, 201);
    }
    let refused = place(&house, "d", "dee").await;
    assert_eq!((refused.code().as_str(), &refused.json()["figures"]["limit"]), ("rate_limited", &json!("key")));
    house.later(500);
    assert_eq!(place(&house, "d", "dee").await.status, 201);
    // A batch counts as many as it has lines, and is let in whole or not at all.
    let line = |key: &str| json!({"key": key, "order": {"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}}).to_string();
    let batch = ["e", "f", "g", "h", "i"].map(line).join("\n");
    let batch = || Ask::new("POST", format!("{ORDERS}/batch")).header("content-type", "application/x-ndjson").body(&batch);
    assert_eq!(house.send(by_service(batch(), "ann")).await.code(), "rate_limited");
    house.later(1_000);
    assert_eq!(house.send(by_service(batch(), "ann")).await.text.matches("\"status\":201").count(), 5);
    house.later(1_999);
    assert_eq!(place(&house, "j", "ann").await.code(), "rate_limited", "what went beyond the burst is waited for");
    house.later(1);
    assert_eq!(place(&house, "j", "ann").await.status, 201);
}

#[tokio::test]
async fn a_line_of_a_batch_is_bounded_by_its_own_principal() {
    let house = guarded(|config| (config.rate_per_principal, config.burst_per_principal) = (1, 2)).await;
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let mut lines = String::new();
    for (key, principal) in [("a", "ann"), ("b", "bob"), ("c", "ann"), ("d", "ann"), ("e", "bob"), ("f", "ann")] {
        writeln!(lines, "{}", json!({"key": key, "principal": principal, "order": order})).expect("it can be written");
    }
    let batch = Ask::new("POST", format!("{ORDERS}/batch")).header("content-type", "application/x-ndjson").body(lines);
    let answer = house.send(by_service(batch, "web")).await;
    let statuses: Vec<Value> =
        answer.text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["status"].clone()).collect();
    assert_eq!(statuses, [201, 201, 201, 429, 201, 429]);
    assert!(answer.text.contains("\"code\":\"rate_limited\"") && answer.text.contains("\"retry_after_ms\":1000"), "{}", answer.text);
    assert_eq!(net(&house).await, 4);
}

#[tokio::test]
async fn an_address_is_the_clients_only_behind_a_trusted_proxy() {
    let from = |ask: Ask, address: &str| ask.header("x-forwarded-for", address);
    let change = |config: &mut Config| (config.rate_per_address, config.burst_per_address) = (1, 2);
    let house = House::configured(change).await;
    let status = async |address: &str| house.send(from(Ask::get("/no/such/path"), address)).await.status;
    assert_eq!((status("1.1.1.1").await, status("2.2.2.2").await), (404, 404));
    let refused = house.send(from(Ask::get("/healthz"), "3.3.3.3")).await;
    assert_eq!((refused.code().as_str(), &refused.json()["figures"]["limit"]), ("rate_limited", &json!("address")));
    let house = House::configured(|config| {
        change(config);
        config.trusted_proxies = "127.0.0.0/8".parse().expect("networks");
    })
    .await;
    let status = async |address: &str| house.send(from(Ask::get("/no/such/path"), address)).await.status;
    assert_eq!((status("1.1.1.1").await, status("1.1.1.1").await, status("1.1.1.1").await), (404, 404, 429));
    assert_eq!((status("2.2.2.2").await, status("1.1.1.1, 2.2.2.2").await, status("1.1.1.1, 2.2.2.2").await), (404, 404, 429));
    house.later(1_000);
    assert_eq!(status("1.1.1.1").await, 404);
}

#[tokio::test]
async fn so_many_at_once_for_each_principal_key_and_address() {
    for (limit, change, neighbour) in [
        ("principal", (|config| config.in_flight_per_principal_max = 1) as fn(&mut Config), Some("bob")),
        ("key", |config| config.in_flight_per_key_max = 1, None),
        ("address", |config| config.in_flight_per_address_max = 1, None),
    ] {
        let house = guarded(change).await;
        let slow = Slow::begin(&house, by_service(order("slow"), "ann")).await;
        let refused = eventually("the place is taken", async || {
            let answer = house.send(by_service(Ask::get("/v1/markets/wc"), "ann")).await;
            (answer.status != 200).then_some(answer)
        })
        .await;
        assert_eq!((refused.status, refused.code().as_str()), (429, "in_flight_limited"));
        let figures = &refused.json()["figures"];
        assert_eq!((&figures["limit"], &figures["in_flight_max"]), (&json!(limit), &json!(1)));
        if let Some(neighbour) = neighbour {
            assert_eq!(place(&house, "b", neighbour).await.status, 201, "{limit}");
        }
        assert_eq!(house.send(by_operator(order("o"))).await.status, 201, "{limit}: the operator is not bounded");
        assert!(slow.end().await.starts_with("HTTP/1.1 201"), "{limit}");
        assert_eq!(place(&house, "c", "ann").await.status, 201, "{limit}");
    }
}

#[tokio::test]
async fn a_full_server_lets_callers_wait_and_operators_in() {
    let house = guarded(|config| {
        (config.requests_max, config.requests_reserved_percent) = (2, 50);
        config.request_wait_ms = 10_000;
    })
    .await;
    let slow = Slow::begin(&house, by_service(order("slow"), "ann")).await;
    eventually("it is under way", async || (metric(&house, "nevertwice_requests_under_way").await >= 2.0).then_some(())).await;
    let waiting = {
        let ask = by_service(order("waits"), "bob");
        let addr = house.addr;
        tokio::spawn(async move { crate::client::send(addr, &ask).await })
    };
    eventually("it waits", async || (metric(&house, "nevertwice_requests_waiting").await >= 1.0).then_some(())).await;
    assert_eq!(house.send(by_operator(order("o"))).await.status, 201);
    assert!(!waiting.is_finished());
    assert!(slow.end().await.starts_with("HTTP/1.1 201"));
    assert_eq!(waiting.await.expect("it ends well").status, 201);
    assert_eq!(net(&house).await, 3);
}

pub(crate) async fn metric(house: &House, name: &str) -> f64 {
    let text = house.send(by_operator(Ask::get("/metrics"))).await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name}: {text}"));
    line.trim().parse().expect("a number")
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let house = guarded(|config| config.connections_per_address_max = 2).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it can be sent");
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.expect("it is answered");
        open.push(stream);
    }
    let mut third = TcpStream::connect(house.addr).await.expect("the system accepts");
    let mut answer = Vec::new();
    let _ = third.read_to_end(&mut answer).await;
    assert!(answer.is_empty(), "it is closed without an answer");
    drop(open);
    eventually("there is room again", async || {
        let mut stream = TcpStream::connect(house.addr).await.ok()?;
        let ask = by_operator(Ask::get("/metrics")).bytes();
        let mut answer = Vec::new();
        stream.write_all(&ask).await.ok()?;
        let _ = stream.read_to_end(&mut answer).await;
        let text = String::from_utf8_lossy(&answer).into_owned();
        text.contains("nevertwice_connections_refused_total ").then_some(())
    })
    .await;
}
