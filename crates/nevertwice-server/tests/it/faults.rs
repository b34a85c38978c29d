//! What a client hears when the place that decides has trouble.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use nevertwice_api::{Answer, Backend, BackendStatus, BoxFuture, Failure, Health, Level, Levels, Reading, Request};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use nevertwice_local::LocalBackend;
use serde_json::json;

use crate::client::Ask;
use crate::house::{House, Plan, eventually};

pub(crate) const FINE: u8 = 0;
const OVERLOADED: u8 = 1;
const FAILED: u8 = 2;
const FULL: u8 = 3;
const SILENT: u8 = 4;
pub(crate) const PANICS: u8 = 5;
const AFTER_ADMISSION: u8 = 6;
const NO_EXPIRY: u8 = 7;

/// A backend in front of the real one, with trouble as it is told.
struct Troubled {
    backend: Arc<LocalBackend>,
    trouble: Arc<AtomicU8>,
}

impl Troubled {
    fn failure<T: Send + 'static>(&self) -> Option<BoxFuture<'static, Result<T, Failure>>> {
        let failure = match self.trouble.load(Ordering::SeqCst) {
            OVERLOADED => Failure::Overloaded,
            FAILED => Failure::JournalFailed,
            FULL => Failure::StorageFull,
            PANICS => panic!("a test's panic"),
            _ => return None,
        };
        Some(Box::pin(async move { Err(failure) }))
    }
}

impl Backend for Troubled {
    fn name(&self) -> &'static str {
        "troubled"
    }
    fn offers(&self) -> Levels {
        self.backend.offers()
    }
    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        if self.trouble.load(Ordering::SeqCst) == SILENT {
            // It is done, and its answer is lost.
            let answer = self.backend.submit(request);
            return Box::pin(async move {
                drop(answer.await);
                std::future::pending().await
            });
        }
        let is_payment = matches!(request.command.action, nevertwice_core::Action::BeginPayment(_));
        if is_payment && self.trouble.load(Ordering::SeqCst) == AFTER_ADMISSION {
            return Box::pin(std::future::ready(Err(Failure::Overloaded)));
        }
        let is_expiry = matches!(request.command.action, nevertwice_core::Action::ExpireHolds(_));
        if is_expiry && self.trouble.load(Ordering::SeqCst) == NO_EXPIRY {
            return Box::pin(std::future::ready(Err(Failure::Overloaded)));
        }
        self.failure().unwrap_or_else(|| self.backend.submit(request))
    }
    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        self.failure().unwrap_or_else(|| self.backend.read(shard, query, level))
    }
    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        self.backend.wait(shard, position, level)
    }
    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        self.backend.state_hash(shard)
    }
    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        self.backend.shards()
    }
    fn status(&self) -> BackendStatus {
        let health = match self.trouble.load(Ordering::SeqCst) {
            FAILED => Health::Poisoned,
            FULL => Health::Full,
            _ => Health::Ready,
        };
        BackendStatus { health, ..self.backend.status() }
    }
}

/// Puts trouble between a server and its backend; there is none until it is told so.
pub(crate) fn trouble_for(plan: &mut Plan) -> Arc<AtomicU8> {
    let trouble = Arc::new(AtomicU8::new(FINE));
    let told = Arc::clone(&trouble);
    plan.wrap = Box::new(|backend| Arc::new(Troubled { backend, trouble: told }));
    trouble
}

async fn troubled() -> (House, Arc<AtomicU8>) {
    troubled_at(Plan::default()).await
}

async fn troubled_at(mut plan: Plan) -> (House, Arc<AtomicU8>) {
    plan.config.answer_deadline_ms = 100;
    let trouble = trouble_for(&mut plan);
    (House::with(plan).await.with_market().await, trouble)
}

fn order() -> Ask {
    let body = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    Ask::post("/v1/markets/wc/orders", "k", body.to_string())
}

#[tokio::test]
async fn trouble_is_told_and_the_same_key_tells_afterwards() {
    let (house, trouble) = troubled().await;
    for (kind, code, ready) in [(OVERLOADED, "overloaded", 200), (FAILED, "journal_failed", 503), (FULL, "storage_full", 503)] {
        trouble.store(kind, Ordering::SeqCst);
        let answer = house.send(order()).await;
        assert_eq!((answer.status, answer.code().as_str()), (503, code));
        assert_eq!(house.get("/v1/markets/wc").await.code(), code);
        assert_eq!(house.get("/readyz").await.status, ready, "{code}");
        assert_eq!(house.get("/healthz").await.status, 200);
    }
    trouble.store(FINE, Ordering::SeqCst);
    assert_eq!(house.send(order()).await.status, 201);
}

#[tokio::test]
async fn a_full_disk_did_nothing_and_needs_no_restart() {
    let (house, trouble) = troubled().await;
    trouble.store(FULL, Ordering::SeqCst);
    let problem = house.send(order()).await.json();
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("Nothing was done") && detail.contains("by itself"), "{detail}");
    assert!(!detail.contains("may or may not") && !detail.contains("restart"), "{detail}");
}

#[tokio::test]
async fn a_lost_answer_is_an_unknown_outcome_and_never_an_invented_failure() {
    let (house, trouble) = troubled().await;
    trouble.store(SILENT, Ordering::SeqCst);
    let answer = house.send(order()).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "outcome_unknown"));
    assert!(
        answer.json()["detail"].as_str().is_some_and(|detail| detail.contains("may or may not") && !detail.contains("Nothing was done"))
    );
    trouble.store(FINE, Ordering::SeqCst);
    let again = house.send(order()).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(house.metric("nevertwice_unknown_outcomes_total").await, 1.0);
    assert_eq!(house.metric("nevertwice_requests_total{endpoint=\"place_order\",outcome=\"outcome_unknown\"}").await, 1.0);
    assert_eq!(house.metric("nevertwice_requests_total{endpoint=\"place_order\",outcome=\"replayed\"}").await, 1.0);
}

#[tokio::test]
async fn an_unknown_outcome_counts_once_however_many_of_its_steps_are_late() {
    let (house, trouble) = troubled().await;
    let house = house.with_sale().await;
    trouble.store(SILENT, Ordering::SeqCst);
    let asked = [house.book("a", "A1", "north").await, house.book("b", "B2", "north").await];
    assert_eq!(asked.map(|answer| answer.code()), ["outcome_unknown", "outcome_unknown"]);
    // By now the first booking's own step has been given up as well.
    assert_eq!(house.metric("nevertwice_unknown_outcomes_total").await, 2.0);
    trouble.store(FINE, Ordering::SeqCst);
    assert_eq!(house.book("a", "A1", "north").await.status, 200);
}

#[tokio::test]
async fn trouble_after_the_admission_does_not_say_that_nothing_was_done() {
    let (house, trouble) = troubled().await;
    let house = house.with_sale().await;
    trouble.store(AFTER_ADMISSION, Ordering::SeqCst);
    let answer = house.book("a", "A1", "north").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "overloaded"));
    let problem = answer.json();
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("is held") && !detail.contains("Nothing was done"), "{detail}");
    assert_eq!(problem["figures"]["booking"]["state"], "admitted");
    // Nobody can have paid for it: its payment has not begun, and owns nothing.
    let booking = problem["figures"]["booking"]["booking"].as_str().expect("an id").to_owned();
    let confirm = json!({"payment": format!("final.{booking}")});
    let early = house.post(format!("/v1/sales/final/bookings/{booking}/confirm"), "c", confirm).await;
    assert_eq!((early.status, early.code().as_str()), (403, "not_owner"));
    trouble.store(FINE, Ordering::SeqCst);
    let replay = house.book("a", "A1", "north").await;
    assert_eq!((replay.status, &replay.json()["state"]["state"]), (200, &json!("paying")));
}

#[tokio::test]
async fn holds_that_cannot_be_ended_are_counted_until_they_are() {
    let mut plan = Plan::default();
    plan.config.sweep_ms = 10;
    let (house, trouble) = troubled_at(plan).await;
    let house = house.with_sale().await;
    house.book("a", "A1", "north").await.result();
    house.book("b", "B2", "north").await.result();
    trouble.store(NO_EXPIRY, Ordering::SeqCst);
    house.later(600_000);
    let overdue = async || house.metric("nevertwice_holds_overdue").await;
    eventually("both are overdue", async || (overdue().await == 2.0).then_some(())).await;
    // A sweep that failed in part is none to rely on.
    let old = house.metric("nevertwice_sweep_age_seconds").await;
    eventually("it ages", async || (house.metric("nevertwice_sweep_age_seconds").await > old).then_some(())).await;
    assert!(house.metric("nevertwice_steward_failures_total").await >= 1.0);
    trouble.store(FINE, Ordering::SeqCst);
    eventually("none is", async || (overdue().await == 0.0).then_some(())).await;
    assert_eq!(house.metric("nevertwice_holds_ended_total").await, 2.0);
}

#[tokio::test]
async fn a_panic_ends_in_an_answer_and_the_server_goes_on() {
    let (house, trouble) = troubled().await;
    trouble.store(PANICS, Ordering::SeqCst);
    let answer = house.send(order()).await;
    assert_eq!((answer.status, answer.code().as_str()), (500, "internal"));
    trouble.store(FINE, Ordering::SeqCst);
    assert_eq!(house.send(order()).await.status, 201);
    assert_eq!(house.metric("nevertwice_requests_under_way").await, 1.0);
}
