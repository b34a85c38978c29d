//! The completion of a key within a handler's own transaction: the effect and the record that it has happened are one step of the database.
//!
//! Between a handler's commit and the layer's own completion a process can die, and then nobody knows what became of the request. Here
//! there is no such moment. An attempt that was replaced can't commit either: its completion is refused, and with it goes all that it did.
//! So a key whose lease has ended may be run again ([`LapsePolicy::Rerun`](nevertwice_core::keys::LapsePolicy::Rerun)) as far as its effects
//! are rows of this database.

use std::fmt;

use bytes::Bytes;
use http::Response;
use nevertwice_api::encoding::encode_lines;
use nevertwice_api::{AnswerBytes, HeldKey, KeyStoreFailure};
use nevertwice_core::keys::{CompleteKey, Completion, KeyAnswer, KeyDecision, KeyRejection};
use sqlx::Transaction;

use super::row::{Columns, found};
use super::store::{Shelf, SqlKeyStore};
use crate::SqlDatabase;

/// How often a completion is decided again because the lease was renewed meanwhile.
const TRIES_MAX: usize = 32;

/// Why a transaction can't end with this answer. It was rolled back, and nothing of it has happened.
#[derive(Debug)]
pub enum NotCompleted {
    /// The attempt does not hold the key any more: it was replaced, it gave the key back, or the key was forgotten.
    Rejected(KeyRejection),
    /// This attempt has kept an answer before, so its effect has happened: an earlier transaction was committed although its reply was
    /// lost. The same request with the same key gets that answer.
    KeptBefore,
    /// The record can't be used.
    Failed(KeyStoreFailure),
    /// The database refused, or was lost.
    Database(sqlx::Error),
}

impl fmt::Display for NotCompleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => write!(f, "the attempt does not hold its key any more ({})", rejection.code())?,
            Self::KeptBefore => f.write_str("the attempt has kept an answer before")?,
            Self::Failed(failure) => write!(f, "the record of the key can't be used: {failure}")?,
            Self::Database(error) => write!(f, "the database refused the answer: {error}")?,
        }
        f.write_str("; the transaction was rolled back, and the same request with the same key tells what became of it")
    }
}

impl std::error::Error for NotCompleted {}

impl From<KeyStoreFailure> for NotCompleted {
    fn from(failure: KeyStoreFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<sqlx::Error> for NotCompleted {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl SqlKeyStore {
    /// Keeps a handler's answer to its key in the handler's own transaction, which it returns to be committed, at once: from here to the
    /// commit nobody else can take the key over, and renewals of its lease wait. Whatever comes back as an error, the transaction was
    /// rolled back; it is taken by value so that one that was refused can't be committed.
    ///
    /// `held` are the claims, as the layer hands them to the handler or as [`KeyStore::register`](nevertwice_api::KeyStore::register) made
    /// them. `answer` must be what the handler then answers: a retry gets it byte for byte, with all its header lines. One that is larger
    /// than what the store keeps leaves a tombstone: the key is used, and a retry is told that the answer was not kept.
    ///
    /// The transaction must be of the database that the store is in, and in SQLite begun with `BEGIN IMMEDIATE`: one that reads first and
    /// writes then is refused by SQLite where somebody else wrote in between.
    ///
    /// # Errors
    /// If the attempt does not hold the key any more, has answered before, or the database fails.
    pub async fn complete_in<'t, D: SqlDatabase>(
        &self,
        mut work: Transaction<'t, D>,
        held: &[HeldKey],
        answer: &Response<Bytes>,
    ) -> Result<Transaction<'t, D>, NotCompleted> {
        if held.is_empty() {
            return Err(NotCompleted::Rejected(KeyRejection::UnknownKey));
        }
        let (answer, bytes) = self.0.kept(answer);
        for key in held {
            self.0.complete_within::<D>(&mut work, key, &answer, &bytes).await?;
        }
        Ok(work)
    }
}

impl SqlKeyStore {
    /// What the store's clock shows, asked within a transaction: the instant for a message that is left in it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn now_ms<D: SqlDatabase>(&self, work: &mut Transaction<'_, D>) -> Result<i64, sqlx::Error> {
        Ok(self.0.at_ms(D::lend(work).now_ms().await?))
    }
}

impl Shelf {
    /// What is kept of an answer: all of it, or that it was given.
    fn kept(&self, answer: &Response<Bytes>) -> (KeyAnswer, AnswerBytes) {
        let status = answer.status().as_u16();
        let lines = answer.headers().iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
        if let Some(head) = encode_lines(lines) {
            let bytes = AnswerBytes { head: head.into(), body: answer.body().clone() };
            let length = (bytes.head.len() + bytes.body.len()) as u64;
            if length <= self.answer_bytes_max && self.totals.has_bytes(length) {
                return (bytes.describe(status), bytes);
            }
        }
        (AnswerBytes::tombstone(status, answer.body().len() as u64), AnswerBytes::default())
    }

    async fn complete_within<D: SqlDatabase>(
        &self,
        work: &mut Transaction<'_, D>,
        key: &HeldKey,
        answer: &KeyAnswer,
        bytes: &AnswerBytes,
    ) -> Result<(), NotCompleted> {
        let command = CompleteKey { owner: key.owner, generation: key.generation, answer: answer.clone() };
        for _ in 0..TRIES_MAX {
            let raw = D::lend(work).look(&key.id, false).await?;
            let at_ms = self.at_ms(raw.0);
            let found = found(raw)?;
            let KeyDecision { reply, change } = command.decide(found.as_ref().map(|found| &found.record), at_ms);
            match reply.map_err(NotCompleted::Rejected)? {
                Completion::KeptBefore => return Err(NotCompleted::KeptBefore),
                Completion::Kept => {}
            }
            let (Some(found), Some(record)) = (found, change) else { return Err(NotCompleted::Rejected(KeyRejection::UnknownKey)) };
            let columns = Columns::of(&record);
            if D::lend(work).replace(&key.id, &found.mark, &columns, &bytes.head, &bytes.body).await? {
                // Counted before the commit, which may not come; the next round of sweeps counts what is there.
                self.totals.take_unasked(&key.id, (bytes.head.len() + bytes.body.len()) as u64);
                return Ok(());
            }
        }
        Err(NotCompleted::Failed(KeyStoreFailure::Unavailable))
    }
}
