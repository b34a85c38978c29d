//! Facts.

use alloc::vec::Vec;

use crate::fields::{fields, tagged};
use crate::market::{
    AccountOpened, HoldersPaid, InstrumentFrozen, InstrumentListed, InstrumentRepriced, InstrumentSettled, InstrumentUnfrozen,
    MarketOpened, ModeSet, OrderFilled,
};
use crate::sale::{
    BookingReleased, CandidateAdmitted, CandidatesLoaded, CapsSet, HoldsExpired, PaymentAttached, PaymentBegun, PaymentConfirmed,
    SaleOpenSet, SaleOpened,
};
use crate::{Intent, Position, ShardId};

fields! {
    /// An accepted decision: what happened, at these figures. Applying it needs no rules, and an old one means the same for
    /// ever.
    pub struct Entry {
        /// Where it happened.
        pub shard: ShardId,
        /// Its place in that shard's history.
        pub position: Position,
        /// When, in milliseconds since 1970; never less than in the entry before it.
        pub at_ms: i64,
        /// Who meant it.
        pub intent: Intent,
        /// What happened; at least one.
        pub events: Vec<Event>,
    }
}

tagged! {
    /// One fact. Tags are part of the format: they are never used for anything else.
    pub enum Event {
        /// The market was opened.
        1 => MarketOpened(MarketOpened),
        /// An instrument was listed.
        2 => InstrumentListed(InstrumentListed),
        /// An account was opened.
        3 => AccountOpened(AccountOpened),
        /// An order was filled.
        4 => OrderFilled(OrderFilled),
        /// An instrument's base was moved.
        5 => InstrumentRepriced(InstrumentRepriced),
        /// An instrument was frozen.
        6 => InstrumentFrozen(InstrumentFrozen),
        /// An instrument trades again.
        7 => InstrumentUnfrozen(InstrumentUnfrozen),
        /// The market's mode was set.
        8 => ModeSet(ModeSet),
        /// An instrument's last price was fixed.
        9 => InstrumentSettled(InstrumentSettled),
        /// Holders were paid.
        10 => HoldersPaid(HoldersPaid),
        /// The sale was opened.
        32 => SaleOpened(SaleOpened),
        /// Candidates were added or changed.
        33 => CandidatesLoaded(CandidatesLoaded),
        /// A candidate was admitted to a seat.
        34 => CandidateAdmitted(CandidateAdmitted),
        /// A payment is about to be asked for.
        35 => PaymentBegun(PaymentBegun),
        /// It is known where a payment can be made.
        36 => PaymentAttached(PaymentAttached),
        /// A booking ended paid.
        37 => PaymentConfirmed(PaymentConfirmed),
        /// A booking ended released.
        38 => BookingReleased(BookingReleased),
        /// Holds came to their end.
        39 => HoldsExpired(HoldsExpired),
        /// The doors were opened or closed.
        40 => SaleOpenSet(SaleOpenSet),
        /// Caps were changed.
        41 => CapsSet(CapsSet),
    }
}
