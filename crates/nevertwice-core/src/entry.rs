//! Facts.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::fields::{Fields, Malformed, Sink, Source, tagged};
use crate::market::{
    AccountOpened, HoldersPaid, InstrumentFrozen, InstrumentListed, InstrumentRepriced, InstrumentSettled, InstrumentUnfrozen,
    MarketOpened, ModeSet, OrderFilled,
};
use crate::sale::{
    BookingReleased, CandidateAdmitted, CandidatesLoaded, CapsSet, HoldsExpired, PaymentAttached, PaymentBegun, PaymentConfirmed,
    SaleOpenSet, SaleOpened,
};
use crate::{Before, CallerRole, Intent, Origin, Position, ReleaseReason, ShardId};

/// An accepted decision: what happened, at these figures. Applying it needs no rules, and an old one means the same for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Where the command came from, if its sender told. A replay of the entry does not know it any more: it is not remembered.
    pub origin: Option<Box<Origin>>,
    /// What the command found, where its event does not say; only with an origin.
    pub before: Option<Box<Before>>,
}

// What is beside the facts costs an order two pointers.
#[cfg(target_pointer_width = "64")]
const _: () = {
    let facts = [size_of::<ShardId>(), size_of::<Position>(), size_of::<i64>(), size_of::<Intent>(), size_of::<Vec<Event>>()];
    let [shard, position, at_ms, intent, events] = facts;
    assert!(size_of::<Entry>() == shard + position + at_ms + intent + events + 2 * size_of::<usize>());
};

impl Entry {
    /// Whether an operator did it: what only operators can do, and what one did in the place of somebody else. It is what an audit
    /// asks about; orders and admissions are not, whoever sends them, nor is what the host does by itself.
    #[must_use]
    pub fn is_operators(&self) -> bool {
        let is_called_by_operator = self.origin.as_ref().is_some_and(|origin| origin.role == CallerRole::Operator);
        self.events.iter().any(|event| match event {
            Event::OrderFilled(_)
            | Event::HoldersPaid(_)
            | Event::CandidateAdmitted(_)
            | Event::PaymentBegun(_)
            | Event::PaymentAttached(_)
            | Event::HoldsExpired(_) => false,
            Event::PaymentConfirmed(_) => is_called_by_operator,
            Event::BookingReleased(released) => is_called_by_operator || released.reason == ReleaseReason::Operator,
            Event::MarketOpened(_)
            | Event::InstrumentListed(_)
            | Event::AccountOpened(_)
            | Event::InstrumentRepriced(_)
            | Event::InstrumentFrozen(_)
            | Event::InstrumentUnfrozen(_)
            | Event::ModeSet(_)
            | Event::InstrumentSettled(_)
            | Event::SaleOpened(_)
            | Event::CandidatesLoaded(_)
            | Event::SaleOpenSet(_)
            | Event::CapsSet(_) => true,
        })
    }
}

/// The facts alone: what the first version of the encoding has. The origin, and what the command found, are written beside them.
impl Fields for Entry {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        self.shard.put(sink);
        self.position.put(sink);
        self.at_ms.put(sink);
        self.intent.put(sink);
        self.events.put(sink);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(Self {
            shard: Fields::take(source)?,
            position: Fields::take(source)?,
            at_ms: Fields::take(source)?,
            intent: Fields::take(source)?,
            events: Fields::take(source)?,
            origin: None,
            before: None,
        })
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

impl Event {
    /// The word of the command that made it.
    #[must_use]
    pub const fn command(&self) -> &'static str {
        match self {
            Self::MarketOpened(_) => "open_market",
            Self::InstrumentListed(_) => "list_instrument",
            Self::AccountOpened(_) => "open_account",
            Self::OrderFilled(_) => "place_order",
            Self::InstrumentRepriced(_) => "reprice",
            Self::InstrumentFrozen(_) => "freeze",
            Self::InstrumentUnfrozen(_) => "unfreeze",
            Self::ModeSet(_) => "set_mode",
            Self::InstrumentSettled(_) => "settle_instrument",
            Self::HoldersPaid(_) => "pay_holders",
            Self::SaleOpened(_) => "open_sale",
            Self::CandidatesLoaded(_) => "load_candidates",
            Self::CandidateAdmitted(_) => "admit",
            Self::PaymentBegun(_) => "begin_payment",
            Self::PaymentAttached(_) => "attach_payment",
            Self::PaymentConfirmed(_) => "confirm_payment",
            Self::BookingReleased(_) => "release_booking",
            Self::HoldsExpired(_) => "expire_holds",
            Self::SaleOpenSet(_) => "set_sale_open",
            Self::CapsSet(_) => "set_caps",
        }
    }
}
