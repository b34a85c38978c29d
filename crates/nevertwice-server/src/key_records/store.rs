//! How the store is asked: within the deadline, at its levels, and with everything counted.

use std::path::PathBuf;
use std::sync::Arc;

use nevertwice_api::{
    AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, PrincipalMark, Registered, Swept,
};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use nevertwice_local::LocalKeyStore;
use tokio::time::{Duration, Instant, timeout};

use super::KeyName;
use super::changing::BothNames;
use super::local::KEYS_NOTE;
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

/// Under which secrets keys are named.
#[derive(Clone, Copy)]
pub(crate) struct KeySecrets {
    pub(crate) present: [u8; 32],
    /// The one before it, for as long as keys of its time are remembered.
    pub(crate) previous: Option<[u8; 32]>,
}

/// A key's name in the store, and against whose bound it counts.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) id: KeyId,
    pub(super) principal: PrincipalMark,
}

/// The records of keys: a store, and what it is asked with.
pub(crate) struct KeyRecords {
    store: Arc<dyn KeyStore>,
    secrets: KeySecrets,
    pub(crate) bounds: Bounds,
    deadline: Duration,
    metrics: Arc<Metrics>,
    copied: Option<(Arc<LocalKeyStore>, PathBuf)>,
}

impl KeyRecords {
    pub(super) fn new(store: Arc<dyn KeyStore>, secrets: KeySecrets, bounds: Bounds, deadline: Duration, metrics: Arc<Metrics>) -> Self {
        Self { store, secrets, bounds, deadline, metrics, copied: None }
    }

    /// Lets backups copy the store.
    pub(super) fn copied_from(self, copied: Option<(Arc<LocalKeyStore>, PathBuf)>) -> Self {
        Self { copied, ..self }
    }

    /// The store, where backups may copy it.
    pub(crate) fn copied(&self) -> Option<Arc<LocalKeyStore>> {
        self.copied.as_ref().map(|(store, _)| Arc::clone(store))
    }

    /// What tells the right secret from another, for who copies the store.
    pub(crate) fn note(&self) -> Option<Vec<u8>> {
        std::fs::read(self.copied.as_ref()?.1.join(KEYS_NOTE)).ok()
    }

    pub(crate) async fn register(&self, name: &KeyName, command: RegisterKey, levels: Levels) -> Result<KeyReply<Registered>, Refusal> {
        match self.both_names(name) {
            Some(both) => both.register(command, levels).await,
            None => self.register_named(self.present(name), command, levels).await,
        }
    }

    pub(crate) async fn complete(
        &self,
        name: &KeyName,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> Result<KeyReply<Completion>, Refusal> {
        match self.both_names(name) {
            Some(both) => both.complete(command, bytes, levels).await,
            None => self.complete_named(self.present(name).id, command, bytes, levels).await,
        }
    }

    pub(crate) async fn renew(&self, name: &KeyName, command: RenewLease) -> Result<KeyReply<Lease>, Refusal> {
        match self.both_names(name) {
            Some(both) => both.renew(command).await,
            None => self.renew_named(self.present(name).id, command).await,
        }
    }

    pub(crate) async fn release(&self, name: &KeyName, command: ReleaseKey, levels: Levels) -> Result<KeyReply<()>, Refusal> {
        match self.both_names(name) {
            Some(both) => both.release(command, levels).await,
            None => self.release_named(self.present(name).id, command, levels).await,
        }
    }

    pub(crate) async fn inspect(&self, name: &KeyName) -> Result<Option<KeyRecord>, Refusal> {
        match self.both_names(name) {
            Some(both) => both.inspect().await,
            None => self.inspect_named(self.present(name).id).await,
        }
    }

    fn present(&self, name: &KeyName) -> Named {
        Named { id: name.id(&self.secrets.present), principal: name.mark(&self.secrets.present) }
    }

    /// The key under both of its names, while the secret is changed.
    fn both_names(&self, name: &KeyName) -> Option<BothNames<'_>> {
        let present = self.present(name);
        let previous = Named { id: name.id(self.secrets.previous.as_ref()?), ..present };
        Some(BothNames { keys: self, previous, present })
    }

    pub(super) async fn register_named(
        &self,
        Named { id, principal }: Named,
        command: RegisterKey,
        levels: Levels,
    ) -> Result<KeyReply<Registered>, Refusal> {
        self.within(KeyOperation::Register, self.store.register_for(principal, id, command, levels)).await
    }

    pub(super) async fn complete_named(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> Result<KeyReply<Completion>, Refusal> {
        self.within(KeyOperation::Complete, self.store.complete(id, command, bytes, levels)).await
    }

    pub(super) async fn renew_named(&self, id: KeyId, command: RenewLease) -> Result<KeyReply<Lease>, Refusal> {
        self.within(KeyOperation::Renew, self.store.renew(id, command)).await
    }

    pub(super) async fn release_named(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> Result<KeyReply<()>, Refusal> {
        self.within(KeyOperation::Release, self.store.release(id, command, levels)).await
    }

    pub(super) async fn inspect_named(&self, id: KeyId) -> Result<Option<KeyRecord>, Refusal> {
        self.within(KeyOperation::Inspect, self.store.inspect(id)).await
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

    async fn within<T>(&self, operation: KeyOperation, answer: BoxFuture<'static, Result<T, KeyStoreFailure>>) -> Result<T, Refusal> {
        let start = Instant::now();
        let answer = timeout(self.deadline, answer).await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown));
        self.metrics.keys.asked(operation, start.elapsed(), answer.as_ref().err());
        answer.map_err(|failure| convert::refuse_key_store(&failure))
    }
}
