//! One state of the model: the record, the contenders, and what happened so far.

use std::hash::{Hash, Hasher};

use nevertwice_core::fields::{Fields as _, Sink};
use nevertwice_core::keys::KeyRecord;

/// Everything, at one instant.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct World {
    pub(super) at_ms: i64,
    pub(super) record: Kept,
    pub(super) contenders: Vec<Contender>,
    /// The generations in which somebody had an effect.
    pub(super) acts: Vec<u64>,
    /// Whether the key was known once and forgotten.
    pub(super) forgotten: bool,
    /// The highest generation that was ever given out.
    pub(super) highest: u64,
    /// The answer that somebody was told, as long as it is remembered.
    pub(super) told: Option<u32>,
    /// What must never happen, as soon as it has.
    pub(super) fault: Option<Fault>,
    pub(super) left: Left,
}

/// The record, if there is one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept(pub(super) Option<KeyRecord>);

/// Where a contender stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Contender {
    /// It asks for the key, for the first time or because the reply was lost.
    Asks,
    /// It was told that somebody works on it, until then.
    Waits { generation: u64, lease_expires_at: i64 },
    /// It was told to run, in that generation.
    Runs(u64),
    /// It has had its effect and reports.
    Acted(u64),
    /// Nothing can have happened, and it gives the key back.
    GivesBack(u64),
    /// It does not know what happened, and ends its lease.
    DoesNotKnow(u64),
    /// It has nothing more to do.
    Ended(End),
}

/// How a contender ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum End {
    /// Its answer is kept.
    Kept,
    /// It was told the answer of another.
    Replayed,
    /// It was told that nobody knows what became of the key.
    Unknown,
    /// It gave the key back, or ended its lease.
    Left,
    /// When it came back, another owned the key, or nobody.
    Replaced,
    /// It died.
    Dead,
}

/// What must never happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fault {
    AnswerChanged,
    StaleOwnerChanged,
    GenerationNotRisen,
    RunningClaimChangedHands,
}

/// What may still go wrong, or on and on: it bounds the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Left {
    pub(super) losses: u8,
    pub(super) deaths: u8,
    pub(super) renewals: u8,
}

impl World {
    pub(super) fn record(&self) -> Option<&KeyRecord> {
        self.record.0.as_ref()
    }
}

/// Puts a record's fields into a hasher, in their order.
struct Into<'a, H>(&'a mut H);

impl<H: Hasher> Sink for Into<'_, H> {
    fn byte(&mut self, value: u8) {
        self.0.write_u8(value);
    }
    fn word(&mut self, value: u32) {
        self.0.write_u32(value);
    }
    fn long(&mut self, value: u64) {
        self.0.write_u64(value);
    }
    fn signed(&mut self, value: i64) {
        self.0.write_i64(value);
    }
    fn digest(&mut self, value: &[u8; 32]) {
        self.0.write(value);
    }
    fn text(&mut self, value: &str) {
        value.hash(self.0);
    }
}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.is_some().hash(state);
        if let Some(record) = &self.0 {
            record.put(&mut Into(state));
        }
    }
}
