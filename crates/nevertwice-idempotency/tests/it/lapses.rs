//! Handlers that hang, panic, outlive their client or their lease.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::BoxFuture;
use nevertwice_core::keys::LapsePolicy;
use nevertwice_idempotency::{AskWhatBecame, Became, Policy};
use tokio::time::sleep;

use crate::house::{House, respond};

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_changes_nothing() {
    let house = House::slow(Policy::ietf(), 52);
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(1)).await;
    first.abort();
    sleep(Duration::from_secs(60)).await;
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, again.is_replay(), house.runs()), (201, true, 1));
}

#[tokio::test(start_paused = true)]
async fn the_heartbeat_keeps_a_long_run_its_owners() {
    let house = House::slow(Policy { lapse: LapsePolicy::Rerun, ..Policy::ietf() }, 600);
    let first = house.spawn("k", "{}");
    for _ in 0..9 {
        sleep(Duration::from_secs(61)).await;
        assert_eq!(house.post("k", "{}").await.code(), "key_in_progress");
    }
    assert_eq!(first.await.expect("it answers").status, 201);
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_kept_if_nobody_took_over() {
    let house = House::slow(Policy { heartbeat_ms_max: 1, ..Policy::ietf() }, 600);
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(300)).await;
    let told = house.post("k", "{}").await;
    assert_eq!((told.status, told.code().as_str()), (503, "outcome_unknown"));
    assert_eq!(first.await.expect("it answers").status, 201);
    assert!(house.post("k", "{}").await.is_replay());
}

#[tokio::test(start_paused = true)]
async fn a_replaced_owner_does_not_replace_the_answer() {
    let policy = Policy { heartbeat_ms_max: 1, lapse: LapsePolicy::Rerun, ..Policy::ietf() };
    let house = House::new(policy, |run, _| {
        Box::pin(async move {
            let first = run == 1;
            sleep(Duration::from_secs(if first { 600 } else { 1 })).await;
            respond(200, if first { "first" } else { "second" })
        })
    });
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(300)).await;
    assert_eq!(house.post("k", "{}").await.body, b"second");
    assert_eq!(first.await.expect("it answers").body, b"first");
    assert_eq!(house.post("k", "{}").await.body, b"second", "the answer stands");
    assert_eq!(house.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_leaves_the_outcome_unknown_and_is_run_again_only_by_policy() {
    for (lapse, runs) in [(LapsePolicy::Refuse, 1), (LapsePolicy::Rerun, 2)] {
        let house = House::new(Policy { lapse, ..Policy::ietf() }, |run, _| {
            Box::pin(async move {
                assert!(run > 1, "the first run panics");
                respond(200, "second")
            })
        });
        assert_eq!(house.post("k", "{}").await.code(), "outcome_unknown");
        house.post("k", "{}").await;
        assert_eq!(house.runs(), runs);
    }
}

struct Says(Became);

impl AskWhatBecame for Says {
    fn what_became(&self, _: &http::request::Parts) -> BoxFuture<'static, Became> {
        Box::pin(std::future::ready(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_asked_decides_what_becomes_of_a_lapsed_key() {
    for (became, status, runs) in [(Became::Nothing, 200, 2), (Became::Done, 409, 1), (Became::Unknown, 503, 1)] {
        let policy = Policy { lapse: LapsePolicy::Ask, ask: Some(Arc::new(Says(became))), ..Policy::ietf() };
        let house = House::new(policy, |run, _| Box::pin(async move { respond(if run == 1 { 500 } else { 200 }, "body") }));
        assert_eq!(house.post("k", "{}").await.status, 500);
        assert_eq!(house.post("k", "{}").await.status, status, "{became:?}");
        assert_eq!(house.runs(), runs, "{became:?}");
    }
}

/// Says that nothing has happened, after a time in which a lease would end more than once.
struct SaysLate(Duration);

impl AskWhatBecame for SaysLate {
    fn what_became(&self, _: &http::request::Parts) -> BoxFuture<'static, Became> {
        let time = self.0;
        Box::pin(async move {
            sleep(time).await;
            Became::Nothing
        })
    }
}

fn asks_late(seconds: u64, heartbeat_ms_max: u64) -> House {
    let ask = SaysLate(Duration::from_secs(seconds));
    let policy = Policy { lapse: LapsePolicy::Ask, ask: Some(Arc::new(ask)), heartbeat_ms_max, ..Policy::ietf() };
    House::new(policy, |run, _| Box::pin(async move { respond(if run == 1 { 500 } else { 200 }, "body") }))
}

#[tokio::test(start_paused = true)]
async fn the_heartbeat_keeps_a_key_its_askers_while_it_is_asked_about() {
    let house = asks_late(300, 3_600_000);
    assert_eq!(house.post("k", "{}").await.status, 500);
    let asking = house.spawn("k", "{}");
    for _ in 0..4 {
        sleep(Duration::from_secs(61)).await;
        assert_eq!(house.post("k", "{}").await.code(), "key_in_progress");
    }
    assert_eq!(asking.await.expect("it answers").status, 200);
    assert_eq!(house.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_lapsed_while_it_was_asked_about_lets_one_attempt_in() {
    // No heartbeat: the lease of the first asker ends, and a second one asks.
    let house = asks_late(100, 1);
    assert_eq!(house.post("k", "{}").await.status, 500);
    let first = house.spawn("k", "{}");
    sleep(Duration::from_secs(80)).await;
    let second = house.spawn("k", "{}");
    assert_eq!(first.await.expect("it answers").code(), "outcome_unknown", "another has the key now");
    assert_eq!(second.await.expect("it answers").status, 200);
    assert_eq!(house.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_forgotten_after_its_retention_and_not_before() {
    let house = House::plain(Policy::ietf(), 201, "charged");
    house.post("k", "{}").await;
    sleep(Duration::from_secs(86_399)).await;
    assert!(house.post("k", "{}").await.is_replay());
    sleep(Duration::from_secs(1)).await;
    assert!(!house.post("k", "{}").await.is_replay());
}
