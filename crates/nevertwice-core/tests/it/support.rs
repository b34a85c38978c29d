//! What several test modules need.

use std::collections::{BTreeMap, BTreeSet};

use nevertwice_core::model::{Auditor, Step, Workload, WorkloadOptions, fingerprint_of};
use nevertwice_core::*;

/// A core and an auditor for each shard of a workload.
pub struct Bench {
    pub workload: Workload,
    pub states: BTreeMap<ShardId, State>,
    pub auditors: BTreeMap<ShardId, Auditor>,
    pub codes: BTreeMap<&'static str, usize>,
    pub accepted: BTreeMap<&'static str, usize>,
    pub replays: usize,
}

impl Bench {
    pub fn new(seed: u64, options: WorkloadOptions) -> Self {
        let workload = Workload::new(seed, options);
        let states = workload.shards().iter().map(|shard| (shard.clone(), State::new(shard.clone(), 1, (seed, 2)))).collect();
        let auditors = workload.shards().iter().map(|shard| (shard.clone(), Auditor::new(shard.clone()))).collect();
        Self { workload, states, auditors, codes: BTreeMap::new(), accepted: BTreeMap::new(), replays: 0 }
    }

    /// Decides and applies the next step without an audit.
    pub fn step(&mut self) -> (Step, Decision) {
        let step = self.workload.next_step();
        let state = self.states.get_mut(&step.shard).expect("the workload's shards are known");
        let decision = state.decide(&step.command, step.at_ms);
        match &decision {
            Decision::Accepted(entry) => {
                *self.accepted.entry(step.command.action.word()).or_default() += 1;
                state.apply(entry).unwrap_or_else(|error| panic!("step {}: {error}\n{step:?}\n{decision:?}", step.number));
            }
            Decision::Rejected(rejection) => *self.codes.entry(rejection.code()).or_default() += 1,
            Decision::Replayed(_) => self.replays += 1,
        }
        self.workload.observe(&step, &decision);
        (step, decision)
    }

    /// The same with an audit after it.
    pub fn audited_step(&mut self) -> (Step, Decision) {
        let (step, decision) = self.step();
        let auditor = self.auditors.get_mut(&step.shard).expect("the workload's shards are known");
        let state = &self.states[&step.shard];
        if let Err(violation) = auditor.check(state, &step.command, step.at_ms, &decision) {
            panic!("step {}: {violation}\n{step:?}\n{decision:?}", step.number);
        }
        (step, decision)
    }

    pub fn codes(&self) -> BTreeSet<&'static str> {
        self.codes.keys().copied().collect()
    }
}

/// One shard with an audit after every step, and a fresh key for each.
pub struct Shard {
    pub state: State,
    pub auditor: Auditor,
    pub at_ms: i64,
    keys: u64,
}

pub const START_MS: i64 = 1_000_000;
pub const RETENTION_MS: i64 = 10_000;
pub const HOLD_MS: i64 = 1_000;

impl Shard {
    pub fn new(shard: ShardId) -> Self {
        Self { state: State::new(shard.clone(), 3, (1, 2)), auditor: Auditor::new(shard), at_ms: START_MS, keys: 0 }
    }

    /// An open market with these bounds.
    pub fn market(fee_bps: i64, limits: MarketLimits) -> Self {
        let mut shard = Self::new(ShardId::market(name("m")));
        shard.accept(OpenMarket { decimals: 2, fee_bps, limits, mode: MarketMode::Open, retention_ms: RETENTION_MS });
        shard
    }

    /// A sale with open doors: `a` with two seats, `b` bounded by the total only, `none` with a cap of 0; five seats in total.
    pub fn sale() -> Self {
        let mut shard = Self::new(ShardId::sale(name("s")));
        let level = |level, cap| LevelCap { level: name(level), cap };
        shard.accept(OpenSale {
            levels: vec![level("a", Some(2)), level("b", None), level("none", Some(0))],
            total_cap: 5,
            hold_ms: HOLD_MS,
            opens_at: START_MS,
            closes_at: START_MS + 100_000,
            retention_ms: RETENTION_MS,
        });
        shard.accept(SetSaleOpen { open: true });
        let candidates = (1..=20).map(|id| CandidateFact { candidate: candidate(id), email: None, levels: 0b111 });
        shard.accept(LoadCandidates { candidates: candidates.collect() });
        shard
    }

    pub fn list(&mut self, instrument: &str, base: i64, slope: i64) {
        self.accept(ListInstrument { instrument: name(instrument), base, slope });
    }

    pub fn open(&mut self, account: &str, opening_balance: i64) {
        self.accept(OpenAccount { account: name(account), class: AccountClass::Player, opening_balance });
    }

    pub fn intent(&mut self) -> Intent {
        self.keys += 1;
        intent(&format!("k-{}", self.keys), self.keys)
    }

    pub fn ask(&mut self, action: impl Into<Action>) -> Decision {
        let command = Command::new(self.intent(), action);
        self.send(&command)
    }

    pub fn send(&mut self, command: &Command) -> Decision {
        let decision = self.state.decide(command, self.at_ms);
        if let Decision::Accepted(entry) = &decision {
            self.state.apply(entry).unwrap_or_else(|error| panic!("{error}\n{command:?}\n{entry:?}"));
        }
        if let Err(violation) = self.auditor.check(&self.state, command, self.at_ms, &decision) {
            panic!("{violation}\n{command:?}\n{decision:?}");
        }
        decision
    }

    pub fn accept(&mut self, action: impl Into<Action>) -> Entry {
        match self.ask(action) {
            Decision::Accepted(entry) => entry,
            other => panic!("expected an accepted decision: {other:?}"),
        }
    }

    pub fn refuse(&mut self, action: impl Into<Action>) -> Rejection {
        match self.ask(action) {
            Decision::Rejected(rejection) => rejection,
            other => panic!("expected a rejection: {other:?}"),
        }
    }

    pub fn admit(&mut self, id: u64, level: &str) -> Entry {
        self.accept(Admit { candidate: candidate(id), email: None, level: name(level) })
    }

    pub fn account(&self, account: &str) -> AccountView {
        match self.state.read(&Query::Account { account: name(account) }) {
            Ok(View::Account(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    pub fn instrument(&self, instrument: &str) -> InstrumentView {
        match self.state.read(&Query::Instrument { instrument: name(instrument) }) {
            Ok(View::Instrument(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    pub fn records(&self) -> Vec<Record> {
        records_of(&self.state)
    }
}

pub fn records_of(state: &State) -> Vec<Record> {
    let mut records = Vec::new();
    state.export(&mut |record| records.push(record));
    records
}

pub fn limits(quantity_max: i64, holding_max: i64, house_loss_max: i64) -> MarketLimits {
    MarketLimits { quantity_max, holding_max, house_loss_max }
}

pub fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

pub fn candidate(id: u64) -> CandidateId {
    CandidateId(fingerprint_of(id))
}

pub fn intent(key: &str, fingerprint: u64) -> Intent {
    Intent {
        principal: Principal::new("somebody").expect("a principal"),
        key: IdempotencyKey::new(key).expect("a key"),
        fingerprint: fingerprint_of(fingerprint),
        expires_at: None,
    }
}

/// An order without guards.
pub fn order(account: &str, side: Side, instrument: &str, quantity: i64) -> PlaceOrder {
    PlaceOrder {
        account: name(account),
        instrument: name(instrument),
        side,
        quantity,
        limit_price: None,
        expected_price: None,
        max_slippage_bps: None,
    }
}

pub fn filled(entry: &Entry) -> &OrderFilled {
    match entry.events.as_slice() {
        [Event::OrderFilled(filled)] => filled,
        other => panic!("expected a filled order: {other:?}"),
    }
}
