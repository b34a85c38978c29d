//! How the store is asked: within the deadline, at its levels, and with everything counted.

use std::sync::Arc;

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, Swept};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use tokio::time::{Duration, Instant, timeout};

use super::KeyName;
use crate::convert;
use crate::metrics::{KeyOperation, Metrics};
use crate::refusal::Refusal;

/// Times of claims and records, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How long a claim is, where nobody says.
    pub(crate) lease_ms: i64,
    /// The longest that may be asked for.
    pub(crate) lease_ms_max: i64,
    /// How long a record keeps from its last change on.
    pub(crate) retention_ms: i64,
}

/// The records of keys: a store, and what it is asked with.
pub(crate) struct KeyRecords {
    store: Arc<dyn KeyStore>,
    secret: [u8; 32],
    pub(crate) bounds: Bounds,
    deadline: Duration,
    metrics: Arc<Metrics>,
}

impl KeyRecords {
    pub(super) fn new(store: Arc<dyn KeyStore>, secret: [u8; 32], bounds: Bounds, deadline: Duration, metrics: Arc<Metrics>) -> Self {
        Self { store, secret, bounds, deadline, metrics }
    }

    pub(crate) fn register(
        &self,
        name: &KeyName,
        command: RegisterKey,
        levels: Levels,
    ) -> impl Future<Output = Result<KeyReply<Registered>, Refusal>> {
        self.ask(KeyOperation::Register, move |store, id| store.register(id, command, levels), name)
    }

    pub(crate) fn complete(
        &self,
        name: &KeyName,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> impl Future<Output = Result<KeyReply<Completion>, Refusal>> {
        self.ask(KeyOperation::Complete, move |store, id| store.complete(id, command, bytes, levels), name)
    }

    pub(crate) fn renew(&self, name: &KeyName, command: RenewLease) -> impl Future<Output = Result<KeyReply<Lease>, Refusal>> {
        self.ask(KeyOperation::Renew, |store, id| store.renew(id, command), name)
    }

    pub(crate) fn release(
        &self,
        name: &KeyName,
        command: ReleaseKey,
        levels: Levels,
    ) -> impl Future<Output = Result<KeyReply<()>, Refusal>> {
        self.ask(KeyOperation::Release, move |store, id| store.release(id, command, levels), name)
    }

    pub(crate) fn inspect(&self, name: &KeyName) -> impl Future<Output = Result<Option<KeyRecord>, Refusal>> {
        self.ask(KeyOperation::Inspect, |store, id| store.inspect(id), name)
    }

    /// Frees records whose time is over, and counts claims whose lease is: among so many records, going on where the last sweep ended.
    pub(crate) async fn sweep(&self, records_max: usize) -> Result<Swept, Refusal> {
        self.within(KeyOperation::Sweep, self.store.sweep(records_max)).await
    }

    pub(crate) fn status(&self) -> KeyStoreStatus {
        self.store.status()
    }

    /// Whether records are still there after a restart.
    pub(crate) fn outlive_process(&self) -> bool {
        self.store.outlives_process()
    }

    async fn ask<T>(
        &self,
        operation: KeyOperation,
        asked: impl FnOnce(&dyn KeyStore, KeyId) -> BoxFuture<'static, Result<T, KeyStoreFailure>>,
        name: &KeyName,
    ) -> Result<T, Refusal> {
        self.within(operation, asked(&*self.store, name.id(&self.secret))).await
    }

    async fn within<T>(&self, operation: KeyOperation, answer: BoxFuture<'static, Result<T, KeyStoreFailure>>) -> Result<T, Refusal> {
        let start = Instant::now();
        let answer = timeout(self.deadline, answer).await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown));
        self.metrics.keys.asked(operation, start.elapsed(), answer.as_ref().err());
        answer.map_err(|failure| convert::refuse_key_store(&failure))
    }
}
