//! What a server loses, and what it must not decide on.

use std::sync::Arc;

use nevertwice_api::{Answer, Backend as _, Failure, Level, Levels, Request};
use nevertwice_core::{
    Action, Command, Decision, IdempotencyKey, Intent, MarketLimits, MarketMode, Name, OpenAccount, OpenMarket, Position, Principal, Query,
    Rejection, SetMode, ShardId,
};
use nevertwice_redis::clock::Clock;
use nevertwice_redis::{BackendOpenError, Link, LinkOptions, RedisBackend, RedisOptions};
use nevertwice_testkit::redis::{RedisReply, RedisServer};

use crate::given_time::{self, GivenTime};

const AT_MS: i64 = 1_790_000_000_000;

fn market() -> ShardId {
    ShardId::market(Name::new("cup").expect("a name"))
}

fn request(key: &str, action: impl Into<Action>) -> Request {
    let intent = Intent {
        principal: Principal::new("desk").expect("a principal"),
        key: IdempotencyKey::new(key).expect("a key"),
        fingerprint: [7; 32],
        expires_at: None,
    };
    Request { shard: market(), command: Command::new(intent, action), levels: Levels::NONE }
}

fn open() -> OpenMarket {
    let limits = MarketLimits { quantity_max: 100, holding_max: 1_000, house_loss_max: 0 };
    OpenMarket { decimals: 2, fee_bps: 25, limits, mode: MarketMode::Open, retention_ms: 60_000 }
}

fn account(name: &str) -> OpenAccount {
    let account = Name::new(name).expect("a name");
    OpenAccount { account, class: nevertwice_core::AccountClass::Player, opening_balance: 1_000 }
}

fn accepted(answer: &Result<Answer, Failure>) -> Position {
    match answer {
        Ok(Answer { decision: Decision::Accepted(entry), .. }) => entry.position,
        other => panic!("it was not accepted: {other:?}"),
    }
}

async fn opened(server: &RedisServer) -> (Arc<GivenTime>, RedisBackend) {
    let clock = Arc::<GivenTime>::default();
    clock.set(AT_MS);
    let backend = given_time::backend(&server.url(), &clock).await;
    accepted(&backend.submit(request("open", open())).await);
    (clock, backend)
}

#[tokio::test]
async fn data_that_is_gone_is_said_and_not_served_as_an_empty_market() {
    let server = RedisServer::start(&[]);
    let (_clock, backend) = opened(&server).await;
    server.ask(&["FLUSHALL"]);
    assert_eq!(backend.submit(request("a", account("ann"))).await, Err(Failure::OutcomeUnknown));
    assert_eq!(backend.submit(request("open-2", open())).await, Err(Failure::BackendUnavailable));
    let RedisReply::Number(keys) = server.ask(&["DBSIZE"]) else { panic!("a number") };
    assert_eq!(keys, 1, "of the market that was to be opened again there is its name alone");
    assert_eq!(backend.read(market(), Query::Market, None).await.map(|reading| reading.view), Err(Failure::BackendUnavailable));
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_loaded_again() {
    let server = RedisServer::start(&[]);
    let (_clock, backend) = opened(&server).await;
    for number in 0..20 {
        server.ask(&["SCRIPT", "FLUSH"]);
        let name = format!("a-{number}");
        assert_eq!(accepted(&backend.submit(request(&name, account(&name))).await), Position { epoch: 1, seq: number + 2 });
    }
}

#[tokio::test]
async fn a_clock_that_is_an_hour_off_decides_nothing() {
    struct HourAhead;
    impl Clock for HourAhead {
        fn now_ms(&self) -> i64 {
            nevertwice_redis::clock::MachineClock.now_ms() + 3_600_000
        }
    }
    let server = RedisServer::start(&[]);
    let link = || Link::new(server.url().parse().expect("an address"), LinkOptions::default());
    let right = RedisBackend::open(link(), Arc::new(nevertwice_redis::clock::MachineClock), RedisOptions::default()).await;
    let right = right.expect("the server can be used");
    accepted(&right.submit(request("open", open())).await);
    let wrong = RedisBackend::open(link(), Arc::new(HourAhead), RedisOptions::default()).await.expect("the server can be used");
    assert_eq!(wrong.submit(request("a", account("ann"))).await, Err(Failure::BackendUnavailable));
    assert_eq!(accepted(&right.submit(request("a", account("ann"))).await).seq, 2, "nothing was done by the other");
}

#[tokio::test]
async fn a_restart_is_an_adoption_and_the_shard_goes_on_in_a_higher_epoch() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "no"]);
    let (_clock, backend) = opened(&server).await;
    server.kill();
    server.restart();
    // The first that is asked finds the connection broken, the second another timeline: neither hears a yes, although what the
    // second asked was decided. The third is told of it.
    let mut failures = Vec::new();
    let told = loop {
        match backend.submit(request("a", account("ann"))).await {
            Ok(answer) => break answer.decision,
            Err(failure) => failures.push(failure),
        }
        assert!(failures.len() < 8, "it does not come back: {failures:?}");
    };
    assert_eq!(failures, [Failure::OutcomeUnknown, Failure::OutcomeUnknown]);
    assert!(matches!(&told, Decision::Replayed(entry) if entry.position == Position { epoch: 1, seq: 2 }), "{told:?}");
    assert_eq!(backend.epoch(), 2);
    assert_eq!(accepted(&backend.submit(request("b", account("bob"))).await), Position { epoch: 2, seq: 3 });
    for ((epoch, seq), is_there) in [((1, 1), true), ((1, 2), true), ((2, 3), true), ((1, 3), false), ((2, 2), false), ((3, 3), false)] {
        let position = Position { epoch, seq };
        let waited = backend.wait(market(), position, Level::Decided).await;
        assert_eq!(waited.is_ok(), is_there, "{position}: {waited:?}");
    }
}

#[tokio::test]
async fn a_process_that_was_not_there_at_the_adoption_joins_it() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "no"]);
    let (clock, first) = opened(&server).await;
    server.kill();
    server.restart();
    let second = given_time::backend(&server.url(), &clock).await;
    assert_eq!(second.epoch(), 2);
    assert_eq!(accepted(&second.submit(request("a", account("ann"))).await), Position { epoch: 2, seq: 2 });
    let mut answers = Vec::new();
    for attempt in 0..4 {
        answers
            .push(first.submit(request(&format!("b-{attempt}"), SetMode { mode: MarketMode::Halted })).await.map(|answer| answer.decision));
        if answers.last().is_some_and(Result::is_ok) {
            break;
        }
    }
    assert_eq!(first.epoch(), 2, "{answers:?}");
    assert!(matches!(answers.last(), Some(Ok(Decision::Accepted(_) | Decision::Rejected(Rejection::NoChange)))), "{answers:?}");
}

#[tokio::test]
async fn levels_that_it_does_not_offer_are_refused_before_anything_is_done() {
    let server = RedisServer::start(&[]);
    let (_clock, backend) = opened(&server).await;
    for level in [Level::Replicated, Level::Journaled, Level::Ledgered] {
        let asked = Request { levels: Levels::reached(level), ..request("a", account("ann")) };
        assert!(matches!(backend.submit(asked).await, Err(Failure::LevelUnavailable(_))), "{level}");
    }
    let shards = backend.shards().await.expect("a list");
    assert_eq!(shards, [market()]);
    let account = Query::Account { account: Name::new("ann").expect("a name") };
    assert_eq!(backend.read(market(), account, None).await.expect("read").view, Err(Rejection::UnknownAccount));
}

#[tokio::test]
async fn a_server_that_evicts_is_refused_at_start() {
    let server = RedisServer::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let link = Link::new(server.url().parse().expect("an address"), LinkOptions::default());
    let opened = RedisBackend::open(link, Arc::<GivenTime>::default(), RedisOptions::default()).await;
    let Err(BackendOpenError::Unfit(what)) = opened else { panic!("it was taken") };
    assert!(what.contains("allkeys-lru") && what.contains("noeviction"), "{what}");
    assert_eq!(server.ask(&["DBSIZE"]), RedisReply::Number(0), "nothing was changed on it");
}
