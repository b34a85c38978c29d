//! What a command found, where its event does not say: so that an entry tells what was before as well as what is after.

use alloc::vec::Vec;

use crate::fields::{fields, tagged};
use crate::market::Market;
use crate::sale::Sale;
use crate::state::Body;
use crate::{Action, BookingState, InstrumentState, LevelCap, Name, Position, State};

tagged! {
    /// What a command found. Other commands need none: their events say it, or there was nothing before. Tags are part of the
    /// format: they are never used for anything else.
    pub enum Before {
        /// An instrument that is repriced or settled.
        1 => Instrument(InstrumentBefore),
        /// The caps that change.
        2 => Caps(CapsBefore),
        /// The candidates that are loaded.
        3 => Candidates(CandidatesBefore),
        /// A booking that is confirmed or released.
        4 => Booking(BookingBefore),
    }
}

fields! {
    /// An instrument before it was repriced or settled.
    pub struct InstrumentBefore {
        /// What it was doing.
        pub state: InstrumentState,
        /// The curve's base.
        pub base: i64,
        /// The price after the last share.
        pub price: i64,
        /// What the house would have lost if every holder of everything had sold then.
        pub house_loss: i64,
    }
}

fields! {
    /// Caps before they changed.
    pub struct CapsBefore {
        /// The caps of the levels that the event names, in its order.
        pub levels: Vec<LevelCap>,
        /// The total.
        pub total_cap: i64,
    }
}

fields! {
    /// Candidates before they were loaded.
    pub struct CandidatesBefore {
        /// For each candidate of the event, in its order: what the list had; none for one that was not on it.
        pub known: Vec<Option<KnownCandidate>>,
    }
}

fields! {
    /// What a list had of a candidate.
    pub struct KnownCandidate {
        /// The keyed digest of the e-mail address, if the list had one.
        pub email: Option<[u8; 32]>,
        /// The levels that could be booked: bit n is level number n.
        pub levels: u64,
    }
}

fields! {
    /// A booking before it was confirmed or released.
    pub struct BookingBefore {
        /// How far it was.
        pub state: BookingState,
    }
}

impl State {
    /// What an accepted command finds, where its event does not say.
    pub(crate) fn before(&self, action: &Action) -> Option<Before> {
        match (&self.body, action) {
            (Body::Market(market), Action::Reprice(action)) => instrument(market, &action.instrument),
            (Body::Market(market), Action::SettleInstrument(action)) => instrument(market, &action.instrument),
            (Body::Sale(sale), Action::SetCaps(action)) => Some(Before::Caps(caps(sale, &action.levels))),
            (Body::Sale(sale), Action::LoadCandidates(action)) => {
                let known = action.candidates.iter().map(|fact| {
                    let candidate = sale.candidate(&fact.candidate)?;
                    Some(KnownCandidate { email: candidate.email, levels: candidate.levels })
                });
                Some(Before::Candidates(CandidatesBefore { known: known.collect() }))
            }
            (Body::Sale(sale), Action::ConfirmPayment(action)) => booking(sale, action.booking),
            (Body::Sale(sale), Action::ReleaseBooking(action)) => booking(sale, action.booking),
            _ => None,
        }
    }
}

fn instrument(market: &Market, name: &Name) -> Option<Before> {
    let (_, instrument) = market.instrument(name)?;
    let (state, base, price) = (instrument.state, instrument.base, instrument.price());
    Some(Before::Instrument(InstrumentBefore { state, base, price, house_loss: market.house_loss }))
}

fn caps(sale: &Sale, changes: &[LevelCap]) -> CapsBefore {
    let levels = changes.iter().filter_map(|change| {
        let (_, level) = sale.level(&change.level)?;
        Some(LevelCap { level: level.name.clone(), cap: level.cap })
    });
    CapsBefore { levels: levels.collect(), total_cap: sale.total_cap }
}

fn booking(sale: &Sale, id: Position) -> Option<Before> {
    Some(Before::Booking(BookingBefore { state: sale.booking(id)?.state }))
}
