//! Two stores as one: a durable one that decides, and a hot one before it that answers what it knows for certain.
//!
//! ```text
//! register -> hot: an answer, or somebody at work? -> that
//!                  anything else                   -> durable decides
//! complete, renew, release -> durable -> hot
//! ```
//!
//! The durable store has every claim and every answer before the hot one tells anybody of an answer, so the hot one may forget all that it
//! has, at any moment (a `FLUSHALL`, a failover, an eviction), and nothing runs twice. What it saves is the work of duplicates and of
//! replays: those never reach the durable store while the hot one remembers.

use std::sync::Arc;

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, Swept};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyId, KeyRecord, KeyRejection, KeyState, Lease, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};

/// A hot store before a durable one. Whatever the hot one does not know, has lost or can't say is asked of the durable one; a hot store
/// that is down costs time and nothing else.
#[derive(Clone)]
pub struct TieredStore {
    hot: Arc<dyn KeyStore>,
    durable: Arc<dyn KeyStore>,
}

impl std::fmt::Debug for TieredStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TieredStore").field("hot", &self.hot.name()).field("durable", &self.durable.name()).finish()
    }
}

impl TieredStore {
    /// The two as one. Several processes may share both, or the durable one alone: what a hot store says for certain was in the durable
    /// one before.
    #[must_use]
    pub fn new(hot: Arc<dyn KeyStore>, durable: Arc<dyn KeyStore>) -> Self {
        Self { hot, durable }
    }

    async fn register_in_both(self, id: KeyId, command: RegisterKey, levels: Levels) -> Result<KeyReply<Registered>, KeyStoreFailure> {
        let mut is_claimed = None;
        if let Ok(told) = self.hot.register(id, command.clone(), Levels::NONE).await {
            match &told.reply {
                // It was in the durable store before.
                Ok(Registered { registration: Registration::Replay { .. }, .. }) => {
                    return Ok(KeyReply { levels: self.durable.offers(), ..told });
                }
                Err(KeyRejection::KeyInProgress { .. }) => return Ok(told),
                Ok(Registered { registration: Registration::Fresh(lease) | Registration::TakenOver(lease), .. }) => {
                    is_claimed = Some(lease.generation);
                }
                // Asked again by the attempt that has it; or a refusal that a forgetful store may be wrong about.
                Ok(Registered { registration: Registration::Resumed(_), .. }) | Err(_) => {}
            }
        }
        let owner = command.owner;
        let told = self.durable.register(id, command, levels).await;
        let is_ours = matches!(
            &told,
            Ok(KeyReply {
                reply: Ok(Registered { registration: Registration::Fresh(_) | Registration::TakenOver(_) | Registration::Resumed(_), .. }),
                ..
            }) | Err(KeyStoreFailure::OutcomeUnknown)
        );
        if let Some(generation) = is_claimed.filter(|_| !is_ours) {
            // Others would be told that somebody is at work. If it fails they are, until this lease ends.
            let _given_back = self.hot.release(id, ReleaseKey { owner, generation }, Levels::NONE).await;
        }
        told
    }

    /// The generation under which the hot store knows an attempt; none if it has lost it.
    async fn in_hot(&self, id: KeyId, owner: OwnerId) -> Option<u64> {
        let record = self.hot.inspect(id).await.ok()??;
        let its_owner = match &record.state {
            KeyState::InProgress(claim) => claim.owner,
            KeyState::Free(_) | KeyState::Completed(_) => return None,
        };
        (its_owner == owner).then_some(record.generation)
    }
}

impl KeyStore for TieredStore {
    fn name(&self) -> &'static str {
        "tiered"
    }

    fn offers(&self) -> Levels {
        self.durable.offers()
    }

    fn outlives_process(&self) -> bool {
        self.durable.outlives_process() || self.hot.outlives_process()
    }

    fn answer_bytes_max(&self) -> u64 {
        self.durable.answer_bytes_max()
    }

    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        if !self.offers().contains_all(levels) {
            return Box::pin(std::future::ready(Err(KeyStoreFailure::LevelUnavailable)));
        }
        detached(self.clone().register_in_both(id, command, levels))
    }

    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        let both = self.clone();
        detached(async move {
            let told = both.durable.complete(id, command.clone(), bytes.clone(), levels).await?;
            // An answer that was kept before is not this one, perhaps: the durable store has it, and tells it.
            if told.reply == Ok(Completion::Kept)
                && let Some(generation) = both.in_hot(id, command.owner).await
            {
                let _kept = both.hot.complete(id, CompleteKey { generation, ..command }, bytes, Levels::NONE).await;
            }
            Ok(told)
        })
    }

    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        let both = self.clone();
        detached(async move {
            let told = both.durable.renew(id, command.clone()).await?;
            if told.reply.is_ok()
                && let Some(generation) = both.in_hot(id, command.owner).await
            {
                let _renewed = both.hot.renew(id, RenewLease { generation, ..command }).await;
            }
            Ok(told)
        })
    }

    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        let both = self.clone();
        detached(async move {
            let told = both.durable.release(id, command.clone(), levels).await?;
            if told.reply.is_ok()
                && let Some(generation) = both.in_hot(id, command.owner).await
            {
                let _released = both.hot.release(id, ReleaseKey { generation, ..command }, Levels::NONE).await;
            }
            Ok(told)
        })
    }

    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        self.durable.inspect(id)
    }

    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        let both = self.clone();
        detached(async move {
            let _swept = both.hot.sweep(records_max).await;
            both.durable.sweep(records_max).await
        })
    }

    fn status(&self) -> KeyStoreStatus {
        self.durable.status()
    }
}

/// Runs it whether or not anybody waits: who drops the future loses the reply and stops nothing half way.
fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, KeyStoreFailure>> + Send + 'static,
) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
    Box::pin(async move { tokio::spawn(work).await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown)) })
}
