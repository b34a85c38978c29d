//! One suite for every backend: the seeded workload goes to the pure core and to the backend, and every answer, every read and
//! the state hash after every step must be the same.
//!
//! The backend's clock belongs to the suite, and steps go one at a time, so the two can differ in nothing but a fault.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;

use nevertwice_api::{Answer, Backend, BoxFuture, Levels, Request};
use nevertwice_core::model::{Auditor, Step, Workload, WorkloadOptions};
use nevertwice_core::{Decision, Query, Rejection, ScanCursor, ShardId, ShardKind, State};

/// A backend under test, with what the suite needs to hold in its hands.
pub trait Subject {
    /// The name under which its cases are counted.
    fn name(&self) -> &'static str;
    /// The backend.
    fn backend(&self) -> &dyn Backend;
    /// Sets what its clock shows.
    fn set_now(&self, at_ms: i64);
    /// The epoch that its next new shard begins with.
    fn epoch(&self) -> u32;
    /// Whether a *no* for an intent that has expired stays the last word through a restart.
    fn keeps_last_words(&self) -> bool {
        false
    }
    /// Stops it and starts it again on the same data, if it has any; the suite then goes on.
    fn restart(&mut self) -> BoxFuture<'_, ()>;
}

/// How much of a workload is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seeds.
    pub seeds: std::ops::Range<u64>,
    /// Steps of each.
    pub steps: u64,
    /// The backend is restarted after so many steps; 0: never.
    pub restart_every: u64,
}

/// Runs the plan, one fresh subject a seed. Panics at the first difference, naming seed and step; returns how many cases ran.
pub async fn run<S: Subject>(plan: &Plan, mut fresh: impl AsyncFnMut(u64) -> S) -> u64 {
    let mut cases = 0;
    let mut name = None;
    for seed in plan.seeds.clone() {
        let mut subject = fresh(seed).await;
        name = Some(subject.name());
        cases += run_seed(plan, seed, &mut subject).await;
    }
    count(name.expect("a plan has at least one seed"), cases);
    cases
}

async fn run_seed<S: Subject>(plan: &Plan, seed: u64, subject: &mut S) -> u64 {
    let mut workload = Workload::new(seed, WorkloadOptions::default());
    let mut pure = Pure::new(workload.shards(), subject.epoch());
    for number in 0..plan.steps {
        if plan.restart_every > 0 && number > 0 && number % plan.restart_every == 0 {
            subject.restart().await;
            pure.adopt(subject.epoch(), subject.keeps_last_words());
        }
        let step = workload.next_step();
        let place = format!("seed {seed}, step {number}, {} on {}", step.command.action.word(), step.shard);
        let (expected, state) = pure.step(&step, &place);
        subject.set_now(step.at_ms);
        let request = Request { shard: step.shard.clone(), command: step.command.clone(), levels: Levels::NONE };
        let answer = subject.backend().submit(request).await;
        let Answer { decision, position, .. } = answer.unwrap_or_else(|failure| panic!("{place}: no answer: {failure}"));
        assert_eq!(decision, expected, "{place}: another answer than the core's");
        assert_eq!(position, state.position(), "{place}: answered at another position");
        compare_state(subject.backend(), state, &expected, &place).await;
        workload.observe(&step, &expected);
    }
    plan.steps
}

/// The same shards, decided by the core alone and followed by the auditor.
struct Pure {
    states: BTreeMap<ShardId, (State, Auditor)>,
    /// The latest instant at which a shard that is open told somebody that an intent has expired, since the last restart
    /// unless the backend keeps that: that *no* is the last word, so a backend that runs does not let the shard's time go back behind it.
    final_at_ms: BTreeMap<ShardId, i64>,
}

impl Pure {
    fn new(shards: &[ShardId], epoch: u32) -> Self {
        // Another seed than any backend's: neither decisions nor hashes may depend on it.
        let state = |shard: &ShardId| (State::new(shard.clone(), epoch, (7, 11)), Auditor::new(shard.clone()));
        Self { states: shards.iter().map(|shard| (shard.clone(), state(shard))).collect(), final_at_ms: BTreeMap::new() }
    }

    fn adopt(&mut self, epoch: u32, keeps_last_words: bool) {
        for (state, _) in self.states.values_mut() {
            state.adopt(epoch);
        }
        if !keeps_last_words {
            self.final_at_ms.clear();
        }
    }

    fn step(&mut self, step: &Step, place: &str) -> (Decision, &State) {
        let (state, auditor) = self.states.get_mut(&step.shard).expect("a step goes to one of the workload's shards");
        let at_ms = self.final_at_ms.get(&step.shard).copied().unwrap_or(i64::MIN).max(step.at_ms);
        let decision = state.decide(&step.command, at_ms);
        if let Decision::Rejected(Rejection::IntentExpired { .. }) = decision
            && state.is_open()
        {
            self.final_at_ms.insert(step.shard.clone(), at_ms);
        }
        if let Decision::Accepted(entry) = &decision {
            state.apply(entry).unwrap_or_else(|error| panic!("{place}: the core's own entry does not fit: {error}"));
        }
        if let Err(violation) = auditor.check(state, &step.command, at_ms, &decision) {
            panic!("{place}: the core breaks an invariant: {violation}");
        }
        (decision, state)
    }
}

async fn compare_state(backend: &dyn Backend, state: &State, decision: &Decision, place: &str) {
    let shard = state.shard().clone();
    let (position, hash) = backend.state_hash(shard.clone()).await.unwrap_or_else(|failure| panic!("{place}: no hash: {failure}"));
    assert_eq!((position, hash), (state.position(), state.state_hash()), "{place}: another state than the core's");
    for query in queries(&shard, decision) {
        let reading = backend.read(shard.clone(), query.clone(), None).await;
        let reading = reading.unwrap_or_else(|failure| panic!("{place}: {query:?} was not read: {failure}"));
        assert_eq!(reading.position, state.position(), "{place}: {query:?} was read as of another position");
        if !matches!(query, Query::Bookings { .. } | Query::Holders { .. } | Query::DueHolds { .. }) {
            assert_eq!(reading.view, state.read(&query), "{place}: {query:?} shows something else");
        }
    }
}

/// Reads that show what the decision touched. The pieces of scans differ with the seed of the tables; the hash covers them.
fn queries(shard: &ShardId, decision: &Decision) -> Vec<Query> {
    use nevertwice_core::Event;
    let mut queries = match shard.kind {
        ShardKind::Market => vec![Query::Market, Query::Instruments { from: 0 }],
        ShardKind::Sale => vec![Query::Sale, Query::Bookings { cursor: ScanCursor::default() }],
    };
    let (Decision::Accepted(entry) | Decision::Replayed(entry)) = decision else { return queries };
    queries.push(Query::Intent { principal: entry.intent.principal.clone(), key: entry.intent.key.clone() });
    for event in &entry.events {
        match event {
            Event::OrderFilled(filled) => {
                queries.push(Query::Account { account: filled.account.clone() });
                queries.push(Query::Holdings { account: filled.account.clone(), from: 0 });
                queries.push(Query::Instrument { instrument: filled.instrument.clone() });
                queries.push(Query::Quote { instrument: filled.instrument.clone(), side: filled.side, quantity: 1 });
            }
            Event::CandidateAdmitted(admitted) => {
                queries.push(Query::Booking { booking: entry.position });
                queries.push(Query::BookingOf { candidate: admitted.candidate });
            }
            Event::PaymentConfirmed(confirmed) => queries.push(Query::Booking { booking: confirmed.booking }),
            Event::BookingReleased(released) => queries.push(Query::Booking { booking: released.booking }),
            _ => {}
        }
    }
    queries
}

/// Tells whoever runs all suites how many cases this backend ran, so that none is left out in silence.
pub fn count(name: &str, cases: u64) {
    let Some(folder) = std::env::var_os("NVT_CONFORMANCE_DIR") else { return };
    let path = std::path::Path::new(&folder).join(format!("{name}.count"));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{cases}"));
    written.unwrap_or_else(|error| panic!("{} can't be written: {error}", path.display()));
}
