//! One suite for every store of keys: each command goes to the core's transition function and to the store, and every reply, the
//! record after it and the bytes of every replay must be the same; then what one command alone does not show: races, bounds, sweeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use nevertwice_api::{AnswerBytes, KeyStore, KeyStoreFailure, Level, Levels};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyId, KeyRecord, KeyRejection, LapsePolicy, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};

use crate::conformance::count;

/// A store under test, whose clock belongs to the suite.
pub trait Subject: Send + Sync {
    /// The store.
    fn store(&self) -> Arc<dyn KeyStore>;
    /// Sets what its clock shows.
    fn set_now(&self, at_ms: i64);
}

const T0: i64 = 1_790_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1_000;
const SEEDS: u64 = 40;
const STEPS: u64 = 120;

/// Runs the whole suite; `fresh` makes an empty store that holds so many records and so many bytes of answers, of which one may have
/// at least 2,048. Panics at the first difference, naming the seed and the step; returns how many cases ran.
pub async fn run<S: Subject>(fresh: &mut impl FnMut(u64, u64) -> S) -> u64 {
    let mut cases = 0;
    for seed in 0..SEEDS {
        cases += against_the_core(seed, &fresh(10_000, 1 << 20)).await;
    }
    cases += of_many_callers_one_works(&fresh(10_000, 1 << 20)).await;
    cases += a_takeover_has_one_winner(&fresh(10_000, 1 << 20)).await;
    cases += the_bound_refuses_and_evicts_nothing(&fresh(8, 1 << 20)).await;
    cases += bytes_are_bounded_and_no_claim_is_lost_for_them(&fresh(100, 2_048)).await;
    cases += a_sweep_is_bounded_and_frees_what_is_over(&fresh(10_000, 1 << 20)).await;
    cases += levels_that_are_not_offered_are_refused(&fresh(100, 1 << 20)).await;
    let store = fresh(1, 1_024).store();
    count(&format!("keys-{}", store.name()), cases);
    cases
}

/// Numbers that follow from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = usize::try_from(self.below(choices.len() as u64)).expect("a list is short");
        choices[index]
    }
}

fn id(number: u64) -> KeyId {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    KeyId(bytes)
}

fn owner(number: u64) -> OwnerId {
    OwnerId(id(number).0)
}

fn register(number: u64) -> RegisterKey {
    let lapse = LapsePolicy::Refuse;
    RegisterKey { fingerprint: [7; 32], owner: owner(number), lease_ms: 60_000, retention_ms: DAY, expires_at: None, lapse }
}

fn answer_bytes(length: usize) -> AnswerBytes {
    AnswerBytes { head: Bytes::from_static(&[0, 0]), body: Bytes::from(vec![b'x'; length]) }
}

fn complete(number: u64, generation: u64, bytes: &AnswerBytes) -> CompleteKey {
    CompleteKey { owner: owner(number), generation, answer: bytes.describe(201) }
}

async fn registered(store: &dyn KeyStore, key: u64, command: RegisterKey) -> Result<Registration, KeyRejection> {
    let told = store.register(id(key), command, Levels::NONE).await.expect("the store answers");
    told.reply.map(|registered| registered.registration)
}

async fn claimed(store: &dyn KeyStore, key: u64, number: u64) -> u64 {
    match registered(store, key, register(number)).await {
        Ok(Registration::Fresh(lease) | Registration::TakenOver(lease)) => lease.generation,
        other => panic!("key {key} is not fresh: {other:?}"),
    }
}

/// What the suite itself knows of one key.
#[derive(Default)]
struct Known {
    record: Option<KeyRecord>,
    bytes: AnswerBytes,
}

async fn against_the_core<S: Subject>(seed: u64, subject: &S) -> u64 {
    let store = subject.store();
    let mut numbers = Numbers(seed);
    let mut known: BTreeMap<u64, Known> = BTreeMap::new();
    let mut at_ms = T0;
    for step in 0..STEPS {
        let place = format!("seed {seed}, step {step}");
        at_ms += numbers.one_of(&[0, 0, 1, 500, 1_000, 60_000, -300, 40_000_000]);
        subject.set_now(at_ms);
        let key = numbers.below(3);
        let known = known.entry(key).or_default();
        let who = numbers.below(3);
        let first = known.record.as_ref().map_or(1, |record| record.generation);
        let generation = first.saturating_sub(numbers.one_of(&[0, 0, 0, 1]));
        let kind = numbers.below(5);
        step_of_kind(kind, &place, &*store, key, who, generation, known, &mut numbers, at_ms).await;
        let shown = store.inspect(id(key)).await.expect("the store answers");
        assert_eq!(shown.as_ref(), KeyRecord::remembered(known.record.as_ref(), at_ms), "{place}: another record than the core's");
    }
    STEPS
}

#[expect(clippy::too_many_arguments, reason = "a step is all of these")]
async fn step_of_kind(
    kind: u64,
    place: &str,
    store: &dyn KeyStore,
    key: u64,
    who: u64,
    generation: u64,
    known: &mut Known,
    numbers: &mut Numbers,
    at_ms: i64,
) {
    let record = known.record.as_ref();
    match kind {
        0 | 1 => {
            let command = RegisterKey {
                fingerprint: [numbers.one_of(&[7, 7, 7, 8]); 32],
                lease_ms: numbers.one_of(&[0, 1, 1_000, 60_000]),
                retention_ms: numbers.one_of(&[1_000, 61_000, DAY, 5]),
                expires_at: numbers.one_of(&[None, None, Some(T0 + 100_000), Some(at_ms + 500)]),
                lapse: numbers.one_of(LapsePolicy::ALL),
                ..register(who)
            };
            let expected = command.decide(record, at_ms);
            let told = store.register(id(key), command, Levels::NONE).await.expect("the store answers");
            let registration = told.reply.as_ref().map(|told| told.registration.clone()).map_err(|rejection| *rejection);
            assert_eq!((registration, told.at_ms), (expected.reply.clone(), at_ms), "{place}: another reply to a registration");
            match (&told.reply, &expected.change) {
                (Ok(told), None) if matches!(told.registration, Registration::Replay { .. }) => {
                    assert_eq!(told.bytes, known.bytes, "{place}: other bytes than were kept");
                }
                (Ok(told), _) => assert_eq!(told.bytes, AnswerBytes::default(), "{place}: bytes without a replay"),
                (Err(_), _) => {}
            }
            take(known, expected.change, AnswerBytes::default());
        }
        2 => {
            let bytes = answer_bytes(usize::try_from(numbers.below(2_000)).expect("it is small"));
            let is_tombstone = numbers.below(4) == 0;
            let answer = if is_tombstone { AnswerBytes::tombstone(200, 9_000_000) } else { bytes.describe(201) };
            let bytes = if is_tombstone { AnswerBytes::default() } else { bytes };
            let command = CompleteKey { owner: owner(who), generation, answer };
            let expected = command.decide(record, at_ms);
            let told = store.complete(id(key), command, bytes.clone(), Levels::NONE).await.expect("the store answers");
            assert_eq!((told.reply, told.at_ms), (expected.reply, at_ms), "{place}: another reply to a completion");
            take(known, expected.change, bytes);
        }
        3 => {
            let command = RenewLease { owner: owner(who), generation, lease_ms: numbers.one_of(&[0, 1, 60_000, -1, i64::MAX]) };
            let expected = command.decide(record, at_ms);
            let told = store.renew(id(key), command).await.expect("the store answers");
            assert_eq!((told.reply, told.at_ms), (expected.reply, at_ms), "{place}: another reply to a renewal");
            take(known, expected.change, AnswerBytes::default());
        }
        _ => {
            let command = ReleaseKey { owner: owner(who), generation };
            let expected = command.decide(record, at_ms);
            let told = store.release(id(key), command, Levels::NONE).await.expect("the store answers");
            assert_eq!((told.reply, told.at_ms), (expected.reply, at_ms), "{place}: another reply to a release");
            take(known, expected.change, AnswerBytes::default());
        }
    }
}

fn take(known: &mut Known, change: Option<KeyRecord>, bytes: AnswerBytes) {
    if change.is_some() {
        *known = Known { record: change, bytes };
    }
}

const CALLERS: u64 = 2_000;

async fn of_many_callers_one_works<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    let calls: Vec<_> = (0..CALLERS)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { registered(&*store, 1, register(number)).await })
        })
        .collect();
    let (mut fresh, mut told) = (0, 0);
    for call in calls {
        match call.await.expect("a caller does not panic") {
            Ok(Registration::Fresh(_)) => fresh += 1,
            Err(KeyRejection::KeyInProgress { .. }) => told += 1,
            other => panic!("a caller of many was told {other:?}"),
        }
    }
    assert_eq!((fresh, told), (1, CALLERS - 1), "of many callers exactly one works");
    CALLERS
}

async fn a_takeover_has_one_winner<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    let first = claimed(&*store, 1, 1).await;
    subject.set_now(T0 + 60_000);
    let calls: Vec<_> = (10..210)
        .map(|number| {
            let store = store.clone();
            let command = RegisterKey { lapse: LapsePolicy::Rerun, ..register(number) };
            tokio::spawn(async move { registered(&*store, 1, command).await })
        })
        .collect();
    let mut winners = 0;
    for call in calls {
        if let Ok(Registration::TakenOver(lease)) = call.await.expect("a caller does not panic") {
            assert_eq!(lease.generation, first + 1);
            winners += 1;
        }
    }
    assert_eq!(winners, 1, "a lapsed claim is taken over once");
    let bytes = answer_bytes(1);
    let late = store.complete(id(1), complete(1, first, &bytes), bytes, Levels::NONE).await.expect("the store answers");
    assert_eq!(late.reply, Err(KeyRejection::StaleOwner { generation: first + 1 }));
    201
}

async fn the_bound_refuses_and_evicts_nothing<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    let bytes = answer_bytes(10);
    for key in 0..8 {
        let generation = claimed(&*store, key, key).await;
        let told = store.complete(id(key), complete(key, generation, &bytes), bytes.clone(), Levels::NONE).await;
        assert_eq!(told.expect("the store answers").reply, Ok(Completion::Kept));
    }
    for key in 100..140 {
        let told = store.register(id(key), register(key), Levels::NONE).await;
        assert_eq!(told.err(), Some(KeyStoreFailure::Full), "a claim beyond the bound");
    }
    for key in 0..8 {
        let told = registered(&*store, key, register(99)).await;
        assert!(matches!(told, Ok(Registration::Replay { .. })), "key {key} was forgotten for a newer one: {told:?}");
    }
    subject.set_now(T0 + DAY);
    while store.sweep(64).await.expect("the store answers").freed > 0 {}
    assert_eq!(store.status().records, 0);
    claimed(&*store, 100, 1).await;
    58
}

async fn bytes_are_bounded_and_no_claim_is_lost_for_them<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    let (first, second) = (claimed(&*store, 1, 1).await, claimed(&*store, 2, 2).await);
    let bytes = answer_bytes(1_500);
    let told = store.complete(id(1), complete(1, first, &bytes), bytes.clone(), Levels::NONE).await.expect("the store answers");
    assert_eq!(told.reply, Ok(Completion::Kept));
    let told = store.complete(id(2), complete(2, second, &bytes), bytes.clone(), Levels::NONE).await;
    assert_eq!(told.err(), Some(KeyStoreFailure::Full), "bytes beyond the bound");
    let told = registered(&*store, 2, register(3)).await;
    assert!(matches!(told, Err(KeyRejection::KeyInProgress { .. })), "the claim was lost: {told:?}");
    let tombstone = CompleteKey { owner: owner(2), generation: second, answer: AnswerBytes::tombstone(201, 1_500) };
    let told = store.complete(id(2), tombstone, AnswerBytes::default(), Levels::NONE).await.expect("the store answers");
    assert_eq!(told.reply, Ok(Completion::Kept), "a tombstone takes no room");
    let third = claimed(&*store, 3, 3).await;
    let other = AnswerBytes { body: Bytes::from_static(b"something else"), ..bytes.clone() };
    let told = store.complete(id(3), complete(3, third, &bytes), other, Levels::NONE).await;
    assert_eq!(told.err(), Some(KeyStoreFailure::BytesRefused), "bytes that are not the answer's");
    let huge = answer_bytes(usize::try_from(store.answer_bytes_max()).expect("a test's bound is small"));
    let told = store.complete(id(3), complete(3, third, &huge), huge, Levels::NONE).await;
    assert_eq!(told.err(), Some(KeyStoreFailure::BytesRefused), "one answer beyond its bound");
    assert!(store.status().answer_bytes <= store.status().answer_bytes_max);
    8
}

async fn a_sweep_is_bounded_and_frees_what_is_over<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    for key in 0..1_000 {
        let retention_ms = if key % 2 == 0 { 61_000 } else { DAY };
        let told = registered(&*store, key, RegisterKey { retention_ms, ..register(key) }).await;
        assert!(matches!(told, Ok(Registration::Fresh(_))), "{told:?}");
    }
    subject.set_now(T0 + 61_000);
    let (mut freed, mut sweeps) = (0, 0);
    while freed < 500 {
        let swept = store.sweep(37).await.expect("the store answers");
        assert!(swept.seen <= 37 && swept.freed <= swept.seen, "{swept:?}");
        (freed, sweeps) = (freed + swept.freed, sweeps + 1);
        assert!(sweeps < 3_000, "sweeps go round: {freed} were freed");
    }
    for _ in 0..2_000 {
        store.sweep(37).await.expect("the store answers");
    }
    let status = store.status();
    assert_eq!((status.records, status.lapsed), (500, 500), "what is past its lease is counted although nobody asks");
    for key in (1..1_000).step_by(2) {
        let told = registered(&*store, key, register(5_000)).await;
        assert!(matches!(told, Err(KeyRejection::KeyLapsed { .. })), "key {key} was swept too early: {told:?}");
    }
    1_500
}

async fn levels_that_are_not_offered_are_refused<S: Subject>(subject: &S) -> u64 {
    subject.set_now(T0);
    let store = subject.store();
    let mut cases = 0;
    for level in Level::ALL {
        let told = store.register(id(cases), register(cases), Levels::reached(level)).await;
        let expected = store.offers().contains_all(Levels::reached(level));
        match told {
            Ok(told) => assert!(expected && told.levels.contains(level), "{level} was not reached"),
            Err(failure) => assert!(!expected && failure == KeyStoreFailure::LevelUnavailable, "{level}: {failure}"),
        }
        cases += 1;
    }
    cases
}
