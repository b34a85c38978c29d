//! A shard's records, made of a dump of its keys: what the state hash is taken over.
//!
//! A dump is a scan in several pieces. It counts only if the shard is at the same position before and after it.

use std::collections::BTreeMap;

use nevertwice_api::encoding::decode_fields;
use nevertwice_core::fields::Malformed;
use nevertwice_core::{
    AccountRecord, BookingRecord, BookingView, CandidateId, CandidateRecord, HoldingRecord, InstrumentRecord, LevelRecord, MarketRecord,
    Name, Position, Record, SaleRecord, ShardId, ShardRecord, StateHash,
};

use super::fields::{
    AccountFields, Adoptions, BookingFields, CandidateFields, CountFields, Head, HoldingFields, InstrumentFields, LevelFields,
    MarketFields, SaleFields,
};
use super::reading::head;
use super::reply::{Odd, intent_record};

/// What has been read of a shard so far.
#[derive(Default)]
pub(crate) struct Dump {
    state: BTreeMap<Vec<u8>, Vec<u8>>,
    intents: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Dump {
    /// The head as it was before anything else was read.
    pub(crate) fn first_head(&mut self, head: Vec<u8>) {
        self.state.insert(b"head".to_vec(), head);
    }

    /// A field of the state; a scan may show it twice, and shows the head later than it was read first.
    pub(crate) fn field(&mut self, field: Vec<u8>, value: Vec<u8>) {
        if field != b"head" {
            self.state.insert(field, value);
        }
    }

    /// The memory of an intent, by its key.
    pub(crate) fn intent(&mut self, key: Vec<u8>, record: Vec<u8>) {
        self.intents.insert(key, record);
    }

    /// The head; none if the shard is not open.
    pub(crate) fn head(&self) -> Result<Option<Head>, Odd> {
        head(self.get(b"head"))
    }

    /// The position, and the hash of all records.
    pub(crate) fn hash(&self, shard: &ShardId) -> Result<(Position, StateHash), Odd> {
        let mut hash = StateHash::default();
        let head = self.head()?;
        let (position, at_ms, retention_ms) =
            head.as_ref().map_or((Position::default(), 0, 0), |head| (head.position, head.at_ms, head.retention_ms));
        let adoptions = Adoptions::read(self.get(b"adoptions"))?.0;
        hash.add(&Record::Shard(ShardRecord { shard: shard.clone(), position, at_ms, retention_ms, adoptions }));
        if head.is_some() {
            for (field, value) in &self.state {
                if let Some(record) = self.record(field, value)? {
                    hash.add(&record);
                }
            }
        }
        for bytes in self.intents.values() {
            let record = intent_record(bytes)?;
            if record.at_ms.saturating_add(retention_ms) > at_ms {
                hash.add(&Record::Intent(record));
            }
        }
        Ok((position, hash))
    }

    fn get(&self, field: &[u8]) -> &[u8] {
        self.state.get(field).map(Vec::as_slice).unwrap_or_default()
    }

    /// The record of a field; none of those that only lead to others.
    fn record(&self, field: &[u8], value: &[u8]) -> Result<Option<Record>, Odd> {
        // Who opened the state says what a field that both kinds have means.
        let is_market = self.state.contains_key(b"market".as_slice());
        Ok(Some(match field {
            b"market" => {
                let MarketFields { decimals, fee_bps, limits, mode, issuance, house_loss, .. } = decode_fields(value)?;
                let fees = decode_fields(self.get(b"fees"))?;
                Record::Market(MarketRecord { decimals, fee_bps, limits, mode, fees, issuance, house_loss })
            }
            b"sale" => {
                let SaleFields { open, opens_at, closes_at, hold_ms, total_cap, .. } = decode_fields(value)?;
                let CountFields { live, seats, .. } = decode_fields(self.get(b"counts"))?;
                Record::Sale(SaleRecord { open, opens_at, closes_at, hold_ms, total_cap, live, seats })
            }
            [b'I', b'/', instrument @ ..] => {
                let InstrumentFields { listed, base, slope, state, settled_price, net, cash } = decode_fields(value)?;
                let instrument = name(instrument)?;
                Record::Instrument(InstrumentRecord { instrument, listed, base, slope, state, settled_price, net, cash })
            }
            [b'A', b'/', account @ ..] => {
                let AccountFields { class, balance, marked_score, .. } = decode_fields(value)?;
                Record::Account(AccountRecord { account: name(account)?, class, balance, marked_score })
            }
            [b'H', b'/', both @ ..] => {
                let slash = both.iter().position(|byte| *byte == b'/').ok_or(Malformed::Text)?;
                let (instrument, account) = both.split_at(slash);
                let HoldingFields { shares, cost, marked_profit } = decode_fields(value)?;
                let (account, instrument) = (name(&account[1..])?, name(instrument)?);
                Record::Holding(HoldingRecord { account, instrument, shares, cost, marked_profit })
            }
            [b'L', b'/', level @ ..] if !is_market => {
                let record: LevelFields = decode_fields(value)?;
                let (number, cap, live) = (record.number, record.cap(), record.live);
                Record::Level(LevelRecord { level: name(level)?, number, cap, live })
            }
            [b'C', b'/', candidate @ ..] => {
                let CandidateFields { email, levels } = CandidateFields::read(value)?;
                let candidate = CandidateId(candidate.try_into().map_err(|_| Malformed::CutShort)?);
                Record::Candidate(CandidateRecord { candidate, email, levels })
            }
            [b'B', b'/', booking @ ..] => {
                let booking = decode_fields::<BookingFields>(value)?.view(decode_fields(booking)?);
                let BookingView { booking, candidate, level, seat, state, principal, key, hold_expires_at, payment, url } = booking;
                Record::Booking(BookingRecord { booking, candidate, level, seat, state, principal, key, hold_expires_at, payment, url })
            }
            _ => return Ok(None),
        }))
    }
}

fn name(bytes: &[u8]) -> Result<Name, Odd> {
    std::str::from_utf8(bytes).ok().and_then(|text| Name::new(text).ok()).ok_or_else(|| Odd::Shape("a name that is none".into()))
}
