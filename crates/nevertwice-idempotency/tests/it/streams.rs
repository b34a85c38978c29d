//! Answers that go to the client as they come.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use nevertwice_idempotency::{Outcome, Policy, Trailers};
use tokio::time::{Duration, timeout};

use crate::house::{House, post};

type Answer = Sender<Bytes, std::io::Error>;

const STORED: usize = 16;

/// A house whose handler answers with a body that the test writes.
fn house() -> (House, Arc<Mutex<Option<Answer>>>) {
    house_by(Policy { streams: true, ..Policy::ietf() })
}

fn house_by(policy: Policy) -> (House, Arc<Mutex<Option<Answer>>>) {
    let answers = Arc::new(Mutex::new(None));
    let made = answers.clone();
    let policy = Policy { stored_bytes_max: STORED, ..policy };
    let house = House::new(policy, move |_, _| {
        let (sender, body) = Channel::<Bytes, std::io::Error>::new(1);
        *made.lock().expect("nobody panics with it") = Some(sender);
        Box::pin(async move { Response::builder().status(201).body(Body::new(body)).expect("it is a response") })
    });
    (house, answers)
}

async fn ask(house: &House, answers: &Mutex<Option<Answer>>) -> (Answer, Body) {
    let body = house.response(post("/charges", "k", "{}")).await.into_body();
    (answers.lock().expect("nobody panics with it").take().expect("the handler ran"), body)
}

async fn write(answer: &mut Answer, piece: &'static str) {
    answer.send_data(Bytes::from_static(piece.as_bytes())).await.expect("somebody reads");
}

async fn piece(body: &mut Body) -> Bytes {
    body.frame().await.expect("there is more").expect("it did not break").into_data().expect("it is data")
}

/// Until the key is settled: by what the layer tells, in no time.
async fn settled(house: &House) -> Outcome {
    for _ in 0..10_000 {
        if let Some(outcome) = house.heard.0.lock().expect("nobody panics with it").last() {
            return *outcome;
        }
        tokio::task::yield_now().await;
    }
    panic!("the key is not settled");
}

#[tokio::test(start_paused = true)]
async fn a_client_sees_an_answer_as_it_comes_and_its_end_once_the_key_has_it() {
    let (house, answers) = house();
    let (mut answer, mut body) = ask(&house, &answers).await;
    write(&mut answer, "one ").await;
    assert_eq!(piece(&mut body).await, "one ");
    assert_eq!(house.post("k", "{}").await.code(), "key_in_progress");
    write(&mut answer, "two").await;
    drop(answer);
    assert_eq!(body.collect().await.expect("it is whole").to_bytes(), "two");
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, again.body.as_slice(), again.is_replay()), (201, &b"one two"[..], true));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_holds_no_key() {
    let (house, answers) = house();
    let (mut answer, body) = ask(&house, &answers).await;
    for _ in 0..STORED / 4 {
        write(&mut answer, "four").await;
    }
    drop(answer);
    assert_eq!(settled(&house).await, Outcome::Fresh);
    assert!(house.post("k", "{}").await.is_replay());
    assert_eq!(body.collect().await.expect("it is whole").to_bytes(), "fourfourfourfour");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_a_long_answer_slows_its_writer_and_holds_no_key() {
    let (house, answers) = house();
    let (mut answer, body) = ask(&house, &answers).await;
    for _ in 0..=STORED / 4 {
        write(&mut answer, "four").await;
    }
    assert_eq!(settled(&house).await, Outcome::Tombstone);
    assert_eq!(house.post("k", "{}").await.code(), "answer_not_kept");
    let mut written = 0;
    // The clock is paused: it goes on only when nobody can.
    while timeout(Duration::from_secs(1), write(&mut answer, "more")).await.is_ok() {
        written += 1;
    }
    assert!(written <= 2, "{written} pieces went on with nobody reading");
    let reading = tokio::spawn(body.collect());
    write(&mut answer, "end").await;
    drop(answer);
    let whole = reading.await.expect("no panic").expect("it is whole").to_bytes();
    assert_eq!(whole.len(), 4 * (STORED / 4 + 1) + 4 * written + 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_read_to_its_end_when_its_client_has_left() {
    for pieces in [2, 20] {
        let (house, answers) = house();
        let (mut answer, body) = ask(&house, &answers).await;
        write(&mut answer, "four").await;
        drop(body);
        for _ in 1..pieces {
            write(&mut answer, "four").await;
        }
        drop(answer);
        assert_eq!(settled(&house).await, if pieces == 2 { Outcome::Fresh } else { Outcome::Tombstone });
        assert_eq!(house.post("k", "{}").await.is_replay(), pieces == 2);
        assert_eq!(house.runs(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_broken_for_its_client_and_unknown_for_its_key() {
    let (house, answers) = house();
    let (mut answer, body) = ask(&house, &answers).await;
    write(&mut answer, "half").await;
    answer.abort(std::io::ErrorKind::ConnectionReset.into());
    assert!(body.collect().await.is_err());
    assert_eq!(house.post("k", "{}").await.code(), "outcome_unknown");
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_trailers_is_passed_on_whole_and_leaves_a_tombstone() {
    let (house, answers) = house();
    let (mut answer, body) = ask(&house, &answers).await;
    write(&mut answer, "data").await;
    let trailers = HeaderMap::from_iter([("checksum".parse().expect("a name"), "7".parse().expect("a value"))]);
    answer.send_trailers(trailers).await.expect("somebody reads");
    drop(answer);
    let collected = body.collect().await.expect("it is whole");
    assert_eq!(collected.trailers().expect("they are passed on")["checksum"], "7");
    assert_eq!(collected.to_bytes(), "data");
    assert_eq!(house.post("k", "{}").await.code(), "answer_not_kept");
}

#[tokio::test(start_paused = true)]
async fn trailers_are_repeated_where_the_route_keeps_them() {
    for streams in [true, false] {
        let (house, answers) = house_by(Policy { streams, trailers: Trailers::Keep, ..Policy::ietf() });
        let asking = tokio::spawn({
            let house = house.clone();
            async move { house.response(post("/charges", "k", "{}")).await.into_body().collect().await.expect("it is whole") }
        });
        let mut answer = loop {
            tokio::task::yield_now().await;
            if let Some(answer) = answers.lock().expect("nobody panics with it").take() {
                break answer;
            }
        };
        write(&mut answer, "data").await;
        let trailers = HeaderMap::from_iter([("checksum".parse().expect("a name"), "7".parse().expect("a value"))]);
        answer.send_trailers(trailers).await.expect("somebody reads");
        drop(answer);
        let first = asking.await.expect("no panic");
        let again = house.response(post("/charges", "k", "{}")).await;
        assert_eq!(
            (&again.headers()["idempotent-replayed"], &again.headers()["trailer"]),
            (&"true".parse().expect("a value"), &"checksum".parse().expect("a value"))
        );
        let again = again.into_body().collect().await.expect("it is whole");
        for told in [first, again] {
            assert_eq!(told.trailers().expect("they are there")["checksum"], "7");
            assert_eq!(told.to_bytes(), "data");
        }
        assert_eq!(house.runs(), 1);
    }
}
