//! What passes unguarded: as it comes, in both directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::house::{House, until};
use super::upstream::{Upstream, raw};
use super::wire::{answer, ask, chunk, head, is_closed, line, post, request, write};

#[tokio::test]
async fn bodies_pass_as_they_come_in_both_directions() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let mut stream = write(house.address, "POST /open/echo HTTP/1.1\r\nhost: shop\r\ntransfer-encoding: chunked\r\n\r\n").await;
    for piece in ["one", "two", "three"] {
        stream.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await.expect("it is taken");
        if piece == "one" {
            assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
        }
        // The answer comes before the request has ended.
        assert_eq!(chunk(&mut stream).await.expect("there is more"), piece.as_bytes());
    }
    stream.write_all(b"0\r\n\r\n").await.expect("it is taken");
    assert_eq!(chunk(&mut stream).await, None);
}

#[tokio::test]
async fn a_guarded_answer_passes_as_it_comes_and_is_kept() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let mut stream = write(house.address, post("/stream", "k", "{}")).await;
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    let mut sender = upstream.stream.lock().expect("nobody panics with it").take().expect("the handler ran");
    for piece in ["one", "two"] {
        sender.send_data(piece.into()).await.expect("somebody reads");
        assert_eq!(chunk(&mut stream).await.expect("there is more"), piece.as_bytes());
    }
    assert_eq!(ask(house.address, post("/stream", "k", "{}")).await.code(), "key_in_progress");
    drop(sender);
    assert_eq!(chunk(&mut stream).await, None);
    let again = ask(house.address, post("/stream", "k", "{}")).await;
    assert_eq!((again.text(), again.is_replay()), ("onetwo", true));
}

#[tokio::test]
async fn a_body_without_a_length_passes_with_every_method() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    for method in ["GET", "PUT", "DELETE", "OPTIONS"] {
        let asked =
            format!("{method} /open/echo HTTP/1.1\r\nhost: shop\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{{\"q\":1}}\r\n0\r\n\r\n");
        assert_eq!(ask(house.address, asked).await.text(), "{\"q\":1}", "{method}");
    }
}

#[tokio::test]
async fn a_length_beside_a_transfer_coding_shifts_no_answer_behind_it() {
    for length in ["2", "100"] {
        let address = raw(move |_, mut stream| async move {
            head(&mut stream).await;
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n7\r\nok-EVIL\r\n0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        });
        let house = House::before(address.await).await;
        let mut stream = write(house.address, post("/charges", "k", "{}")).await;
        assert_eq!(answer(&mut stream).await.text(), "ok-EVIL");
        for _ in 0..2 {
            stream.write_all(post("/charges", "k", "{}").as_ref()).await.expect("it is taken");
            let again = answer(&mut stream).await;
            assert_eq!((again.text(), again.header("content-length"), again.is_replay()), ("ok-EVIL", Some("7"), true));
        }
    }
}

#[tokio::test]
async fn a_host_that_is_none_is_refused() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    for host in ["a b/c", "h,evil", "user@shop"] {
        let refused = ask(house.address, format!("GET /open/headers HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "head_malformed"), "{host}");
    }
}

#[tokio::test]
async fn an_answer_of_many_header_lines_passes() {
    let address = raw(|_, mut stream| async move {
        head(&mut stream).await;
        let lines: String = (0..300).map(|number| format!("x-{number}: {number}\r\n")).collect();
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{lines}content-length: 2\r\n\r\nok").as_bytes()).await;
    });
    let house = House::before(address.await).await;
    let told = ask(house.address, request("GET", "/open/x", &[], "")).await;
    assert_eq!((told.text(), told.header("x-299")), ("ok", Some("299")));
}

#[tokio::test]
async fn trailers_pass() {
    let address = raw(|_, mut stream| async move {
        let seen = head(&mut stream).await;
        let trailers = if seen.contains("transfer-encoding: chunked") {
            while line(&mut stream).await != "0" {}
            line(&mut stream).await
        } else {
            String::new()
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-end: got {trailers}\r\n\r\n"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    });
    let house = House::before(address.await).await;
    let asked = "POST /open/x HTTP/1.1\r\nhost: shop\r\nte: trailers\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nx-sum: 7\r\n\r\n";
    let mut stream = write(house.address, asked).await;
    let head = head(&mut stream).await;
    assert!(head.contains("trailer: x-end"), "{head}");
    assert_eq!((line(&mut stream).await, line(&mut stream).await, line(&mut stream).await), ("4".into(), "body".into(), "0".into()));
    assert_eq!(line(&mut stream).await, "x-end: got x-sum: 7");
}

#[tokio::test]
async fn a_connection_may_change_to_another_protocol() {
    let address = raw(|_, mut stream| async move {
        let seen = head(&mut stream).await;
        assert!(seen.contains("connection: upgrade") && seen.contains("upgrade: chat"), "{seen}");
        let _ = stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\nsec-accept: 1\r\n\r\nhello")
            .await;
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.expect("it comes");
        assert_eq!(&word, b"ping");
        let _ = stream.write_all(b"pong").await;
    });
    let house = House::before(address.await).await;
    let mut stream =
        write(house.address, "GET /open/chat HTTP/1.1\r\nhost: shop\r\nconnection: keep-alive, Upgrade\r\nupgrade: chat\r\n\r\n").await;
    let head = head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("upgrade: chat") && head.contains("sec-accept: 1"), "{head}");
    let mut word = [0; 5];
    stream.read_exact(&mut word).await.expect("it comes");
    assert_eq!(&word, b"hello");
    stream.write_all(b"ping").await.expect("it is taken");
    let mut word = [0; 4];
    stream.read_exact(&mut word).await.expect("it comes");
    assert_eq!(&word, b"pong");
    assert!(is_closed(&mut stream).await);
    assert_eq!(house.counts.switched.get(), 1);
}

#[tokio::test]
async fn connections_that_changed_their_protocol_are_bounded_and_places_come_back() {
    let upgrades = Arc::new(AtomicUsize::new(0));
    let counted = upgrades.clone();
    let address = raw(move |_, mut stream| {
        let counted = counted.clone();
        async move {
            let _ = head(&mut stream).await;
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n").await;
            let _ = stream.read_u8().await;
        }
    });
    let house = House::with_settings(address.await, "connections_max = 2").await;
    let asked = "GET /open/chat HTTP/1.1\r\nhost: shop\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
    let mut changed = Vec::new();
    for _ in 0..2 {
        let mut stream = write(house.address, asked).await;
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 101"));
        changed.push(stream);
    }
    let refused = ask(house.address, asked).await;
    assert_eq!((refused.status, refused.code().as_str(), refused.header("retry-after")), (503, "overloaded", Some("1")));
    assert_eq!((upgrades.load(Ordering::SeqCst), house.counts.refused.get()), (2, 1), "the upstream was not asked");
    // Those that end give their places back.
    drop(changed);
    loop {
        let mut stream = write(house.address, asked).await;
        if head(&mut stream).await.starts_with("HTTP/1.1 101") {
            break;
        }
    }
}

#[tokio::test]
async fn a_guarded_request_changes_no_protocol() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let lines = [("authorization", "Bearer ann"), ("idempotency-key", "k"), ("connection", "upgrade"), ("upgrade", "chat")];
    let told = ask(house.address, request("POST", "/headers", &lines, "{}")).await;
    assert!(told.status == 200 && !told.text().contains("upgrade"), "{told:?}");
}

#[tokio::test]
async fn an_upstream_sees_that_the_client_of_an_unguarded_request_has_left() {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    let mut stream = write(house.address, request("GET", "/open/stream", &[], "")).await;
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    let mut sender = upstream.stream.lock().expect("nobody panics with it").take().expect("the handler ran");
    drop(stream);
    let noticed = async { while sender.send_data("more".into()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), noticed).await.expect("it is noticed");
}

#[tokio::test]
async fn connections_are_used_again_on_both_sides() {
    let connections = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = connections.clone();
    let address = raw(move |number, mut stream| {
        counted.store(number, std::sync::atomic::Ordering::SeqCst);
        async move {
            loop {
                let _ = head(&mut stream).await;
                if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.is_err() {
                    return;
                }
            }
        }
    });
    let house = House::before(address.await).await;
    let mut stream = write(house.address, "").await;
    for _ in 0..50 {
        stream.write_all(request("GET", "/open/x", &[], "").as_bytes()).await.expect("it is taken");
        assert_eq!(answer(&mut stream).await.text(), "ok");
    }
    // One that is not at rest yet when the next request comes has a second one beside it.
    assert!(connections.load(std::sync::atomic::Ordering::SeqCst) < 10);
    until(|| house.counts.passed.get() == 50).await;
}
