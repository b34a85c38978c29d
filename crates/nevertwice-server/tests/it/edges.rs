//! Bounds, hang-ups, and the end of a server.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Ask, read_answer, send_and_hang_up, send_bytes};
use crate::house::{House, Plan, START_MS, eventually};

const ORDERS: &str = "/v1/markets/wc/orders";

fn order() -> String {
    json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}).to_string()
}

#[tokio::test]
async fn a_body_that_is_too_large() {
    let house = House::open().await.with_market().await;
    let padded = |bytes: usize| format!("{}{}", order(), " ".repeat(bytes - order().len()));
    assert_eq!(house.send(Ask::post(ORDERS, "a", padded(262_144))).await.status, 201);
    for bytes in [262_145, 1_000_000, 5_000_000] {
        let answer = house.send(Ask::post(ORDERS, "b", padded(bytes))).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
        assert_eq!(answer.json()["figures"]["body_bytes_max"], 262_144);
    }
    // Without a length said beforehand.
    let piece = format!("{:x}\r\n{}\r\n", 65_536, " ".repeat(65_536));
    let head = format!(
        "POST {ORDERS} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nidempotency-key: b\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let chunked = format!("{head}{}0\r\n\r\n", piece.repeat(5));
    assert_eq!(send_bytes(house.addr, chunked.as_bytes()).await.code(), "body_too_large");
    let order = order();
    let (first, second) = order.split_at(10);
    let chunked = format!("{head}{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", first.len(), second.len());
    assert_eq!(send_bytes(house.addr, chunked.as_bytes()).await.status, 201);
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_and_never_comes_is_too_large_all_the_same() {
    let house = House::configured(|config| config.request_read_ms = 50).await.with_market().await;
    for expect in ["", "expect: 100-continue\r\n"] {
        let head = format!(
            "POST {ORDERS} HTTP/1.1\r\nhost: localhost\r\nidempotency-key: a\r\ncontent-type: application/json\r\ncontent-length: 3000000\r\n{expect}\r\n"
        );
        let answer = send_bytes(house.addr, head.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"), "{expect}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large() {
    let house = House::open().await.with_market().await;
    let ask = || Ask::post(ORDERS, "a", order());
    let answer = house.send(ask().header("x-long", "x".repeat(17_000))).await;
    assert_eq!((answer.status, answer.code().as_str()), (431, "headers_too_large"));
    let many = (0..70).fold(ask(), |ask, number| ask.header(&format!("x-{number}"), "x"));
    assert_eq!(house.send(many).await.code(), "headers_too_large");
    let long = Ask::get(format!("/v1/markets/{}", "x".repeat(17_000)));
    assert_eq!(house.send(long).await.code(), "headers_too_large");
    assert_eq!(house.send(ask()).await.status, 201);
}

#[tokio::test]
async fn a_body_that_does_not_arrive() {
    let house = House::configured(|config| config.request_read_ms = 50).await.with_market().await;
    let head = format!(
        "POST {ORDERS} HTTP/1.1\r\nhost: localhost\r\nidempotency-key: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    let answer = send_bytes(house.addr, head.as_bytes()).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "request_timeout"));
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 0);
}

#[tokio::test]
async fn an_order_is_placed_although_its_sender_hung_up() {
    let house = House::open().await.with_market().await;
    for number in 0..20 {
        send_and_hang_up(house.addr, &Ask::post(ORDERS, &format!("h{number}"), order())).await;
    }
    eventually("all orders are there", async || (house.get("/v1/markets/wc/instruments/ARG").await.result()["net"] == 20).then_some(()))
        .await;
    for number in 0..20 {
        assert_eq!(house.send(Ask::post(ORDERS, &format!("h{number}"), order())).await.status, 200);
    }
}

#[tokio::test]
async fn a_booking_goes_on_to_its_payment_although_its_sender_hung_up() {
    let house = House::open().await.with_sale().await;
    let body = json!({"code": "A1", "level": "north"}).to_string();
    send_and_hang_up(house.addr, &Ask::post("/v1/sales/final/bookings", "a", &body)).await;
    let payable = eventually("the booking can be paid", async || {
        let rival = house.book("other", "A1", "north").await;
        (rival.status == 409).then(|| rival.json()["figures"]["booking"].clone())
    })
    .await;
    assert!(payable["payment_url"].is_string(), "{payable}");
    let replay = house.book("a", "A1", "north").await;
    assert_eq!((replay.status, &replay.json()["state"]), (200, &payable));
}

#[tokio::test]
async fn many_requests_on_one_connection() {
    let house = House::open().await.with_market().await;
    let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
    let mut bytes = Vec::new();
    for number in 0..50 {
        let ask = String::from_utf8(Ask::post(ORDERS, &format!("p{number}"), order()).bytes()).expect("ASCII");
        bytes.extend_from_slice(ask.replace("connection: close\r\n", "").as_bytes());
    }
    bytes.extend_from_slice(&Ask::get("/healthz").bytes());
    stream.write_all(&bytes).await.expect("they can be sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.expect("they can be read");
    assert_eq!(answers.matches("HTTP/1.1 201 Created").count(), 50, "{answers}");
}

#[tokio::test]
async fn more_requests_than_may_be_under_way() {
    let house = House::configured(|config| {
        config.requests_max = 1;
        config.request_wait_ms = 50;
    })
    .await
    .with_market()
    .await;
    // One request holds the only place, waiting for the rest of its body.
    let mut slow = TcpStream::connect(house.addr).await.expect("the server accepts");
    let bytes = Ask::post(ORDERS, "slow", order()).bytes();
    let (first, rest) = bytes.split_at(bytes.len() - 5);
    slow.write_all(first).await.expect("it can be sent");
    let refused = eventually("the place is taken", async || {
        let answer = house.get("/openapi.json").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert_eq!(refused.code(), "overloaded");
    // Whoever asks whether the server lives is told, whatever it has to do.
    assert_eq!((house.get("/healthz").await.status, house.get("/readyz").await.status), (200, 200));
    slow.write_all(rest).await.expect("it can be sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.expect("it can be read");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(house.get("/openapi.json").await.status, 200);
}

#[tokio::test]
async fn a_server_that_stops_finishes_what_is_under_way() {
    let house = House::open().await.with_market().await;
    let (addr, backend) = (house.addr, house.backend.clone());
    // A request whose body is not there yet is under way.
    let mut slow = TcpStream::connect(addr).await.expect("the server accepts");
    let bytes = Ask::post(ORDERS, "slow", order()).bytes();
    let (first, rest) = bytes.split_at(bytes.len() - 5);
    slow.write_all(first).await.expect("it can be sent");
    // An idle connection holds nothing up.
    let idle = TcpStream::connect(addr).await.expect("the server accepts");
    eventually("the request is under way", async || (house.metric("nevertwice_requests_under_way").await >= 2.0).then_some(())).await;
    let closing = tokio::spawn(house.close());
    eventually("nothing new is accepted", async || TcpStream::connect(addr).await.is_err().then_some(())).await;
    assert!(!closing.is_finished());
    slow.write_all(rest).await.expect("it can be sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.expect("it can be read");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    tokio::time::timeout(Duration::from_secs(5), closing).await.expect("it ends in time").expect("it ends well");
    drop((idle, backend));
}

/// A request whose body never comes is answered before its connection is closed, not just cut.
#[tokio::test]
async fn a_body_that_never_comes_is_answered_when_the_server_stops() {
    let house = House::configured(|config| config.drain_ms = 0).await.with_market().await;
    let addr = house.addr;
    let mut slow = TcpStream::connect(addr).await.expect("the server accepts");
    let bytes = String::from_utf8(Ask::post(ORDERS, "slow", order()).bytes()).expect("ASCII").replace("connection: close\r\n", "");
    slow.write_all(&bytes.as_bytes()[..bytes.len() - 5]).await.expect("it can be sent");
    // A batch reads its body in the same way.
    let mut batch = TcpStream::connect(addr).await.expect("the server accepts");
    let head = format!(
        "POST {ORDERS}/batch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    batch.write_all(head.as_bytes()).await.expect("it can be sent");
    eventually("both are under way", async || (house.metric("nevertwice_requests_under_way").await >= 3.0).then_some(())).await;
    let folder = house.close().await;
    for stream in [slow, batch] {
        let answer = read_answer(stream).await;
        assert_eq!((answer.status, answer.code().as_str()), (503, "shutting_down"), "{answer:?}");
        assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
    }
    // What was told so did not happen.
    let house = House::on(Plan::default(), folder, START_MS).await;
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 0);
}

/// An answer goes out when it is there, whatever bytes follow the request: an empty line as old clients send it, or the
/// beginning of the next request.
#[tokio::test]
async fn an_answer_does_not_wait_for_what_follows_its_request() {
    let house = House::open().await.with_market().await;
    for (key, more) in [("crlf", &b"\r\n"[..]), ("next", b"GET /hea"), ("junk", b"\0\0\0\0")] {
        let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}).to_string();
        let ask = String::from_utf8(Ask::post(ORDERS, key, order).bytes()).expect("ASCII");
        let mut bytes = ask.replace("connection: close\r\n", "").into_bytes();
        bytes.extend_from_slice(more);
        let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
        stream.write_all(&bytes).await.expect("the request can be written");
        let mut head = [0; 12];
        tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut head)).await.expect("it is answered").expect("it is answered");
        assert_eq!(&head, b"HTTP/1.1 201", "{key}");
    }
}
