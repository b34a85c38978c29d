//! The rules of a key, one by one.

use nevertwice_core::keys::*;
use nevertwice_core::limits::{AT_MS_MAX, GENERATION_MAX, LEASE_MS_MAX, RETENTION_MS_MIN};

const DAY: i64 = 24 * 60 * 60 * 1_000;
const T0: i64 = 1_790_000_000_000;
/// The generation of a first claim at that instant.
const G: u64 = T0.unsigned_abs();

fn owner(number: u8) -> OwnerId {
    OwnerId([number; 32])
}

fn register(number: u8) -> RegisterKey {
    RegisterKey {
        fingerprint: [7; 32],
        owner: owner(number),
        lease_ms: 60_000,
        retention_ms: DAY,
        expires_at: None,
        lapse: LapsePolicy::Refuse,
    }
}

fn answer(status: u32) -> KeyAnswer {
    KeyAnswer { status, head_bytes: 3, head_digest: [1; 32], body_bytes: 5, body_digest: [2; 32], body: BodyKept::Whole }
}

/// A record under one hand, as a store keeps it.
#[derive(Default)]
struct Store(Option<KeyRecord>);

impl Store {
    fn keep<R>(&mut self, decision: KeyDecision<R>) -> Result<R, KeyRejection> {
        if let Some(record) = decision.change {
            self.0 = Some(record);
        }
        decision.reply
    }

    fn register(&mut self, command: &RegisterKey, at_ms: i64) -> Result<Registration, KeyRejection> {
        self.keep(command.decide(self.0.as_ref(), at_ms))
    }

    fn complete(&mut self, number: u8, generation: u64, status: u32, at_ms: i64) -> Result<Completion, KeyRejection> {
        self.keep(CompleteKey { owner: owner(number), generation, answer: answer(status) }.decide(self.0.as_ref(), at_ms))
    }

    fn renew(&mut self, number: u8, generation: u64, lease_ms: i64, at_ms: i64) -> Result<Lease, KeyRejection> {
        self.keep(RenewLease { owner: owner(number), generation, lease_ms }.decide(self.0.as_ref(), at_ms))
    }

    fn release(&mut self, number: u8, generation: u64, at_ms: i64) -> Result<(), KeyRejection> {
        self.keep(ReleaseKey { owner: owner(number), generation }.decide(self.0.as_ref(), at_ms))
    }

    fn generation(&self) -> u64 {
        self.0.as_ref().map_or(0, |record| record.generation)
    }
}

fn claimed() -> Store {
    let mut store = Store::default();
    let fresh = store.register(&register(1), T0);
    assert_eq!(fresh, Ok(Registration::Fresh(Lease { generation: G, expires_at: T0 + 60_000 })));
    store
}

#[test]
fn one_caller_works_and_the_others_are_told_how_long() {
    let mut store = claimed();
    let told = store.register(&register(2), T0 + 59_999);
    assert_eq!(told, Err(KeyRejection::KeyInProgress { generation: G, lease_expires_at: T0 + 60_000 }));
    assert_eq!(store.complete(1, G, 201, T0 + 1), Ok(Completion::Kept));
    assert_eq!(store.register(&register(2), T0 + 2), Ok(Registration::Replay { generation: G, answer: answer(201) }));
}

#[test]
fn another_fingerprint_is_a_mismatch_before_it_is_in_progress_lapsed_or_answered() {
    let other = RegisterKey { fingerprint: [8; 32], lapse: LapsePolicy::Rerun, ..register(2) };
    let mismatch = Err(KeyRejection::FingerprintMismatch { generation: G });
    let mut store = claimed();
    assert_eq!(store.register(&other, T0), mismatch);
    assert_eq!(store.register(&other, T0 + 60_000), mismatch);
    assert_eq!(store.register(&RegisterKey { owner: owner(1), ..other.clone() }, T0), mismatch);
    store.complete(1, G, 200, T0).expect("the owner answers");
    assert_eq!(store.register(&other, T0), mismatch);
}

#[test]
fn a_key_that_was_given_back_takes_another_fingerprint_and_the_next_generation() {
    let mut store = claimed();
    assert_eq!(store.release(1, G, T0 + 5), Ok(()));
    assert_eq!(store.release(1, G, T0 + 6), Ok(()), "the reply may have been lost");
    assert_eq!(store.generation(), G);
    let next = RegisterKey { fingerprint: [8; 32], ..register(2) };
    assert_eq!(store.register(&next, T0 + 7), Ok(Registration::Fresh(Lease { generation: G + 1, expires_at: T0 + 60_007 })));
    assert_eq!(store.release(1, G, T0 + 8), Err(KeyRejection::StaleOwner { generation: G + 1 }));
}

#[test]
fn a_lapsed_key_is_refused_run_again_or_asked_about() {
    let end = T0 + 60_000;
    let refused = Err(KeyRejection::KeyLapsed { generation: G, lease_expired_at: end });
    assert_eq!(claimed().register(&register(2), end), refused);
    assert_eq!(claimed().register(&register(2), T0 + DAY - 1), refused, "until the retention is over");
    for lapse in [LapsePolicy::Rerun, LapsePolicy::Ask] {
        let taken = claimed().register(&RegisterKey { lapse, ..register(2) }, end);
        assert_eq!(taken, Ok(Registration::TakenOver(Lease { generation: G + 1, expires_at: end + 60_000 })));
    }
    let late = |lapse| RegisterKey { lapse, expires_at: Some(end), ..register(2) };
    assert_eq!(claimed().register(&late(LapsePolicy::Rerun), end), refused, "nothing runs after the key's own time");
    assert!(matches!(claimed().register(&late(LapsePolicy::Ask), end), Ok(Registration::TakenOver(_))));
}

#[test]
fn an_owner_whom_nobody_replaced_may_be_late() {
    let mut store = claimed();
    assert_eq!(store.renew(1, G, 10, T0 + 70_000), Ok(Lease { generation: G, expires_at: T0 + 70_010 }));
    assert_eq!(store.complete(1, G, 200, T0 + 90_000), Ok(Completion::Kept));
}

#[test]
fn an_owner_who_was_replaced_changes_nothing() {
    let mut store = claimed();
    store.register(&RegisterKey { lapse: LapsePolicy::Rerun, ..register(2) }, T0 + 60_000).expect("it is taken over");
    let before = store.0.clone();
    let stale = KeyRejection::StaleOwner { generation: G + 1 };
    assert_eq!(store.complete(1, G, 200, T0 + 60_001), Err(stale));
    assert_eq!(store.renew(1, G, 60_000, T0 + 60_001), Err(stale));
    assert_eq!(store.release(1, G, T0 + 60_001), Err(stale));
    assert_eq!(store.complete(1, G + 1, 200, T0 + 60_001), Err(stale), "its generation alone does not help");
    assert_eq!(store.complete(2, G, 200, T0 + 60_001), Err(stale), "nor does the owner alone");
    assert_eq!(store.0, before);
}

#[test]
fn an_answer_stands() {
    let mut store = claimed();
    store.complete(1, G, 201, T0 + 1).expect("the owner answers");
    let before = store.0.clone();
    assert_eq!(store.complete(1, G, 500, T0 + 2), Ok(Completion::KeptBefore));
    assert_eq!(store.renew(1, G, 60_000, T0 + 2), Err(KeyRejection::KeyCompleted));
    assert_eq!(store.release(1, G, T0 + 2), Err(KeyRejection::KeyCompleted));
    assert_eq!(store.0, before);
}

#[test]
fn the_same_attempt_finds_its_own_claim_when_the_reply_was_lost() {
    let mut store = claimed();
    let lease = Lease { generation: G, expires_at: T0 + 60_000 };
    assert_eq!(store.register(&register(1), T0 + 1), Ok(Registration::Resumed(lease)));
    assert_eq!(store.register(&register(1), T0 + 70_000), Ok(Registration::Resumed(lease)), "it is not taken from itself");
}

#[test]
fn a_record_keeps_for_the_retention_from_its_last_change_whatever_its_state() {
    let mut store = claimed();
    store.renew(1, G, 1, T0 + 100).expect("the owner renews");
    let end = T0 + 100 + DAY;
    assert!(matches!(store.register(&register(2), end - 1), Err(KeyRejection::KeyLapsed { .. })));
    assert_eq!(store.complete(1, G, 200, end), Err(KeyRejection::UnknownKey));
    assert!(matches!(store.register(&register(2), end), Ok(Registration::Fresh(_))));
}

#[test]
fn a_key_that_comes_after_its_own_time_is_refused_and_a_known_one_is_answered() {
    let late = RegisterKey { expires_at: Some(T0), ..register(2) };
    assert_eq!(Store::default().register(&late, T0), Err(KeyRejection::IntentExpired { expires_at: T0 }));
    assert!(Store::default().register(&late, T0 - 1).is_ok());
    let far = RegisterKey { expires_at: Some(T0 + DAY + 1), ..register(2) };
    assert_eq!(Store::default().register(&far, T0), Err(KeyRejection::IntentExpiryTooFar { expires_at_max: T0 + DAY }));
    let mut store = claimed();
    assert!(matches!(store.register(&late, T0 + 1), Err(KeyRejection::KeyInProgress { .. })));
    store.complete(1, G, 200, T0 + 2).expect("the owner answers");
    assert!(matches!(store.register(&late, T0 + 3), Ok(Registration::Replay { .. })));
}

#[test]
fn an_owner_who_knows_no_outcome_ends_its_lease_at_once() {
    let mut store = claimed();
    store.renew(1, G, 0, T0 + 5).expect("the owner renews");
    assert!(store.0.as_ref().is_some_and(|record| record.is_lapsed(T0 + 5)));
    assert_eq!(store.register(&register(2), T0 + 5), Err(KeyRejection::KeyLapsed { generation: G, lease_expired_at: T0 + 5 }));
}

#[test]
fn a_clock_that_goes_back_takes_nothing_back() {
    let mut store = claimed();
    store.renew(1, G, 1_000, T0 + 500).expect("the owner renews");
    assert_eq!(store.renew(1, G, 1_000, T0 - 9), Ok(Lease { generation: G, expires_at: T0 + 1_500 }));
    assert_eq!(store.0.as_ref().map(|record| record.changed_at), Some(T0 + 500));
}

#[test]
fn settings_outside_their_ranges_are_refused_and_named() {
    type Spoil = fn(&mut RegisterKey);
    let cases: [(&str, Spoil); 5] = [
        ("retention_ms", |command| command.retention_ms = RETENTION_MS_MIN - 1),
        ("retention_ms", |command| command.retention_ms = i64::MAX),
        ("lease_ms", |command| command.lease_ms = -1),
        ("lease_ms", |command| command.lease_ms = LEASE_MS_MAX + 1),
        ("lease_ms", |command| command.retention_ms = command.lease_ms),
    ];
    for (setting, spoil) in cases {
        let mut command = register(2);
        spoil(&mut command);
        assert_eq!(claimed().register(&command, T0), Err(KeyRejection::SettingOutOfRange { setting }));
    }
    for at_ms in [-1, AT_MS_MAX + 1, i64::MIN, i64::MAX] {
        assert_eq!(claimed().register(&register(2), at_ms), Err(KeyRejection::InstantOutOfRange));
        assert_eq!(claimed().complete(1, G, 200, at_ms), Err(KeyRejection::InstantOutOfRange));
    }
    for status in [0, 99, 600] {
        assert_eq!(claimed().complete(1, G, status, T0), Err(KeyRejection::SettingOutOfRange { setting: "status" }));
    }
}

#[test]
fn a_forgotten_key_begins_above_where_it_was() {
    let mut store = claimed();
    for _ in 0..500 {
        let generation = store.generation();
        store.release(1, generation, T0).expect("the owner gives it back");
        store.register(&register(1), T0).expect("it is free");
    }
    let before = store.generation();
    assert_eq!(before, G + 500);
    assert!(matches!(store.register(&register(2), T0 + DAY), Ok(Registration::Fresh(lease)) if lease.generation > before));
}

#[test]
fn generations_end() {
    let mut store = claimed();
    store.release(1, G, T0).expect("the owner gives it back");
    if let Some(record) = &mut store.0 {
        record.generation = GENERATION_MAX;
    }
    assert_eq!(store.register(&register(2), T0), Err(KeyRejection::GenerationsExhausted));
}
