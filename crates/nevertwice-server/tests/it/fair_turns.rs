//! Whose turn it is at a full server, over real connections: who opens many waits behind itself, and everybody else for one round. It is
//! judged by the order in which the server has worked, never by when something came.

use std::sync::{Arc, Mutex, PoisonError};

use nevertwice_api::{Answer as Decided, Backend, BackendStatus, BoxFuture, Failure, Level, Levels, Reading, Request};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use nevertwice_local::LocalBackend;

use crate::client::{Answer, Ask, send};
use crate::house::{House, Plan, eventually};
use crate::limits::{Slow, by_service, guarded_by, metric, order};

/// How many requests the greedy one has on its way, each on a connection of its own.
const GREEDY: usize = 40;

/// One place for all but operators, and everybody may wait.
fn one_place() -> Plan {
    let mut plan = Plan::default();
    let config = &mut plan.config;
    (config.requests_max, config.requests_reserved_percent) = (2, 50);
    (config.requests_waiting_max, config.request_wait_ms) = (1_000, 600_000);
    config.trusted_proxies = "127.0.0.0/8".parse().expect("networks");
    plan
}

/// Has all of them wait while the place is taken, one after the other, and then gives it free.
async fn answers(house: &House, asks: Vec<Ask>) -> Vec<Answer> {
    let slow = Slow::begin(house, by_service(order("slow"), "slow")).await;
    eventually("the place is taken", async || (metric(house, "nevertwice_requests_under_way").await >= 2.0).then_some(())).await;
    let (mut waiting, mut count) = (Vec::new(), 0.0);
    for ask in asks {
        let addr = house.addr;
        waiting.push(tokio::spawn(async move { send(addr, &ask).await }));
        count += 1.0;
        eventually("it waits", async || (metric(house, "nevertwice_requests_waiting").await >= count).then_some(())).await;
    }
    assert!(slow.end().await.starts_with("HTTP/1.1 201"));
    let mut answers = Vec::new();
    for answer in waiting {
        answers.push(answer.await.expect("it ends well"));
    }
    answers
}

/// Each of these has had its turn after the first round, or after a second one that had begun.
fn check(turns: &[String], meek: &[&str]) {
    assert_eq!(turns.len(), GREEDY + meek.len(), "{turns:?}");
    let round = meek.len() + 1;
    for who in meek {
        let turn = turns.iter().position(|turn| turn == who).unwrap_or_else(|| panic!("{who} had no turn"));
        assert!(turn < 2 * round, "{who} had to wait behind the greedy one: {turns:?}");
    }
    assert!(turns[2 * round..].iter().all(|turn| turn == "greedy"), "{turns:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greedy_principal_waits_behind_itself_and_others_for_one_round() {
    let house = guarded_by(one_place()).await;
    let meek = ["ann", "bob", "cid", "dee", "eve"];
    let who: Vec<&str> = std::iter::repeat_n("greedy", GREEDY).chain(meek).collect();
    let asks = who.iter().enumerate().map(|(number, who)| by_service(order(&format!("k{number}")), who)).collect();
    let answers = answers(&house, asks).await;
    // The positions in the answers tell in which order they were decided.
    let seq = |answer: &Answer| {
        assert_eq!(answer.status, 201, "{}", answer.text);
        let position: Position = answer.json()["position"].as_str().and_then(|at| at.parse().ok()).expect("a position");
        position.seq
    };
    let mut turns: Vec<(u64, String)> = answers.iter().map(seq).zip(who.iter().map(|who| (*who).to_owned())).collect();
    turns.sort_unstable();
    check(&turns.into_iter().map(|(_, who)| who).collect::<Vec<_>>(), &meek);
}

/// A backend that notes of which shards it is asked, in their order.
struct Noting {
    backend: Arc<LocalBackend>,
    read: Arc<Mutex<Vec<String>>>,
}

impl Backend for Noting {
    fn name(&self) -> &'static str {
        "noting"
    }
    fn offers(&self) -> Levels {
        self.backend.offers()
    }
    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Decided, Failure>> {
        self.backend.submit(request)
    }
    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).push(shard.name.to_string());
        self.backend.read(shard, query, level)
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
        self.backend.status()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greedy_address_waits_behind_itself_and_others_for_one_round() {
    let read = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&read);
    let wrap = |backend| Arc::new(Noting { backend, read: notes }) as Arc<dyn Backend>;
    let house = guarded_by(Plan { wrap: Box::new(wrap), ..one_place() }).await;
    // Where nobody is known, callers are told apart by their addresses. Each asks for a page of a sale of its own name.
    let meek = ["first", "second", "third"];
    let of = |who: &str, address: &str| Ask::get(format!("/sandbox/payments/{who}/{who}.1-1")).header("x-forwarded-for", address);
    let mut asks: Vec<Ask> = (0..GREEDY).map(|_| of("greedy", "9.9.9.9")).collect();
    asks.extend(meek.iter().zip(["1.1.1.1", "2.2.2.2", "3.3.3.3"]).map(|(who, address)| of(who, address)));
    for answer in answers(&house, asks).await {
        assert_eq!(answer.status, 404, "{}", answer.text);
    }
    let turns = read.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let turns: Vec<String> = turns.into_iter().filter(|who| who == "greedy" || meek.contains(&who.as_str())).collect();
    check(&turns, &meek);
}
