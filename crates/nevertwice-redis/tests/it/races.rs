//! Many at once, through two processes' backends that share one server.

use std::collections::BTreeSet;
use std::sync::Arc;

use nevertwice_api::{Answer, Backend as _, Levels, Request};
use nevertwice_core::{
    Action, Admit, CandidateFact, CandidateId, Command, Decision, Event, IdempotencyKey, Intent, LevelCap, LoadCandidates, Name, OpenSale,
    Principal, Query, Rejection, SetSaleOpen, ShardId, View,
};
use nevertwice_redis::RedisBackend;
use nevertwice_testkit::redis::RedisServer;

use crate::given_time::{self, GivenTime};

const AT_MS: i64 = 1_790_000_000_000;
const CANDIDATES: u16 = 2_048;
const LEVEL_CAP: i64 = 30;
const TOTAL_CAP: i64 = 50;

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn candidate(number: u16) -> CandidateId {
    let mut id = [0; 32];
    id[..2].copy_from_slice(&number.to_be_bytes());
    CandidateId(id)
}

fn request(key: &str, action: impl Into<Action>) -> Request {
    let intent = Intent {
        principal: Principal::new("somebody").expect("a principal"),
        key: IdempotencyKey::new(key).expect("a key"),
        fingerprint: [3; 32],
        expires_at: None,
    };
    Request { shard: ShardId::sale(name("rush")), command: Command::new(intent, action), levels: Levels::NONE }
}

async fn told(backend: &RedisBackend, request: Request) -> Decision {
    let Answer { decision, .. } = backend.submit(request).await.expect("an answer");
    decision
}

async fn accepted(backend: &RedisBackend, request: Request) {
    let decision = told(backend, request).await;
    assert!(matches!(decision, Decision::Accepted(_)), "{decision:?}");
}

/// A sale with two levels, open, with its candidates.
async fn open(backend: &RedisBackend) {
    let levels = [("hall", Some(LEVEL_CAP)), ("stand", None)].map(|(level, cap)| LevelCap { level: name(level), cap });
    let sale = OpenSale {
        levels: levels.to_vec(),
        total_cap: TOTAL_CAP,
        hold_ms: 60_000,
        opens_at: AT_MS,
        closes_at: AT_MS + 600_000,
        retention_ms: 600_000,
    };
    accepted(backend, request("open", sale)).await;
    for (piece, first) in (0..CANDIDATES).step_by(256).enumerate() {
        let facts = (first..first + 256).map(|number| CandidateFact { candidate: candidate(number), email: None, levels: 0b11 });
        accepted(backend, request(&format!("load-{piece}"), LoadCandidates { candidates: facts.collect() })).await;
    }
    accepted(backend, request("doors", SetSaleOpen { open: true })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rush_gets_exactly_the_cap_and_no_seat_and_no_candidate_twice() {
    let server = RedisServer::start(&[]);
    let clock = Arc::<GivenTime>::default();
    clock.set(AT_MS);
    let backends = [given_time::backend(&server.url(), &clock).await, given_time::backend(&server.url(), &clock).await];
    open(&backends[0]).await;
    // Each candidate asks twice, with two keys, of two processes; the first half wants the level with the smaller cap.
    let mut waiting = Vec::new();
    for number in 0..CANDIDATES {
        let level = name(if number < CANDIDATES / 2 { "hall" } else { "stand" });
        for (attempt, backend) in backends.iter().enumerate() {
            let admit = Admit { candidate: candidate(number), email: None, level: level.clone() };
            waiting.push(backend.submit(request(&format!("admit-{number}-{attempt}"), admit)));
        }
    }
    let (mut seats, mut candidates, mut in_hall, mut refused) = (BTreeSet::new(), BTreeSet::new(), 0, 0);
    for answer in waiting {
        match answer.await.expect("an answer").decision {
            Decision::Accepted(entry) => {
                let [Event::CandidateAdmitted(admitted)] = &entry.events[..] else { panic!("{entry:?}") };
                assert!(seats.insert(admitted.seat), "seat {} was given out twice", admitted.seat);
                assert!(candidates.insert(admitted.candidate.0), "{:?} was admitted twice", admitted.candidate);
                in_hall += i64::from(admitted.level.as_str() == "hall");
            }
            Decision::Rejected(Rejection::LevelFull { .. } | Rejection::SaleFull { .. } | Rejection::AlreadyBooked { .. }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seats, (1..=TOTAL_CAP as u32).collect(), "the lowest free seat is taken");
    assert!(in_hall <= LEVEL_CAP, "{in_hall} in the hall");
    assert_eq!(refused, usize::from(CANDIDATES) * 2 - TOTAL_CAP as usize);
    let view = backends[1].read(ShardId::sale(name("rush")), Query::Sale, None).await.expect("a reading").view;
    let Ok(View::Sale(sale)) = view else { panic!("{view:?}") };
    assert_eq!((sale.live, sale.bookings), (TOTAL_CAP, TOTAL_CAP as usize));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_callers_with_one_key_one_is_fresh_and_all_hear_the_same() {
    let server = RedisServer::start(&[]);
    let clock = Arc::<GivenTime>::default();
    clock.set(AT_MS);
    let backends = [given_time::backend(&server.url(), &clock).await, given_time::backend(&server.url(), &clock).await];
    open(&backends[0]).await;
    let admit = Admit { candidate: candidate(7), email: None, level: name("hall") };
    let waiting: Vec<_> = (0..128).map(|caller| backends[caller % 2].submit(request("one", admit.clone()))).collect();
    let (mut fresh, mut entries) = (0, Vec::new());
    for answer in waiting {
        match answer.await.expect("an answer").decision {
            Decision::Accepted(entry) => {
                fresh += 1;
                entries.push(entry);
            }
            Decision::Replayed(entry) => entries.push(entry),
            Decision::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }
    assert_eq!((fresh, entries.len()), (1, 128));
    assert!(entries.windows(2).all(|pair| pair[0] == pair[1]), "somebody heard another entry");
}
