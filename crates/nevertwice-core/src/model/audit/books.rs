//! A state alone, by its records.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::model::Violation;
use crate::model::twin::label;
use crate::{
    AccountRecord, BookingRecord, CandidateId, CandidateRecord, HoldingRecord, InstrumentRecord, IntentRecord, LevelRecord, MarketRecord,
    Name, Position, Record, SaleRecord, ShardKind, ShardRecord, StateHash,
};

/// What an audit of records saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The shard and its last entry.
    pub shard: ShardRecord,
    /// How many records there were.
    pub records: u64,
    /// How many of them are remembered intents.
    pub intents: u64,
    /// The state hash.
    pub hash: StateHash,
}

/// Checks every invariant that a state can show without its history.
///
/// The records may come in any order, but that of the shard is first, as [`State::export`](crate::State::export) shows it.
///
/// # Errors
/// The first invariant that does not hold.
pub fn audit_records(records: impl IntoIterator<Item = Record>) -> Result<Audited, Violation> {
    let mut records = records.into_iter();
    let Some(Record::Shard(shard)) = records.next() else { return Err(Violation::NoShard) };
    let mut hash = StateHash::default();
    hash.add(&Record::Shard(shard.clone()));
    let mut books = Books::new(shard);
    let mut count = 1_u64;
    for record in records {
        hash.add(&record);
        count = count.saturating_add(1);
        books.take(record)?;
    }
    books.check()?;
    Ok(Audited { records: count, intents: books.intents.len() as u64, hash, shard: books.shard })
}

/// Everything that the records say, by what it is of.
pub(super) struct Books {
    pub(super) shard: ShardRecord,
    pub(super) market: Option<MarketRecord>,
    pub(super) instruments: BTreeMap<Name, InstrumentRecord>,
    pub(super) accounts: BTreeMap<Name, AccountRecord>,
    pub(super) holdings: BTreeMap<(Name, Name), HoldingRecord>,
    pub(super) sale: Option<SaleRecord>,
    pub(super) levels: BTreeMap<Name, LevelRecord>,
    pub(super) candidates: BTreeMap<CandidateId, CandidateRecord>,
    pub(super) bookings: BTreeMap<Position, BookingRecord>,
    // A state may remember millions of intents: of each only its place, and a digest of principal and key.
    intents: Vec<(u64, [u8; 16])>,
}

impl Books {
    fn new(shard: ShardRecord) -> Self {
        Self {
            shard,
            market: None,
            instruments: BTreeMap::new(),
            accounts: BTreeMap::new(),
            holdings: BTreeMap::new(),
            sale: None,
            levels: BTreeMap::new(),
            candidates: BTreeMap::new(),
            bookings: BTreeMap::new(),
            intents: Vec::new(),
        }
    }

    fn take(&mut self, record: Record) -> Result<(), Violation> {
        let record_label = || label(&record);
        let kind = match &record {
            Record::Shard(_) => return Err(Violation::RecordTwice { record: record_label() }),
            Record::Market(_) | Record::Instrument(_) | Record::Account(_) | Record::Holding(_) => ShardKind::Market,
            Record::Sale(_) | Record::Level(_) | Record::Candidate(_) | Record::Booking(_) => ShardKind::Sale,
            Record::Intent(record) => return self.take_intent(record),
        };
        if kind != self.shard.shard.kind {
            return Err(Violation::OtherKind { record: record_label() });
        }
        let copy = record.clone();
        let twice = match record {
            Record::Market(record) => self.market.replace(record).is_some(),
            Record::Instrument(record) => self.instruments.insert(record.instrument.clone(), record).is_some(),
            Record::Account(record) => self.accounts.insert(record.account.clone(), record).is_some(),
            Record::Holding(record) => {
                let of = (record.account.clone(), record.instrument.clone());
                self.holdings.insert(of, record).is_some()
            }
            Record::Sale(record) => self.sale.replace(record).is_some(),
            Record::Level(record) => self.levels.insert(record.level.clone(), record).is_some(),
            Record::Candidate(record) => self.candidates.insert(record.candidate, record).is_some(),
            Record::Booking(record) => self.bookings.insert(record.booking, record).is_some(),
            Record::Shard(_) | Record::Intent(_) => false,
        };
        if twice { Err(Violation::RecordTwice { record: label(&copy) }) } else { Ok(()) }
    }

    fn take_intent(&mut self, record: &IntentRecord) -> Result<(), Violation> {
        let ShardRecord { position, at_ms, retention_ms, .. } = &self.shard;
        let wrong = |figure, found| Violation::OutOfRange { record: label(&Record::Intent(record.clone())), figure, found };
        let end = record.at_ms.saturating_add(*retention_ms);
        if record.at_ms < 0 || record.at_ms > *at_ms || end <= *at_ms {
            return Err(wrong("instant", record.at_ms));
        }
        if record.position.seq == 0 || record.position > *position {
            return Err(wrong("seq", i64::try_from(record.position.seq).unwrap_or(i64::MAX)));
        }
        if let Some(expires_at) = record.intent.expires_at
            && (expires_at <= record.at_ms || expires_at > end)
        {
            return Err(Violation::AcceptedOutOfTime { expires_at, at_ms: record.at_ms });
        }
        if record.events.is_empty() {
            return Err(Violation::NoEvents);
        }
        let mut hasher = Sha256::new();
        hasher.update(record.intent.principal.as_str().as_bytes());
        hasher.update([0xff]);
        hasher.update(record.intent.key.as_str().as_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        let (chunks, _) = digest.as_chunks::<16>();
        self.intents.push((record.position.seq, chunks.first().copied().unwrap_or_default()));
        Ok(())
    }

    fn check(&mut self) -> Result<(), Violation> {
        self.check_intents()?;
        match (&self.market, &self.sale) {
            (Some(market), None) => self.check_market(market),
            (None, Some(sale)) => self.check_sale(sale),
            _ if self.shard.position.seq > 0 => Err(Violation::NoShard),
            _ => Ok(()),
        }
    }

    fn check_intents(&mut self) -> Result<(), Violation> {
        let place = |seq: u64| Position { epoch: self.shard.position.epoch, seq };
        self.intents.sort_unstable_by_key(|(_, digest)| *digest);
        for (one, other) in self.intents.iter().zip(self.intents.iter().skip(1)) {
            if one.1 == other.1 {
                return Err(Violation::AcceptedTwice { first: place(one.0.min(other.0)), again: place(one.0.max(other.0)) });
            }
        }
        self.intents.sort_unstable();
        for (one, other) in self.intents.iter().zip(self.intents.iter().skip(1)) {
            if one.0 == other.0 {
                return Err(Violation::Gap { last: place(one.0), next: place(other.0) });
            }
        }
        Ok(())
    }
}

/// A figure of a record in its range.
pub(super) fn check_range(record: impl FnOnce() -> String, figure: &'static str, found: i64, min: i64, max: i64) -> Result<(), Violation> {
    if (min..=max).contains(&found) { Ok(()) } else { Err(Violation::OutOfRange { record: record(), figure, found }) }
}
