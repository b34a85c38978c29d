//! What the tests of the store share: a store that is driven step by step, and commands.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, Levels, Registered};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRejection, LapsePolicy, Lease, OwnerId, RegisterKey, Registration};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::error::OpenError;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::{KeyStoreOptions, KeysRecovered, SteppedKeyStore};
use nevertwice_testkit::clock::ManualClock;
use nevertwice_testkit::storage::MemoryStorage;

pub(super) const T0: i64 = 1_790_000_000_000;
pub(super) const RETENTION_MS: i64 = 30_000;
pub(super) const LEASE_MS: i64 = 10_000;

/// Small segments, filled by the writer itself, so that every call has its number.
pub(super) fn options() -> KeyStoreOptions {
    let journal = JournalOptions { segment_bytes: 64 << 10, segments_ahead: 0 };
    KeyStoreOptions { journal, group_items_max: 16, answer_bytes_max: 4_096, ..KeyStoreOptions::default() }
}

/// A store, its disk and its clock.
pub(super) struct Steps {
    pub(super) store: SteppedKeyStore,
    pub(super) report: KeysRecovered,
    pub(super) clock: Arc<ManualClock>,
}

impl Steps {
    pub(super) fn open(storage: &MemoryStorage, now_ms: i64, options: &KeyStoreOptions) -> Result<Steps, OpenError> {
        let clock = Arc::new(ManualClock::new(now_ms));
        let (store, report) = SteppedKeyStore::open(Arc::new(storage.clone()), clock.clone(), Arc::new(SystemChance), options)?;
        Ok(Steps { store, report, clock })
    }

    /// Asks, and does what there is to do until there is an answer.
    pub(super) fn ask<T>(
        &mut self,
        asking: impl FnOnce(&dyn KeyStore) -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
    ) -> Result<T, KeyStoreFailure> {
        let mut asked = asking(self.store.front().as_ref());
        for _ in 0..4 {
            if let Some(told) = look(&mut asked) {
                return told;
            }
            self.store.decide();
            self.store.write();
            while self.store.read() {}
        }
        panic!("nobody answers");
    }

    pub(super) fn register(&mut self, key: u8, owner: u8) -> Result<Result<Registered, KeyRejection>, KeyStoreFailure> {
        Ok(self.ask(|store| store.register(id(key), register(owner), Levels::NONE))?.reply)
    }

    /// Claims a key that nobody has.
    pub(super) fn claim(&mut self, key: u8, owner: u8) -> Lease {
        match self.register(key, owner) {
            Ok(Ok(Registered { registration: Registration::Fresh(lease) | Registration::TakenOver(lease), .. })) => lease,
            other => panic!("key {key} is not to be had: {other:?}"),
        }
    }

    pub(super) fn complete(
        &mut self,
        key: u8,
        owner: u8,
        generation: u64,
        bytes: &AnswerBytes,
    ) -> Result<KeyReply<Completion>, KeyStoreFailure> {
        let command = CompleteKey { owner: OwnerId([owner; 32]), generation, answer: bytes.describe(201) };
        self.ask(|store| store.complete(id(key), command, bytes.clone(), Levels::NONE))
    }

    /// What a retry by somebody else is told: the answer's bytes, or why there are none.
    pub(super) fn replayed(&mut self, key: u8) -> Registered {
        match self.register(key, 200) {
            Ok(Ok(registered @ Registered { registration: Registration::Replay { .. }, .. })) => registered,
            other => panic!("key {key} has no answer: {other:?}"),
        }
    }

    pub(super) fn stop(self) {
        self.store.stop();
    }
}

pub(super) fn look<T>(asked: &mut BoxFuture<'static, T>) -> Option<T> {
    match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(told) => Some(told),
        Poll::Pending => None,
    }
}

pub(super) fn id(key: u8) -> KeyId {
    KeyId([key; 32])
}

pub(super) fn register(owner: u8) -> RegisterKey {
    RegisterKey {
        fingerprint: [7; 32],
        owner: OwnerId([owner; 32]),
        lease_ms: LEASE_MS,
        retention_ms: RETENTION_MS,
        expires_at: None,
        lapse: LapsePolicy::Rerun,
    }
}

/// An answer of that many bytes.
pub(super) fn answer(key: u8, length: usize) -> AnswerBytes {
    AnswerBytes { head: vec![0, key].into(), body: vec![key; length].into() }
}
