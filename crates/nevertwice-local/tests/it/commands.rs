//! Commands, a clock and a backend for the tests.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use nevertwice_api::{Answer, Backend, Failure, Levels, NoObserver, Request};
use nevertwice_core::{
    AccountClass, Action, CallerName, CallerRole, CandidateFact, CandidateId, Command, Decision, Entry, IdempotencyKey, Intent, LevelCap,
    ListInstrument, LoadCandidates, MarketLimits, MarketMode, Name, OpenAccount, OpenMarket, OpenSale, Origin, PeerAddress, PlaceOrder,
    Principal, Rejection, ShardId, Side, State, TraceContext,
};
use nevertwice_local::clock::Clock;
use nevertwice_local::error::OpenError;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::Storage;
use nevertwice_local::{LocalBackend, LocalOptions, RestoreReport};

use crate::support::Random;

pub(crate) const START_MS: i64 = 1_800_000_000_000;

/// A clock that stands still unless it is moved.
pub(crate) struct StillClock(pub(crate) AtomicI64);

impl Clock for StillClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) fn small_options() -> LocalOptions {
    LocalOptions { snapshot_bytes: 0, journal: JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 }, ..LocalOptions::default() }
}

pub(crate) fn open_at(
    storage: &(impl Storage + Clone),
    options: &LocalOptions,
    now_ms: i64,
) -> Result<(LocalBackend, RestoreReport), OpenError> {
    let clock = Arc::new(StillClock(AtomicI64::new(now_ms)));
    LocalBackend::open(Arc::new(storage.clone()), clock, Arc::new(NoObserver), options)
}

pub(crate) fn open(storage: &(impl Storage + Clone)) -> Result<(LocalBackend, RestoreReport), OpenError> {
    open_at(storage, &small_options(), START_MS)
}

/// Runs a future here; the backend has threads of its own.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn market() -> ShardId {
    ShardId::market(name("cup"))
}

pub(crate) fn sale() -> ShardId {
    ShardId::sale(name("final"))
}

pub(crate) fn request(shard: ShardId, key: &str, action: impl Into<Action>) -> Request {
    let action = action.into();
    let mut fingerprint = [0; 32];
    for (at, byte) in format!("{action:?}").bytes().enumerate() {
        fingerprint[at % 32] = u8::wrapping_mul(fingerprint[at % 32], 31).wrapping_add(byte);
    }
    let intent =
        Intent { principal: Principal::new("tests").unwrap(), key: IdempotencyKey::new(key).unwrap(), fingerprint, expires_at: None };
    Request { shard, command: Command::new(intent, action), levels: Levels::NONE }
}

/// The same request, whose entry tells that an operator sent it.
pub(crate) fn told(mut request: Request) -> Request {
    request.command.origin = Some(Box::new(Origin {
        caller: CallerName::new("desk").unwrap(),
        role: CallerRole::Operator,
        address: Some(PeerAddress::new("192.0.2.7").unwrap()),
        trace: TraceContext::new(5, 6, 1),
    }));
    request
}

/// The entry as it is remembered with its intent: where it came from is not.
pub(crate) fn remembered(entry: &Entry) -> Entry {
    Entry { origin: None, before: None, ..entry.clone() }
}

pub(crate) fn open_market() -> OpenMarket {
    OpenMarket {
        decimals: 2,
        fee_bps: 25,
        limits: MarketLimits { quantity_max: 1_000, holding_max: 1_000_000, house_loss_max: 0 },
        mode: MarketMode::Open,
        retention_ms: 86_400_000,
    }
}

pub(crate) fn order(account: &str, side: Side, quantity: i64) -> PlaceOrder {
    PlaceOrder {
        account: name(account),
        instrument: name("messi"),
        side,
        quantity,
        limit_price: None,
        expected_price: None,
        max_slippage_bps: None,
    }
}

/// What opens the market: itself, an instrument, three accounts.
pub(crate) fn opening() -> Vec<Request> {
    let mut requests = vec![
        request(market(), "open", open_market()),
        request(market(), "list", ListInstrument { instrument: name("messi"), base: 100, slope: 1 }),
    ];
    for account in ["ann", "ben", "cy"] {
        let open = OpenAccount { account: name(account), class: AccountClass::Player, opening_balance: 100_000 };
        requests.push(request(market(), &format!("account {account}").replace(' ', "-"), open));
    }
    requests
}

/// The opening, and then a seeded mixture: orders of all kinds, repeated keys, a sale with candidates in large entries.
pub(crate) fn workload(seed: u64, len: usize) -> Vec<Request> {
    let mut random = Random(seed);
    let mut requests = opening();
    let levels = vec![LevelCap { level: name("stands"), cap: Some(3) }];
    let open = OpenSale {
        levels,
        total_cap: 3,
        hold_ms: 600_000,
        opens_at: START_MS - 1_000,
        closes_at: START_MS + 86_400_000,
        retention_ms: 86_400_000,
    };
    requests.push(request(sale(), "open", open));
    while requests.len() < len {
        let number = requests.len();
        let next = match random.below(10) {
            0 => requests[random.below(number as u64) as usize].clone(),
            1 => {
                let fact = |at: u64| CandidateFact {
                    candidate: CandidateId(digest(number as u64 * 1_000 + at)),
                    email: Some(digest(at)),
                    levels: 1,
                };
                let candidates = (0..120).map(fact).collect();
                let load = request(sale(), &format!("load-{number}"), LoadCandidates { candidates });
                if number.is_multiple_of(2) { told(load) } else { load }
            }
            _ => {
                let account = ["ann", "ben", "cy", "dan"][random.below(4) as usize];
                let side = if random.below(3) == 0 { Side::Sell } else { Side::Buy };
                request(market(), &format!("order-{number}"), order(account, side, random.below(40) as i64))
            }
        };
        requests.push(next);
    }
    requests
}

fn digest(number: u64) -> [u8; 32] {
    let mut digest = [7; 32];
    digest[..8].copy_from_slice(&number.to_le_bytes());
    digest
}

/// The same decisions without a backend.
pub(crate) struct Twin {
    pub(crate) shards: Vec<(State, Vec<Entry>)>,
}

impl Twin {
    pub(crate) fn new() -> Twin {
        Twin { shards: [market(), sale()].map(|shard| (State::new(shard, 1, (1, 2)), Vec::new())).into() }
    }

    pub(crate) fn shard(&mut self, shard: &ShardId) -> &mut (State, Vec<Entry>) {
        self.shards.iter_mut().find(|(state, _)| state.shard() == shard).unwrap()
    }

    pub(crate) fn decide(&mut self, request: &Request) -> Decision {
        let (state, entries) = self.shard(&request.shard);
        let decision = state.decide(&request.command, START_MS);
        if let Decision::Accepted(entry) = &decision {
            state.apply(entry).unwrap();
            entries.push(entry.clone());
        }
        decision
    }

    /// Forgets what came after `seq`.
    pub(crate) fn rewind(&mut self, shard: &ShardId, seq: u64) {
        let (state, entries) = self.shard(shard);
        entries.truncate(seq as usize);
        let mut rebuilt = State::new(shard.clone(), 1, (3, 4));
        for entry in entries.iter() {
            rebuilt.apply(entry).unwrap();
        }
        *state = rebuilt;
    }
}

pub(crate) fn submit(backend: &LocalBackend, request: &Request) -> Result<Answer, Failure> {
    wait(backend.submit(request.clone()))
}

pub(crate) fn accepted(answer: Result<Answer, Failure>) -> Entry {
    match answer.unwrap().decision {
        Decision::Accepted(entry) => entry,
        other => panic!("not accepted: {other:?}"),
    }
}

pub(crate) fn rejected(answer: Result<Answer, Failure>) -> Rejection {
    match answer.unwrap().decision {
        Decision::Rejected(rejection) => rejection,
        other => panic!("not rejected: {other:?}"),
    }
}
