//! The client against a handler behind the layer of keys, which is still at work when the retry comes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use nevertwice_client::http::{Client as Wire, Outcome as Known, Request, Target};
use nevertwice_client::{Client, Clock, IntentOptions, Outcome, Retries, SystemClock, Transport};
use nevertwice_idempotency::{Caller, Keys, KeysLayer, MemoryStore, Routes};
use serde_json::json;
use tokio::sync::Notify;

/// A handler that begins, and ends when it is told to.
#[derive(Default)]
struct Slow {
    calls: AtomicU64,
    begun: Notify,
    may_end: Notify,
}

impl Slow {
    async fn charge(self: Arc<Self>) -> (StatusCode, String) {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        self.begun.notify_one();
        self.may_end.notified().await;
        (StatusCode::CREATED, json!({"charge": calls}).to_string())
    }
}

async fn serve(slow: Arc<Slow>) -> Target {
    let keys = Keys::new(Arc::new(MemoryStore::default()), None, Routes::ietf()).expect("sound keys");
    let keys = keys.with_identity(|_: &Parts| Some(Caller { tenant: String::new(), principal: "ann".to_owned() }));
    let app = Router::new().route("/charges", post(move || slow.charge())).layer(KeysLayer::new(keys));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let target = Target::parse(&format!("http://{}", listener.local_addr().expect("an address"))).expect("a target");
    tokio::spawn(async move { axum::serve(listener, app).await });
    target
}

/// Loses the first reply while the handler is at work.
struct LosesTheFirst {
    wire: Wire,
    slow: Arc<Slow>,
    statuses: Arc<Mutex<Vec<u16>>>,
    sent: u32,
}

impl Transport for LosesTheFirst {
    async fn send(&mut self, request: &Request, time_limit: Duration) -> Known {
        self.sent += 1;
        if self.sent == 1 {
            let unread = self.wire.send_unread(request).await.expect("sent");
            self.slow.begun.notified().await;
            unread.close();
            return Known::Lost;
        }
        let known = self.wire.send_within(request, time_limit).await;
        if let Known::Reply(reply) = &known {
            self.statuses.lock().expect("not poisoned").push(reply.status);
        }
        known
    }
}

/// Tells the real time, and waits for nobody. The handler ends while the client waits as the 409 told it to.
struct Hasty {
    clock: SystemClock,
    slow: Arc<Slow>,
    waits: Arc<Mutex<Vec<u64>>>,
}

impl Clock for Hasty {
    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    fn elapsed_ms(&self) -> u64 {
        self.clock.elapsed_ms()
    }

    async fn sleep(&mut self, wait_ms: u64) {
        let waits = {
            let mut waits = self.waits.lock().expect("not poisoned");
            waits.push(wait_ms);
            waits.len()
        };
        if waits == 2 {
            self.slow.may_end.notify_one();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_retry_waits_for_the_first_attempt_and_gets_its_answer() {
    let slow = Arc::new(Slow::default());
    let statuses: Arc<Mutex<Vec<u16>>> = Arc::default();
    let waits: Arc<Mutex<Vec<u64>>> = Arc::default();
    let wire = Wire::new(serve(slow.clone()).await, Duration::from_secs(20));
    let transport = LosesTheFirst { wire, slow: slow.clone(), statuses: statuses.clone(), sent: 0 };
    let clock = Hasty { clock: SystemClock::default(), slow: slow.clone(), waits: waits.clone() };
    let bounds = Retries { attempts_max: 10_000, ..Retries::default() };
    let mut client = Client::new(transport).with_clock(clock).with_retries(bounds).expect("bounds");
    let request = Request::post("/charges", &json!({"amount": 3})).expect("JSON");
    let mut intent = client.intent(request, IntentOptions::default()).expect("an intent");
    let Outcome::Done(done) = client.send(&mut intent).await.expect("an outcome") else { panic!("done") };
    assert!(done.replayed);
    assert_eq!(done.reply.json::<serde_json::Value>().expect("JSON"), json!({"charge": 1}));
    assert_eq!(slow.calls.load(Ordering::SeqCst), 1);
    let statuses = statuses.lock().expect("not poisoned").clone();
    assert_eq!((statuses.first(), statuses.last()), (Some(&409), Some(&201)), "{statuses:?}");
    // What is left of the lease, which the layer tells, and not the client's own first backoff.
    assert!(waits.lock().expect("not poisoned")[1] > 50_000);
}
