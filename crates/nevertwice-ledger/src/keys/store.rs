//! The store as callers see it.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, Swept};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyDecision, KeyId, KeyRecord, Lease, RegisterKey, Registration, ReleaseKey, RenewLease,
};
use tokio::sync::Mutex;

use super::KeyClock;
use super::row::found;
use super::session::Session;
use super::totals::{Amount, Totals};
use super::transition::{Bytes, Decided};
use crate::Database;

/// Records of keys in SQLite or Postgres.
///
/// Each command is one statement that reads and, where it changes something, one that writes, which is its own transaction in the
/// database; the core decides in between, and the write counts only if the row is still the one that was read.
#[derive(Clone)]
pub struct SqlKeyStore(pub(super) Arc<Shelf>);

/// What all clones share.
pub(super) struct Shelf {
    pub(super) database: Database,
    pub(super) clock: KeyClock,
    pub(super) command_time: Duration,
    pub(super) totals: Totals,
    pub(super) sweeping: Mutex<()>,
    pub(super) reached: Levels,
    pub(super) max: Amount,
    pub(super) answer_bytes_max: u64,
}

impl std::fmt::Debug for SqlKeyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlKeyStore").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl SqlKeyStore {
    /// Carries a command out in a task of its own: who drops the future loses the reply and stops nothing.
    fn put<R: Send + 'static>(
        &self,
        id: KeyId,
        levels: Levels,
        bytes: Option<AnswerBytes>,
        decide: impl Fn(Option<&KeyRecord>, i64) -> KeyDecision<R> + Send + Sync + 'static,
        are_wanted: bool,
    ) -> BoxFuture<'static, Result<Decided<R>, KeyStoreFailure>> {
        if !self.0.reached.contains_all(levels) {
            return failed(KeyStoreFailure::LevelUnavailable);
        }
        let shelf = Arc::clone(&self.0);
        detached(async move {
            let bytes = match &bytes {
                Some(bytes) => Bytes::Kept(bytes),
                None if are_wanted => Bytes::Wanted,
                None => Bytes::Not,
            };
            shelf.carry_out(&id, bytes, decide).await
        })
    }
}

fn failed<T: Send + 'static>(failure: KeyStoreFailure) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
    Box::pin(std::future::ready(Err(failure)))
}

/// Runs it whether or not anybody waits. A task that panicked may have written before it did.
fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, KeyStoreFailure>> + Send + 'static,
) -> BoxFuture<'static, Result<T, KeyStoreFailure>> {
    Box::pin(async move { tokio::spawn(work).await.unwrap_or(Err(KeyStoreFailure::OutcomeUnknown)) })
}

fn reply<R>(decided: Decided<R>, levels: Levels) -> KeyReply<R> {
    KeyReply { reply: decided.reply, at_ms: decided.at_ms, levels }
}

impl KeyStore for SqlKeyStore {
    fn name(&self) -> &'static str {
        self.0.database.kind()
    }

    fn offers(&self) -> Levels {
        self.0.reached
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn answer_bytes_max(&self) -> u64 {
        self.0.answer_bytes_max
    }

    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        let decided = self.put(id, levels, None, move |record, at_ms| command.decide(record, at_ms), true);
        let levels = self.0.reached;
        Box::pin(async move {
            let Decided { reply, at_ms, bytes } = decided.await?;
            let reply = reply.map(|registration| {
                let is_replay = matches!(registration, Registration::Replay { .. });
                Registered { registration, bytes: if is_replay { bytes } else { AnswerBytes::default() } }
            });
            Ok(KeyReply { reply, at_ms, levels })
        })
    }

    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        if !self.0.reached.contains_all(levels) {
            return failed(KeyStoreFailure::LevelUnavailable);
        }
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        if length > self.0.answer_bytes_max || !bytes.fit(&command.answer) {
            return failed(KeyStoreFailure::BytesRefused);
        }
        let decided = self.put(id, levels, Some(bytes), move |record, at_ms| command.decide(record, at_ms), false);
        let levels = self.0.reached;
        Box::pin(async move { Ok(reply(decided.await?, levels)) })
    }

    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        let decided = self.put(id, Levels::NONE, None, move |record, at_ms| command.decide(record, at_ms), false);
        let levels = self.0.reached;
        Box::pin(async move { Ok(reply(decided.await?, levels)) })
    }

    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        let decided = self.put(id, levels, None, move |record, at_ms| command.decide(record, at_ms), false);
        let levels = self.0.reached;
        Box::pin(async move { Ok(reply(decided.await?, levels)) })
    }

    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        let shelf = Arc::clone(&self.0);
        detached(async move {
            let mut session = Session::open(&shelf.database, shelf.command_time).await?;
            let raw = shelf.look(&mut session, &id, false).await?;
            let at_ms = shelf.at_ms(raw.0);
            let record = found(raw)?.map(|found| found.record);
            Ok(KeyRecord::remembered(record.as_ref(), at_ms).cloned())
        })
    }

    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        let shelf = Arc::clone(&self.0);
        detached(async move {
            let mut session = Session::open(&shelf.database, shelf.command_time).await?;
            shelf.sweep_page(&mut session, records_max).await
        })
    }

    fn status(&self) -> KeyStoreStatus {
        let held = self.0.totals.held();
        KeyStoreStatus {
            records: held.records,
            records_max: self.0.max.records,
            answer_bytes: held.bytes,
            answer_bytes_max: self.0.max.bytes,
            lapsed: self.0.totals.lapsed(),
        }
    }
}
