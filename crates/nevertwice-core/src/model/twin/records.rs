//! What a twin's records would be, for comparison with those of a state.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{MarketTwin, SaleTwin, Twin, narrow};
use crate::{
    AccountRecord, BookingRecord, CandidateRecord, HoldingRecord, InstrumentRecord, LevelRecord, MarketRecord, Record, SaleRecord,
};

/// What a record is of; no two records of a state have the same.
pub(crate) fn label(record: &Record) -> String {
    match record {
        Record::Shard(record) => format!("the shard {}", record.shard),
        Record::Market(_) => String::from("the market"),
        Record::Instrument(record) => format!("instrument {}", record.instrument),
        Record::Account(record) => format!("account {}", record.account),
        Record::Holding(record) => format!("the holding of {} in {}", record.account, record.instrument),
        Record::Sale(_) => String::from("the sale"),
        Record::Level(record) => format!("level {}", record.level),
        Record::Candidate(record) => {
            let digits = record.candidate.0.iter().map(|byte| format!("{byte:02x}"));
            format!("candidate {}", digits.collect::<String>())
        }
        Record::Booking(record) => format!("booking {}", record.booking),
        Record::Intent(record) => format!("the intent {} of {}", record.intent.key, record.intent.principal),
    }
}

impl Twin {
    /// All records but those of the shard and of the intents.
    pub(crate) fn records(&self) -> Vec<Record> {
        match self {
            Self::Unopened => Vec::new(),
            Self::Market(market) => market.records(),
            Self::Sale(sale) => sale.records(),
        }
    }
}

impl MarketTwin {
    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.push(Record::Market(MarketRecord {
            decimals: self.decimals,
            fee_bps: self.fee_bps,
            limits: self.limits,
            mode: self.mode,
            fees: self.fees,
            issuance: self.issuance,
            house_loss: narrow(self.house_loss()),
        }));
        for (name, listed) in self.listed.iter().zip(0_u32..) {
            let Some(instrument) = self.instruments.get(name) else { continue };
            records.push(Record::Instrument(InstrumentRecord {
                instrument: name.clone(),
                listed,
                base: instrument.base,
                slope: instrument.slope,
                state: instrument.state,
                settled_price: instrument.settled_price,
                net: instrument.net,
                cash: instrument.cash,
            }));
        }
        for (name, account) in &self.accounts {
            records.push(Record::Account(AccountRecord {
                account: name.clone(),
                class: account.class,
                balance: account.balance,
                marked_score: narrow(account.marked_score()),
            }));
            records.extend(account.holdings.iter().map(|(instrument, holding)| {
                Record::Holding(HoldingRecord {
                    account: name.clone(),
                    instrument: instrument.clone(),
                    shares: holding.shares,
                    cost: holding.cost,
                    marked_profit: holding.marked_profit,
                })
            }));
        }
        records
    }
}

impl SaleTwin {
    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.push(Record::Sale(SaleRecord {
            open: self.open,
            opens_at: self.opens_at,
            closes_at: self.closes_at,
            hold_ms: self.hold_ms,
            total_cap: self.total_cap,
            live: self.live(None),
            seats: self.seats(),
        }));
        records.extend(self.levels.iter().zip(0_u32..).map(|(level, number)| {
            Record::Level(LevelRecord { level: level.level.clone(), number, cap: level.cap, live: self.live(Some(&level.level)) })
        }));
        records.extend(
            self.candidates
                .values()
                .map(|fact| Record::Candidate(CandidateRecord { candidate: fact.candidate, email: fact.email, levels: fact.levels })),
        );
        records.extend(self.bookings.iter().map(|(id, booking)| {
            Record::Booking(BookingRecord {
                booking: *id,
                candidate: booking.candidate,
                level: booking.level.clone(),
                seat: booking.seat,
                state: booking.state,
                principal: booking.principal.clone(),
                key: booking.key.clone(),
                hold_expires_at: booking.hold_expires_at,
                payment: booking.payment.clone(),
                url: booking.url.clone(),
            })
        }));
        records
    }
}
