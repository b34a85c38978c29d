//! One command: look at the row, ask the core, replace the row if it is still the one that was looked at.
//!
//! Nothing is held between looking and replacing, so a record that somebody else has in a transaction of his own can be read meanwhile,
//! and no two commands can wait for each other.

use nevertwice_api::{AnswerBytes, KeyStoreFailure};
use nevertwice_core::keys::{KeyDecision, KeyId, KeyRecord, KeyRejection};
use tokio::time::timeout_at;

use super::KeyClock;
use super::row::{Columns, Found, Raw, found};
use super::session::Session;
use super::store::Shelf;
use super::totals::Taken;

/// How often a command is decided again because somebody else was faster. Each time another command has been carried out.
const TRIES_MAX: usize = 32;

/// How many connections are tried until one is found that is not lost.
const CONNECTIONS_TRIED_MAX: usize = 64;

/// Records that a claim at the bound looks at, to find one that may be freed.
const FREED_AT_BOUND: usize = 16;

/// What a command came to.
pub(super) struct Decided<R> {
    pub(super) reply: Result<R, KeyRejection>,
    pub(super) at_ms: i64,
    /// The bytes that lie beside a record that was not changed, where they were wanted.
    pub(super) bytes: AnswerBytes,
}

/// Which bytes a command is about.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'b> {
    /// None.
    Not,
    /// Those that are there are wanted.
    Wanted,
    /// These are kept with the change.
    Kept(&'b AnswerBytes),
}

impl Shelf {
    /// Carries one command out.
    pub(super) async fn carry_out<R>(
        &self,
        id: &KeyId,
        bytes: Bytes<'_>,
        decide: impl Fn(Option<&KeyRecord>, i64) -> KeyDecision<R> + Send,
    ) -> Result<Decided<R>, KeyStoreFailure> {
        let mut session = Session::open(&self.database, self.command_time).await?;
        for _ in 0..TRIES_MAX {
            let raw = self.look(&mut session, id, matches!(bytes, Bytes::Wanted)).await?;
            let at_ms = self.at_ms(raw.0);
            let found = found(raw)?;
            let KeyDecision { reply, change } = decide(found.as_ref().map(|found| &found.record), at_ms);
            let Some(record) = change else {
                let bytes = found.map(|found| found.bytes).unwrap_or_default();
                return Ok(Decided { reply, at_ms, bytes });
            };
            let taken = self.take_room(&mut session, id, found.as_ref(), bytes).await?;
            if self.keep(&mut session, id, found.as_ref(), &Columns::of(&record), bytes, taken).await? {
                return Ok(Decided { reply, at_ms, bytes: AnswerBytes::default() });
            }
        }
        tracing::warn!("a key changes faster than it can be claimed; nothing was done");
        Err(KeyStoreFailure::Unavailable)
    }

    /// What is there of a key. Connections that were lost while nobody used them are passed over: nothing was done by them.
    pub(super) async fn look(&self, session: &mut Session<'_>, id: &KeyId, with_bytes: bool) -> Result<Raw, KeyStoreFailure> {
        let mut tries = 1;
        loop {
            let deadline = session.deadline();
            let looked = timeout_at(deadline, session.begin().look(id, with_bytes)).await.ok();
            match session.read(looked) {
                Err(_) if session.is_spent() && tries < CONNECTIONS_TRIED_MAX => session.renew().await?,
                told => return told,
            }
            tries += 1;
        }
    }

    /// The instant of a decision.
    pub(super) fn at_ms(&self, database_ms: i64) -> i64 {
        match &self.clock {
            KeyClock::Database => database_ms,
            KeyClock::Given(now) => now(),
        }
    }

    async fn take_room(
        &self,
        session: &mut Session<'_>,
        id: &KeyId,
        found: Option<&Found>,
        bytes: Bytes<'_>,
    ) -> Result<Taken<'_>, KeyStoreFailure> {
        match (found, bytes) {
            (_, Bytes::Kept(bytes)) => self.totals.take_bytes(id, (bytes.head.len() + bytes.body.len()) as u64),
            (Some(_), _) => self.totals.take_bytes(id, 0),
            (None, _) => {
                if !self.totals.has_room() {
                    self.sweep_page(session, FREED_AT_BOUND).await?;
                }
                self.totals.take_record(id)
            }
        }
    }

    /// Writes the change. False: the row is another than the one that was looked at.
    async fn keep(
        &self,
        session: &mut Session<'_>,
        id: &KeyId,
        found: Option<&Found>,
        columns: &Columns,
        bytes: Bytes<'_>,
        taken: Taken<'_>,
    ) -> Result<bool, KeyStoreFailure> {
        let (head, body): (&[u8], &[u8]) = match bytes {
            Bytes::Kept(bytes) => (&bytes.head, &bytes.body),
            Bytes::Not | Bytes::Wanted => (&[], &[]),
        };
        session.turn_to_writing().await?;
        let deadline = session.deadline();
        let written = match found {
            None => timeout_at(deadline, session.begin().insert(id, columns)).await,
            Some(found) => timeout_at(deadline, session.begin().replace(id, &found.mark, columns, head, body)).await,
        };
        match session.written(written.ok()) {
            Ok(true) => {
                taken.keep();
                self.totals.give_back(found.map_or(0, |found| found.answer_bytes));
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(KeyStoreFailure::OutcomeUnknown) => {
                // Counted as if it were there; the next round of sweeps sees whether it is.
                taken.keep();
                Err(KeyStoreFailure::OutcomeUnknown)
            }
            Err(failure) => Err(failure),
        }
    }
}
