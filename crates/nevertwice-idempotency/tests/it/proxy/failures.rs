//! Upstreams that can't be reached, die, or take too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nevertwice_idempotency::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::house::House;
use super::upstream::{Upstream, raw};
use super::wire::{answer, ask, is_closed, post, request, write};

/// Reads a request whole, if there is one.
async fn take(stream: &mut TcpStream) -> Option<()> {
    let mut seen = Vec::new();
    loop {
        let byte = stream.read_u8().await.ok()?;
        seen.push(byte);
        if seen.ends_with(b"\r\n\r\n{}") {
            return Some(());
        }
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn an_upstream_that_takes_no_connection_frees_the_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let house = House::before(address).await;
    let refused = ask(house.address, post("/charges", "k", "{}")).await;
    assert_eq!((refused.status, refused.code().as_str()), (502, "upstream_unreachable"));
    assert_eq!((refused.header("retry-after"), refused.header("idempotency-effect")), (Some("1"), None));
    assert_eq!(house.outcomes(), [Outcome::Freed]);
    assert_eq!(house.counts.unreachable.get(), 1);
    // It comes up, and the same key runs.
    let upstream = Upstream::at(address);
    let listener = TcpListener::bind(address).await.expect("the port is still free");
    tokio::spawn(axum::serve(listener, upstream.router()).into_future());
    assert_eq!(ask(house.address, post("/charges", "k", "{}")).await.text(), "charge 1");
}

#[tokio::test]
async fn an_upstream_that_dies_with_a_request_in_hand_leaves_it_unknown_and_gets_it_once() {
    // Before it answers, within the head of its answer, within the body, and with something that is no HTTP.
    for (partial, status, code) in [
        (&b""[..], 502, "upstream_lost"),
        (b"HTTP/1.1 200 OK\r\ncontent", 502, "upstream_lost"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", 503, "outcome_unknown"),
        (b"nonsense\r\n\r\n", 502, "upstream_lost"),
    ] {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let address = raw(move |_, mut stream| {
            let counted = counted.clone();
            async move {
                if take(&mut stream).await.is_some() {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(partial).await;
                }
            }
        });
        let house = House::before(address.await).await;
        let lost = ask(house.address, post("/charges", "k", "{}")).await;
        assert_eq!((lost.status, lost.code().as_str()), (status, code));
        assert_eq!(house.outcomes(), [Outcome::Unknown]);
        let again = ask(house.address, post("/charges", "k", "{}")).await;
        assert_eq!(again.code(), "outcome_unknown");
        assert_eq!(requests.load(Ordering::SeqCst), 1, "it was sent once");
    }
}

#[tokio::test]
async fn a_kept_connection_that_dies_with_a_request_is_not_tried_again() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    // Each connection answers once, and dies with its second request in hand.
    let address = raw(move |_, mut stream| {
        let counted = counted.clone();
        async move {
            if take(&mut stream).await.is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(OK).await;
            }
            if take(&mut stream).await.is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let house = House::before(address.await).await;
    let mut sent = 0;
    // Whether a connection is at rest already when the next request comes is a matter of luck: until one was.
    let lost = loop {
        let told = ask(house.address, post("/charges", &format!("k{sent}"), "{}")).await;
        sent += 1;
        if told.status != 200 {
            break told;
        }
    };
    assert_eq!(lost.code(), "upstream_lost");
    assert!(sent > 1);
    assert_eq!(requests.load(Ordering::SeqCst), sent, "none was sent again");
    assert_eq!(house.outcomes().last(), Some(&Outcome::Unknown));
    assert_eq!(ask(house.address, post("/charges", "next", "{}")).await.text(), "ok");
}

#[tokio::test]
async fn a_connection_that_the_upstream_closed_at_rest_is_replaced() {
    let address = raw(|_, mut stream| async move {
        if take(&mut stream).await.is_some() {
            let _ = stream.write_all(OK).await;
        }
    });
    let house = House::before(address.await).await;
    for key in ["a", "b", "c", "d", "e"] {
        let told = ask(house.address, post("/charges", key, "{}")).await;
        // The end of the connection may cross the next request, which is then told, and never sent twice.
        assert!(told.status == 200 || told.code() == "upstream_lost", "{told:?}");
    }
}

#[tokio::test]
async fn an_upstream_that_takes_too_long_leaves_the_key_unknown() {
    let upstream = Upstream::start().await;
    let house = House::with_settings(upstream.address, "connect_ms = 900\nfirst_byte_ms = 1000").await;
    let late = ask(house.address, post("/gate", "k", "{}")).await;
    assert_eq!((late.status, late.code().as_str()), (504, "upstream_timeout"));
    assert_eq!(ask(house.address, post("/gate", "k", "{}")).await.code(), "outcome_unknown");
    assert_eq!(house.outcomes(), [Outcome::Unknown, Outcome::Lapsed]);
    let unguarded = ask(house.address, request("GET", "/gate", &[], "")).await;
    assert_eq!((unguarded.status, unguarded.code().as_str()), (504, "upstream_timeout"));
    assert_eq!(house.counts.timeouts.get(), 2);
}

#[tokio::test]
async fn an_answer_of_the_proxy_is_never_kept_for_the_upstreams() {
    // This contract keeps statuses from 500 on.
    let routes = "[[routes]]\nmethods = [\"POST\"]\npath = \"/{one}\"\npreset = \"stripe\"";
    let upstream = Upstream::start().await;
    let house = House::with(upstream.address, "connect_ms = 900\nfirst_byte_ms = 1000", routes).await;
    assert_eq!(ask(house.address, post("/gate", "k", "{}")).await.code(), "upstream_timeout");
    assert_eq!(ask(house.address, post("/gate", "k", "{}")).await.code(), "outcome_unknown");
}

#[tokio::test]
async fn an_answer_that_does_not_end_in_time_is_broken_off_and_unknown() {
    let upstream = Upstream::start().await;
    let house = House::with_settings(upstream.address, "connect_ms = 900\nfirst_byte_ms = 1000\nwhole_ms = 1100").await;
    let mut stream = write(house.address, post("/stream", "k", "{}")).await;
    let head = super::wire::head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(house.settled(1).await, [Outcome::Unknown]);
    assert!(is_closed(&mut stream).await);
    assert_eq!(ask(house.address, post("/stream", "k", "{}")).await.code(), "outcome_unknown");
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn an_answer_that_always_has_more_is_too_late_as_well() {
    // As fast as it is read, and without an end.
    let address = raw(|_, mut stream| async move {
        if take(&mut stream).await.is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
            while stream.write_all(chunk.as_bytes()).await.is_ok() {}
        }
    });
    let routes = "[[routes]]\nmethods = [\"POST\"]\npath = \"/{one}\"\nstored_bytes_max = 1000";
    let house = House::with(address.await, "connect_ms = 900\nfirst_byte_ms = 1000\nwhole_ms = 1100", routes).await;
    let mut stream = write(house.address, post("/charges", "k", "{}")).await;
    assert!(super::wire::head(&mut stream).await.starts_with("HTTP/1.1 200"));
    // The answer had begun, and was too large to be kept.
    assert_eq!(house.settled(1).await, [Outcome::Tombstone]);
    let mut taken = vec![0; 1 << 16];
    while !matches!(stream.read(&mut taken).await, Ok(0) | Err(_)) {}
    assert_eq!(ask(house.address, post("/charges", "k", "{}")).await.code(), "answer_not_kept");
}

#[tokio::test]
async fn a_proxy_that_stops_finishes_what_is_under_way_even_for_clients_that_left() {
    let upstream = Upstream::start().await;
    let mut house = House::before(upstream.address).await;
    let mut stays = write(house.address, post("/gate", "a", "{}")).await;
    let leaves = write(house.address, post("/gate", "b", "{}")).await;
    for _ in 0..2 {
        upstream.waits.acquire().await.expect("it comes").forget();
    }
    drop(leaves);
    house.stop();
    upstream.gate.add_permits(2);
    assert!(answer(&mut stays).await.text().starts_with("passed"));
    let heard = house.heard.clone();
    house.stopped().await;
    assert_eq!(*heard.0.lock().expect("nobody panics with it"), [Outcome::Fresh, Outcome::Fresh]);
    assert_eq!(upstream.effects(), 2);
}
