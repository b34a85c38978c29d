//! Heads that are refused before there is a request: their answer is a problem like every other, and ends the connection.

use nevertwice_server::config::Secret;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Answer, Ask, send_bytes};
use crate::house::House;

const ORDERS: &str = "/v1/markets/wc/orders";

fn order() -> String {
    json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1}).to_string()
}

fn refused(what: &str, answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}: {answer:?}");
    assert_eq!(answer.header("connection"), Some("close"), "{what}: {answer:?}");
    assert_eq!(answer.header("content-length"), Some(answer.text.len().to_string().as_str()), "{what}: {answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}: {answer:?}");
    assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")), "{what}: {answer:?}");
    assert!(answer.json()["detail"].as_str().is_some_and(|detail| detail.contains("Nothing was done")), "{what}: {answer:?}");
}

#[tokio::test]
async fn an_ill_formed_head_gets_a_problem() {
    let house = House::open().await.with_market().await;
    let head = |lines: &str| format!("POST {ORDERS} HTTP/1.1\r\nhost: localhost\r\nidempotency-key: k\r\n{lines}\r\n\r\n{}", order());
    let cases = [
        ("a first line without a path", "GET\r\n\r\n".to_owned()),
        ("a first line without a version", "GET /healthz\r\n\r\n".to_owned()),
        ("another version", "GET /healthz HTTP/3.0\r\nhost: localhost\r\n\r\n".to_owned()),
        ("no method", "G@T /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0".to_owned()),
        ("no HTTP at all", "\0\0\0\0\r\n\r\n".to_owned()),
        ("a header without a colon", head("content-type application/json")),
        ("a header's name with a space", head("content type: application/json")),
        ("two lengths that differ", head("content-length: 10\r\ncontent-length: 11")),
        ("no length", head("content-length: ten")),
        ("an encoding that is none", head("transfer-encoding: zip")),
    ];
    for (what, bytes) in &cases {
        refused(what, &send_bytes(house.addr, bytes.as_bytes()).await, 400, "head_malformed");
    }
    let counted = house.metric("nevertwice_requests_total{endpoint=\"unmatched\",outcome=\"head_malformed\"}").await;
    assert_eq!(counted, cases.len() as f64);
    assert_eq!(house.get("/v1/markets/wc/instruments/ARG").await.result()["net"], 0);
    assert_eq!(house.send(Ask::post(ORDERS, "k", order())).await.status, 201);
}

#[tokio::test]
async fn a_head_far_beyond_the_bounds_gets_a_problem() {
    let house = House::open().await.with_market().await;
    let ask = || Ask::post(ORDERS, "k", order());
    let many = (0..1_000).fold(ask(), |ask, number| ask.header(&format!("x-{number}"), "x"));
    let long = Ask::get(format!("/v1/markets/{}", "x".repeat(500_000)));
    for (what, ask) in [("a long header", ask().header("x-long", "x".repeat(500_000))), ("many lines", many), ("a long path", long)] {
        let answer = send_bytes(house.addr, &ask.bytes()).await;
        refused(what, &answer, 431, "headers_too_large");
        assert_eq!(answer.json()["figures"], json!({"headers_bytes_max": 16_384, "headers_max": 64}), "{what}");
    }
    assert_eq!(house.send(ask()).await.status, 201);
}

#[tokio::test]
async fn a_path_beyond_what_is_read_gets_a_problem() {
    let house = House::configured(|config| config.headers_bytes_max = 1 << 20).await;
    let answer = house.get(format!("/v1/markets/{}", "x".repeat(70_000))).await;
    refused("a long path", &answer, 414, "uri_too_long");
    assert_eq!(answer.json()["figures"]["uri_bytes_max"], 65_534);
}

/// Half a head that never becomes a whole one is answered, like half a body.
#[tokio::test]
async fn a_head_that_does_not_come_whole_in_time_gets_a_problem() {
    let house = House::configured(|config| config.request_read_ms = 50).await;
    for (what, bytes) in [
        ("a part of the first line", "GET /hea"),
        ("a first line", "GET /healthz HTTP/1.1\r\n"),
        ("all but its end", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n"),
    ] {
        refused(what, &send_bytes(house.addr, bytes.as_bytes()).await, 408, "request_timeout");
    }
    let whole = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
    stream.write_all(format!("{whole}GET /he").as_bytes()).await.expect("they can be sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.expect("the connection is ended in order");
    assert!(answers.starts_with("HTTP/1.1 200") && answers.contains("HTTP/1.1 408") && answers.ends_with('}'), "{answers}");
    let counted = house.metric("nevertwice_requests_total{endpoint=\"unmatched\",outcome=\"request_timeout\"}").await;
    assert_eq!(counted, 4.0);
    // Who asks nothing, or nothing more, is not answered: it would be taken for the answer to what is asked next.
    for bytes in ["", whole] {
        let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
        stream.write_all(bytes.as_bytes()).await.expect("it can be sent");
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.expect("the connection is ended in order");
        assert!(!answers.contains("408"), "{answers}");
    }
}

/// A whole URL in the first line is another way to name a host.
#[tokio::test]
async fn a_host_in_the_first_line_is_looked_at_as_well() {
    let house = House::open().await;
    let ask = |target: &str, host: &str| Ask::new("GET", target).without("host").header("host", host);
    for (target, host) in [
        ("http://other-host/v1/journal", "localhost"),
        ("http://other-host:8080/v1/journal", "127.0.0.1"),
        ("http://127.0.0.1.other-host/v1/journal", "localhost"),
        ("http://localhost/v1/journal", "other-host"),
    ] {
        assert_eq!(house.send(ask(target, host)).await.code(), "role_insufficient", "{target} {host}");
    }
    for target in ["http://localhost/v1/journal", "http://127.0.0.1:1/v1/journal", "http://[::1]/v1/journal", "/v1/journal"] {
        assert_eq!(house.send(ask(target, "localhost")).await.status, 200, "{target}");
    }
    // Where a key is needed, the name does not matter.
    let closed = House::configured(|config| config.operator_key = Some(Secret::new("operator-0123456789"))).await;
    let ask = ask("http://other-host/v1/journal", "other-host").header("authorization", "Bearer operator-0123456789");
    assert_eq!(closed.send(ask).await.status, 200);
}

/// What came whole before it on the same connection has its answers, in their order.
#[tokio::test]
async fn requests_before_an_ill_formed_head_have_their_answers() {
    let house = House::open().await.with_market().await;
    let mut bytes = Vec::new();
    for key in ["a", "b", "c"] {
        let ask = String::from_utf8(Ask::post(ORDERS, key, order()).bytes()).expect("ASCII");
        bytes.extend_from_slice(ask.replace("connection: close\r\n", "").as_bytes());
    }
    bytes.extend_from_slice(b"this is no request\r\n\r\n");
    let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
    stream.write_all(&bytes).await.expect("they can be sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.expect("the connection is ended in order");
    let statuses: Vec<&str> = answers.match_indices("HTTP/1.1 ").filter_map(|(at, _)| answers.get(at + 9..at + 12)).collect();
    assert_eq!(statuses, ["201", "201", "201", "400"], "{answers}");
    assert!(answers.ends_with('}') && answers.contains("\"code\":\"head_malformed\""), "{answers}");
}

/// A handler's answer is left alone, whatever it says, and the connection goes on after it.
#[tokio::test]
async fn what_a_handler_answers_is_not_touched() {
    let house = House::open().await;
    let bare = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let payment = bare.replace('/', "%2F").replace(' ', "%20").replace("\r\n", "%0D%0A");
    let page = house.get(format!("/sandbox/payments/final/{payment}")).await;
    assert!(page.status == 404 && page.text.contains(bare) && page.text.ends_with("</html>"), "{page:?}");
    let mut stream = TcpStream::connect(house.addr).await.expect("the server accepts");
    for _ in 0..2 {
        let head = Ask::get("/healthz").header("x-long", "x".repeat(17_000)).bytes();
        let head = String::from_utf8(head).expect("ASCII").replace("connection: close\r\n", "");
        stream.write_all(head.as_bytes()).await.expect("it can be sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"}}") {
            let mut piece = [0; 1024];
            let read = stream.read(&mut piece).await.expect("it can be read");
            assert!(read > 0, "the connection goes on: {}", answer.escape_ascii());
            answer.extend_from_slice(&piece[..read]);
        }
        let answer = String::from_utf8(answer).expect("UTF-8");
        assert!(answer.starts_with("HTTP/1.1 431") && !answer.contains("connection: close"), "{answer}");
    }
}
