//! The state, as small typed records: what snapshots, dumps and rebuilds are made of, and what the state hash sums.

use alloc::vec::Vec;

use crate::fields::{fields, tagged};
use crate::{
    AccountClass, BookingState, CandidateId, Entry, Event, IdempotencyKey, InstrumentState, Intent, MarketLimits, MarketMode, Name,
    PaymentId, PaymentUrl, Position, Principal, ShardId,
};

tagged! {
    /// One record of a shard's state. Tags are part of the format: they are never used for anything else.
    pub enum Record {
        /// The shard itself; always the first.
        1 => Shard(ShardRecord),
        /// A market's own figures.
        2 => Market(MarketRecord),
        /// An instrument.
        3 => Instrument(InstrumentRecord),
        /// An account.
        4 => Account(AccountRecord),
        /// An account's shares of one instrument.
        5 => Holding(HoldingRecord),
        /// A sale's own figures.
        6 => Sale(SaleRecord),
        /// A level of a sale.
        7 => Level(LevelRecord),
        /// A candidate.
        8 => Candidate(CandidateRecord),
        /// A booking.
        9 => Booking(BookingRecord),
        /// A remembered intent that is live at the last entry's `at_ms`.
        10 => Intent(IntentRecord),
    }
}

fields! {
    /// Which shard, and how far.
    pub struct ShardRecord {
        /// Which one.
        pub shard: ShardId,
        /// Its last entry.
        pub position: Position,
        /// When that was.
        pub at_ms: i64,
        /// How long an accepted intent is remembered, in milliseconds.
        pub retention_ms: i64,
        /// Where each epoch began, oldest first; the last `ADOPTIONS_MAX` of them.
        pub adoptions: Vec<Position>,
    }
}

fields! {
    /// A market's own figures.
    pub struct MarketRecord {
        /// Decimals of its unit.
        pub decimals: u8,
        /// The fee on each notional, in basis points.
        pub fee_bps: i64,
        /// Its bounds.
        pub limits: MarketLimits,
        /// Its mode.
        pub mode: MarketMode,
        /// The balance of the fees account.
        pub fees: i64,
        /// The balance of the issuance account: minus all opening balances.
        pub issuance: i64,
        /// What the house would have lost if every holder sold now at the curve, or was paid the settled price.
        pub house_loss: i64,
    }
}

fields! {
    /// An instrument.
    pub struct InstrumentRecord {
        /// Its name.
        pub instrument: Name,
        /// Its number in the order of listing, from 0.
        pub listed: u32,
        /// The curve's base.
        pub base: i64,
        /// The curve's slope.
        pub slope: i64,
        /// What it is doing.
        pub state: InstrumentState,
        /// The settled price; 0 unless it is settled.
        pub settled_price: i64,
        /// Shares that the house has sold and not bought back or paid out.
        pub net: i64,
        /// The house's cash from it.
        pub cash: i64,
    }
}

fields! {
    /// An account.
    pub struct AccountRecord {
        /// Its name.
        pub account: Name,
        /// Whose it is.
        pub class: AccountClass,
        /// Its money.
        pub balance: i64,
        /// The sum of its holdings' profits, each as of the account's own last trade in it.
        pub marked_score: i64,
    }
}

fields! {
    /// An account's shares of one instrument.
    pub struct HoldingRecord {
        /// Whose.
        pub account: Name,
        /// Of what.
        pub instrument: Name,
        /// How many; at least 1.
        pub shares: i64,
        /// What they cost, fees included.
        pub cost: i64,
        /// Their profit at the price after the account's last trade in them: `shares * price - cost`.
        pub marked_profit: i64,
    }
}

fields! {
    /// A sale's own figures. Which seats are free follows from the live bookings.
    pub struct SaleRecord {
        /// Whether its doors are open.
        pub open: bool,
        /// When its window begins.
        pub opens_at: i64,
        /// When its window ends.
        pub closes_at: i64,
        /// How long a hold lasts, in milliseconds.
        pub hold_ms: i64,
        /// The most live bookings.
        pub total_cap: i64,
        /// Live bookings.
        pub live: i64,
        /// The highest seat number ever given out.
        pub seats: u32,
    }
}

fields! {
    /// A level of a sale.
    pub struct LevelRecord {
        /// Its name.
        pub level: Name,
        /// Its number in the order of opening, from 0: its bit in a candidate's `levels`.
        pub number: u32,
        /// The most live bookings; none: the total bounds it.
        pub cap: Option<i64>,
        /// Live bookings.
        pub live: i64,
    }
}

fields! {
    /// A candidate.
    pub struct CandidateRecord {
        /// The keyed digest of the code.
        pub candidate: CandidateId,
        /// The keyed digest of the e-mail address, if the list has one.
        pub email: Option<[u8; 32]>,
        /// The levels that may be booked: bit n is level number n.
        pub levels: u64,
    }
}

fields! {
    /// A booking, live or ended.
    pub struct BookingRecord {
        /// The position of its admission.
        pub booking: Position,
        /// Whose it is.
        pub candidate: CandidateId,
        /// Its level.
        pub level: Name,
        /// Its seat, from 1.
        pub seat: u32,
        /// How far it is.
        pub state: BookingState,
        /// Who asked for it; with the key its owner while no payment began.
        pub principal: Principal,
        /// With which key.
        pub key: IdempotencyKey,
        /// When the hold ends.
        pub hold_expires_at: i64,
        /// Its payment, once it began.
        pub payment: Option<PaymentId>,
        /// Where it can be paid, once that is known.
        pub url: Option<PaymentUrl>,
    }
}

fields! {
    /// An accepted intent and what it did: enough for the answer to its retries.
    pub struct IntentRecord {
        /// Who meant what.
        pub intent: Intent,
        /// Where it was accepted.
        pub position: Position,
        /// When.
        pub at_ms: i64,
        /// What happened.
        pub events: Vec<Event>,
    }
}

impl IntentRecord {
    pub(crate) fn into_entry(self, shard: ShardId) -> Entry {
        Entry { shard, position: self.position, at_ms: self.at_ms, intent: self.intent, events: self.events, origin: None, before: None }
    }
}
