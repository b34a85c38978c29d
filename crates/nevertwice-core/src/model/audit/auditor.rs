//! One shard's history, decision by decision.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::asked::check_asked;
use super::books::{Audited, audit_records};
use super::rejections::is_true;
use crate::fields::Fields;
use crate::limits::ADOPTIONS_MAX;
use crate::model::Violation;
use crate::model::twin::{Twin, label};
use crate::packed::Packer;
use crate::{
    Command, Decision, Entry, IdempotencyKey, InstrumentState, Intent, IntentRecord, Position, Principal, Record, Rejection, ShardId,
    ShardRecord, State, StateHash,
};

/// Follows one shard and checks every invariant of the design.
///
/// After each step give it to [`Auditor::check`]. A history without commands (a journal, a ledger) goes entry by entry to
/// [`Auditor::follow`], and what it made to [`Auditor::compare`].
pub struct Auditor {
    shard: ShardId,
    position: Position,
    at_ms: i64,
    adoptions: Vec<Position>,
    twin: Twin,
    intents: BTreeMap<(Principal, IdempotencyKey), Entry>,
    // In the order of acceptance, which is the order in which they end.
    order: VecDeque<(Principal, IdempotencyKey)>,
    // That of the state after the last entry, once it was seen.
    hash: Option<StateHash>,
}

impl Auditor {
    /// An auditor of a shard before its first entry.
    #[must_use]
    pub const fn new(shard: ShardId) -> Self {
        Self {
            shard,
            position: Position { epoch: 0, seq: 0 },
            at_ms: 0,
            adoptions: Vec::new(),
            twin: Twin::Unopened,
            intents: BTreeMap::new(),
            order: VecDeque::new(),
            hash: None,
        }
    }

    /// Checks an answer against the history, and the state after it (for an accepted decision: with its entry applied) against
    /// the twin.
    ///
    /// # Errors
    /// The first invariant that does not hold; the auditor is of no use after it.
    pub fn check(&mut self, state: &State, command: &Command, at_ms: i64, decision: &Decision) -> Result<Audited, Violation> {
        self.judge(command, at_ms, decision)?;
        let answer = match decision {
            Decision::Accepted(_) => None,
            Decision::Replayed(_) => Some("replayed"),
            Decision::Rejected(rejection) => Some(rejection.code()),
        };
        if let (Some(answer), Some(hash)) = (answer, self.hash)
            && state.state_hash() != hash
        {
            return Err(Violation::AnswerChangedState { answer });
        }
        self.compare(state)
    }

    /// Checks an answer against the history alone. It suits backends whose state is not at hand.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn judge(&mut self, command: &Command, at_ms: i64, decision: &Decision) -> Result<(), Violation> {
        let at_ms = at_ms.max(self.at_ms);
        let first = self.remembered(&command.intent, at_ms);
        match decision {
            Decision::Accepted(entry) => {
                if let Some(first) = first {
                    return Err(Violation::AcceptedTwice { first: first.position, again: entry.position });
                }
                if entry.intent != command.intent {
                    return Err(Violation::OtherIntent);
                }
                if entry.at_ms != at_ms {
                    let (found, expected) = (i128::from(entry.at_ms), i128::from(at_ms));
                    return Err(Violation::WrongFigure { figure: "instant", found, expected });
                }
                check_asked(&self.twin, &command.action, entry)?;
                self.follow(entry)
            }
            Decision::Replayed(entry) => {
                let first = first.ok_or(Violation::ReplayOfUnknown { position: entry.position })?;
                if first.intent.fingerprint != command.intent.fingerprint {
                    return Err(Violation::NotWhatWasAsked { what: "fingerprint" });
                }
                if bytes_of(first) == bytes_of(entry) { Ok(()) } else { Err(Violation::ReplayDiffers { first: first.position }) }
            }
            Decision::Rejected(rejection) => match (first, rejection) {
                (Some(first), Rejection::FingerprintMismatch { position })
                    if *position == first.position && first.intent.fingerprint != command.intent.fingerprint =>
                {
                    Ok(())
                }
                (Some(first), _) => Err(Violation::Forgotten { first: first.position }),
                (None, rejection) if is_true(&self.twin, command, at_ms, rejection) => Ok(()),
                (None, rejection) => Err(Violation::UntrueRejection { code: rejection.code() }),
            },
        }
    }

    /// Checks the next entry of the shard against the history, and goes on to it.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), Violation> {
        if entry.shard != self.shard {
            return Err(Violation::OtherShard { found: entry.shard.clone() });
        }
        if entry.position.seq != self.position.seq.saturating_add(1) || entry.position.epoch < self.position.epoch {
            return Err(Violation::Gap { last: self.position, next: entry.position });
        }
        if entry.at_ms < self.at_ms {
            return Err(Violation::TimeRanBackwards { last: self.at_ms, next: entry.at_ms });
        }
        if entry.events.is_empty() {
            return Err(Violation::NoEvents);
        }
        if let Some(first) = self.remembered(&entry.intent, entry.at_ms) {
            return Err(Violation::AcceptedTwice { first: first.position, again: entry.position });
        }
        self.twin.follow(&self.shard, entry)?;
        self.check_cash(entry)?;
        if let Some(expires_at) = entry.intent.expires_at
            && (expires_at <= entry.at_ms || expires_at > entry.at_ms.saturating_add(self.twin.retention_ms()))
        {
            return Err(Violation::AcceptedOutOfTime { expires_at, at_ms: entry.at_ms });
        }
        if entry.position.epoch > self.position.epoch {
            self.adoptions.push(entry.position);
        }
        self.position = entry.position;
        self.at_ms = entry.at_ms;
        // The state after this entry has not been seen yet.
        self.hash = None;
        self.remember(entry);
        Ok(())
    }

    /// Checks a state against what follows from the history, and by itself.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn compare(&mut self, state: &State) -> Result<Audited, Violation> {
        let mut records = Vec::new();
        state.export(&mut |record| records.push(record));
        let audited = audit_records(records.iter().cloned())?;
        let mut expected: BTreeMap<String, Record> = BTreeMap::new();
        for record in self.records() {
            expected.insert(label(&record), record);
        }
        for record in records {
            let name = label(&record);
            match expected.remove(&name) {
                None => return Err(Violation::RecordUnexpected { record: name }),
                Some(other) if other != record => return Err(Violation::RecordDiffers { record: name }),
                Some(_) => {}
            }
        }
        if let Some((record, _)) = expected.pop_first() {
            return Err(Violation::RecordMissing { record });
        }
        self.hash = Some(audited.hash);
        Ok(audited)
    }

    /// The last entry's position.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The records that follow from the history.
    fn records(&self) -> Vec<Record> {
        let mut records = self.twin.records();
        records.push(Record::Shard(ShardRecord {
            shard: self.shard.clone(),
            position: self.position,
            at_ms: self.at_ms,
            retention_ms: self.twin.retention_ms(),
            adoptions: self.adoptions.iter().skip(self.adoptions.len().saturating_sub(ADOPTIONS_MAX)).copied().collect(),
        }));
        records.extend(self.intents.values().filter(|entry| self.is_live(entry, self.at_ms)).map(|entry| {
            Record::Intent(IntentRecord {
                intent: entry.intent.clone(),
                position: entry.position,
                at_ms: entry.at_ms,
                events: entry.events.clone(),
            })
        }));
        records
    }

    fn is_live(&self, entry: &Entry, at_ms: i64) -> bool {
        at_ms < entry.at_ms.saturating_add(self.twin.retention_ms())
    }

    fn remembered(&self, intent: &Intent, at_ms: i64) -> Option<&Entry> {
        let of = (intent.principal.clone(), intent.key.clone());
        self.intents.get(&of).filter(|entry| self.is_live(entry, at_ms))
    }

    fn remember(&mut self, entry: &Entry) {
        while let Some(oldest) = self.order.front() {
            if self.intents.get(oldest).is_some_and(|oldest| self.is_live(oldest, self.at_ms)) {
                break;
            }
            self.intents.remove(oldest);
            self.order.pop_front();
        }
        let of = (entry.intent.principal.clone(), entry.intent.key.clone());
        self.intents.insert(of.clone(), entry.clone());
        self.order.push_back(of);
    }

    // The cash from an instrument that was never repriced is the curve's integral, until it is paid out.
    fn check_cash(&self, entry: &Entry) -> Result<(), Violation> {
        let Twin::Market(market) = &self.twin else { return Ok(()) };
        for event in &entry.events {
            let crate::Event::OrderFilled(filled) = event else { continue };
            let Some(instrument) = market.instruments.get(&filled.instrument) else { continue };
            let integral = instrument.owed();
            if !instrument.repriced && instrument.state != InstrumentState::Settled && i128::from(instrument.cash) != integral {
                return Err(Violation::CashOffCurve { instrument: filled.instrument.clone(), cash: instrument.cash, integral });
            }
        }
        Ok(())
    }
}

fn bytes_of(entry: &Entry) -> Vec<u8> {
    let mut packer = Packer::default();
    entry.put(&mut packer);
    packer.bytes
}
