//! How much the store holds, without asking the database each time.
//!
//! What this process adds and frees is counted at once. What others add is found by the sweeps: a whole round of them sees every record,
//! and then the count is what was seen.

use std::sync::{Mutex, MutexGuard, PoisonError};

use nevertwice_api::KeyStoreFailure;
use nevertwice_core::keys::KeyId;

/// Records, and bytes of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Amount {
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// How much the store holds and may hold.
pub(super) struct Totals {
    max: Amount,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Amount,
    lapsed: u64,
    round: Round,
}

/// A way of the sweeps round all records.
#[derive(Default)]
struct Round {
    /// The last id that was seen; empty before the first.
    after: Vec<u8>,
    kept: Amount,
    lapsed: u64,
}

impl Totals {
    pub(super) fn new(max: Amount, held: Amount) -> Self {
        Self { max, state: Mutex::new(State { held, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Changed by assignments that can't panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn held(&self) -> Amount {
        self.state().held
    }

    pub(super) fn lapsed(&self) -> u64 {
        self.state().lapsed
    }

    /// Whether a claim would find room.
    pub(super) fn has_room(&self) -> bool {
        self.state().has_room(self.max)
    }

    /// Takes room for a record that is about to be made.
    pub(super) fn take_record<'t>(&'t self, id: &KeyId) -> Result<Taken<'t>, KeyStoreFailure> {
        let mut state = self.state();
        if !state.has_room(self.max) {
            return Err(KeyStoreFailure::Full);
        }
        Ok(self.taken(&mut state, id, Amount { records: 1, bytes: 0 }))
    }

    /// Takes room for an answer that is about to be kept.
    pub(super) fn take_bytes<'t>(&'t self, id: &KeyId, bytes: u64) -> Result<Taken<'t>, KeyStoreFailure> {
        let mut state = self.state();
        if bytes > 0 && state.held.bytes.saturating_add(bytes) > self.max.bytes {
            return Err(KeyStoreFailure::Full);
        }
        Ok(self.taken(&mut state, id, Amount { records: 0, bytes }))
    }

    /// Whether an answer of so many bytes would find room.
    pub(super) fn has_bytes(&self, bytes: u64) -> bool {
        self.state().held.bytes.saturating_add(bytes) <= self.max.bytes
    }

    /// Counts an answer that is kept whether or not there is room.
    pub(super) fn take_unasked(&self, id: &KeyId, bytes: u64) {
        self.state().count(id, Amount { records: 0, bytes });
    }

    fn taken<'t>(&'t self, state: &mut State, id: &KeyId, amount: Amount) -> Taken<'t> {
        let is_behind = state.count(id, amount);
        Taken { totals: self, amount, is_behind }
    }

    /// Bytes of an answer that another record has replaced.
    pub(super) fn give_back(&self, bytes: u64) {
        self.state().held.sub(Amount { records: 0, bytes });
    }

    /// Where the sweeps are.
    pub(super) fn after(&self) -> Vec<u8> {
        self.state().round.after.clone()
    }

    /// A page of a sweep: up to which id it went, what stays of it, what went.
    pub(super) fn swept(&self, last: Vec<u8>, kept: Amount, lapsed: u64, freed: Amount) {
        let mut state = self.state();
        state.held.sub(freed);
        state.round.after = last;
        state.round.kept.add(kept);
        state.round.lapsed += lapsed;
    }

    /// The round is over: what was seen is what there is.
    pub(super) fn end_round(&self) {
        let mut state = self.state();
        let round = std::mem::take(&mut state.round);
        (state.held, state.lapsed) = (round.kept, round.lapsed);
    }
}

impl State {
    /// Counts it, and says whether the round has been there already.
    fn count(&mut self, id: &KeyId, amount: Amount) -> bool {
        self.held.add(amount);
        let is_behind = id.0[..] <= self.round.after[..];
        if is_behind {
            self.round.kept.add(amount);
        }
        is_behind
    }

    fn has_room(&self, max: Amount) -> bool {
        self.held.records < max.records && self.held.bytes < max.bytes
    }
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    fn sub(&mut self, other: Self) {
        self.records = self.records.saturating_sub(other.records);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// Room that was taken: given back unless it is kept.
pub(super) struct Taken<'t> {
    totals: &'t Totals,
    amount: Amount,
    is_behind: bool,
}

impl Taken<'_> {
    /// It is used, or may be.
    pub(super) fn keep(mut self) {
        self.amount = Amount::default();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = self.totals.state();
        state.held.sub(self.amount);
        if self.is_behind {
            state.round.kept.sub(self.amount);
        }
    }
}
