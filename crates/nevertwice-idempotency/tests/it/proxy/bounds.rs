//! What strangers can't make grow.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::house::{House, until};
use super::upstream::{Upstream, raw};
use super::wire::{answer, ask, head, post, request, write};

const ECHO: &str = "\n[[routes]]\nmethods = [\"POST\"]\npath = \"/{one}\"\nrequest_bytes_max = 4000000\nstored_bytes_max = 1000";

fn upload(key: &str, length: usize) -> String {
    let head = "POST /echo HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer ann";
    format!("{head}\r\nidempotency-key: {key}\r\ncontent-length: {length}\r\n\r\n")
}

#[tokio::test]
async fn bodies_that_come_slowly_lie_in_bounded_memory_and_then_in_files() {
    const BODIES: usize = 100;
    const LENGTH: usize = 10_000;
    const HALF: u64 = 5_000;
    const MEMORY: u64 = 100_000;
    let upstream = Upstream::start().await;
    let settings = format!("[bodies]\none_in_memory_bytes_max = 20000\nmemory_bytes_max = {MEMORY}\ndisk_bytes_max = 2000000");
    let house = House::with(upstream.address, &settings, ECHO).await;
    let mut streams: Vec<TcpStream> = Vec::new();
    for number in 0..BODIES {
        let mut stream = write(house.address, upload(&format!("k{number}"), LENGTH)).await;
        stream.write_all(&[b'a'; LENGTH / 2]).await.expect("it is taken");
        streams.push(stream);
    }
    // Everything that has come lies somewhere, and memory holds no more than it may.
    until(|| {
        let (memory, disk) = house.bodies();
        assert!(memory <= MEMORY);
        memory + disk >= BODIES as u64 * HALF
    })
    .await;
    let (memory, disk) = house.bodies();
    assert!(memory > 0 && disk >= BODIES as u64 * HALF - MEMORY, "{memory} in memory, {disk} in files");
    for stream in &mut streams {
        stream.write_all(&[b'b'; LENGTH / 2]).await.expect("it is taken");
        let told = answer(stream).await;
        assert_eq!((told.status, told.body.len()), (200, LENGTH));
        assert!(told.body.starts_with(b"aaaa") && told.body.ends_with(b"bbbb"));
    }
    until(|| house.bodies() == (0, 0)).await;
}

#[tokio::test]
async fn a_body_that_lies_in_a_file_reaches_the_upstream_whole_and_is_compared_by_its_meaning() {
    let upstream = Upstream::start().await;
    let house = House::with(upstream.address, "[bodies]\none_in_memory_bytes_max = 100", ECHO).await;
    let body = format!("{{\"a\": \"{}\", \"b\": 1}}", "x".repeat(300_000));
    let told = ask(house.address, post("/echo", "k", &body)).await;
    assert!(told.status == 200 && told.body == body.as_bytes());
    let other_order = format!("{{\"b\":1,\"a\":\"{}\"}}", "x".repeat(300_000));
    assert_eq!(ask(house.address, post("/echo", "k", &other_order)).await.code(), "answer_not_kept");
    let other = body.replace("\"b\": 1", "\"b\": 2");
    assert_eq!(ask(house.address, post("/echo", "k", &other)).await.code(), "fingerprint_mismatch");
}

#[tokio::test]
async fn a_body_is_refused_when_it_is_too_large_or_there_is_no_room() {
    let upstream = Upstream::start().await;
    let settings = "[bodies]\none_in_memory_bytes_max = 100\ndisk_bytes_max = 1000";
    let house = House::with(upstream.address, settings, ECHO).await;
    assert_eq!(ask(house.address, upload("k", 4_000_001)).await.code(), "body_too_large");
    let full = ask(house.address, post("/echo", "k", &"x".repeat(1_001))).await;
    assert_eq!((full.status, full.code().as_str(), full.header("retry-after")), (503, "overloaded", Some("1")));
    assert_eq!(ask(house.address, post("/echo", "k", &"x".repeat(999))).await.status, 200);
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_neither_the_key_nor_memory() {
    // The upstream writes as much as it can.
    let address = raw(|_, mut stream| async move {
        let _ = head(&mut stream).await;
        // A connection that is closed with something unread in it loses what was written.
        let _ = stream.read_exact(&mut [0; 2]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
        for _ in 0..1_000 {
            if stream.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
        let _ = stream.write_all(b"0\r\n\r\n").await;
    });
    let house = House::with(address.await, "", ECHO).await;
    let mut stream = write(house.address, post("/echo", "k", "{}")).await;
    // The key is settled though nobody reads.
    house.settled(1).await;
    assert_eq!(ask(house.address, post("/echo", "k", "{}")).await.code(), "answer_not_kept");
    let told = answer(&mut stream).await;
    assert_eq!(told.body.len(), 1_000 << 16, "and what it did not read was not lost");
}

#[tokio::test]
async fn requests_beyond_the_most_are_refused_and_places_come_back() {
    let upstream = Upstream::start().await;
    let house = House::with_settings(upstream.address, "requests_max = 2").await;
    let mut first = write(house.address, post("/gate", "a", "{}")).await;
    let second = write(house.address, post("/gate", "b", "{}")).await;
    for _ in 0..2 {
        upstream.waits.acquire().await.expect("it comes").forget();
    }
    let refused = ask(house.address, request("GET", "/open/headers", &[], "")).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    // A client that has left still holds a place: its request is worked on.
    drop(second);
    assert_eq!(ask(house.address, request("GET", "/open/headers", &[], "")).await.status, 503);
    upstream.gate.add_permits(2);
    assert_eq!(answer(&mut first).await.status, 200);
    drop(first);
    house.settled(2).await;
    until(|| house.counts.refused.get() == 2).await;
    loop {
        if ask(house.address, request("GET", "/open/headers", &[], "")).await.status == 200 {
            break;
        }
    }
}
