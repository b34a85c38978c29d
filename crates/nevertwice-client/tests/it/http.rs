//! The client says what is known of a request, no more and no less.

use std::time::Duration;

use nevertwice_client::http::{Client, Outcome, Request, Target};
use nevertwice_testkit::stub::{Act, Stub};

fn client(stub: &Stub) -> Client {
    Client::new(Target::parse(&stub.base_url()).expect("an address"), Duration::from_secs(5))
}

fn order() -> Request {
    Request::post("/orders", &serde_json::json!({"quantity": 1})).expect("JSON").header("idempotency-key", "k-1")
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn a_connection_is_kept() {
    let stub = Stub::start(&[Act::Answer]).await;
    let mut client = client(&stub);
    for _ in 0..3 {
        let Outcome::Reply(reply) = client.send(&order()).await else { panic!("a reply") };
        assert_eq!((reply.status, reply.header("x-twice")), (200, Some("1")));
        assert_eq!(reply.json::<serde_json::Value>().expect("JSON")["answer"], 42);
    }
    let seen = stub.seen();
    assert!(seen.len() == 3 && seen.iter().all(|(number, text)| *number == 0 && text.contains("idempotency-key: k-1")));
}

#[tokio::test]
async fn a_closed_connection_is_reopened() {
    let stub = Stub::start(&[Act::AnswerOnce]).await;
    let mut client = client(&stub);
    for round in 0..3 {
        assert!(matches!(client.send(&order()).await, Outcome::Reply(_)), "round {round}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(stub.seen().len(), 3, "each request went out once");
}

#[tokio::test]
async fn what_is_not_known_is_said() {
    let stub = Stub::start(&[Act::Hang, Act::Half, Act::Silent]).await;
    let mut client = Client::new(Target::parse(&stub.base_url()).expect("an address"), Duration::from_millis(200));
    assert_eq!(client.send(&order()).await, Outcome::Lost, "closed after reading");
    assert_eq!(client.send(&order()).await, Outcome::Lost, "closed within the reply");
    assert_eq!(client.send(&order()).await, Outcome::TimedOut);
    assert_eq!(stub.seen().len(), 3, "nothing was repeated that the server may have seen");
    assert_eq!(client.send(&Request::get("/x").header("a", "b\r\nc: d")).await, Outcome::Unsendable);
}

#[tokio::test]
async fn nobody_there_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let mut client = Client::new(Target::parse(&base_url).expect("an address"), Duration::from_secs(5));
    assert_eq!(client.send(&order()).await, Outcome::Refused);
    assert!(matches!(client.send_unread(&order()).await, Err(Outcome::Refused)));
}

#[tokio::test]
async fn a_lost_reply_was_a_whole_request() {
    let stub = Stub::start(&[Act::Answer]).await;
    client(&stub).send_unread(&order()).await.expect("sent").close();
    until("the request arrives and the connection closes", || {
        stub.seen().len() == 1 && !stub.closed.lock().expect("not poisoned").is_empty()
    })
    .await;
    assert!(stub.seen()[0].1.ends_with("{\"quantity\":1}"));
}

#[tokio::test]
async fn a_retry_goes_out_while_the_first_is_under_way() {
    let stub = Stub::start(&[Act::Silent, Act::Answer]).await;
    let mut client = client(&stub);
    let first = client.send_unread(&order()).await.expect("sent");
    until("the first arrives", || stub.seen().len() == 1).await;
    assert!(matches!(client.send(&order()).await, Outcome::Reply(_)));
    assert!(stub.closed.lock().expect("not poisoned").is_empty(), "the first is still open");
    first.close();
    let bodies: Vec<_> = stub.seen().into_iter().map(|(_, text)| text.split("\r\n\r\n").nth(1).map(str::to_owned)).collect();
    assert_eq!(bodies[0], bodies[1]);
}
