//! Stops an instrument's trading for a while, and lets it go on.

use super::{InstrumentState, Market};
use crate::fields::fields;
use crate::{ApplyError, Name, Rejection};

/// Stops an instrument's trading for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Which one.
    pub instrument: Name,
}

/// Lets a frozen instrument trade again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfreeze {
    /// Which one.
    pub instrument: Name,
}

fields! {
    /// An instrument was frozen.
    pub struct InstrumentFrozen {
        /// Which one.
        pub instrument: Name,
    }
}

fields! {
    /// An instrument trades again.
    pub struct InstrumentUnfrozen {
        /// Which one.
        pub instrument: Name,
    }
}

impl Freeze {
    pub(crate) fn decide(&self, market: &Market) -> Result<InstrumentFrozen, Rejection> {
        check_move(market, &self.instrument, InstrumentState::Frozen)?;
        Ok(InstrumentFrozen { instrument: self.instrument.clone() })
    }
}

impl Unfreeze {
    pub(crate) fn decide(&self, market: &Market) -> Result<InstrumentUnfrozen, Rejection> {
        check_move(market, &self.instrument, InstrumentState::Active)?;
        Ok(InstrumentUnfrozen { instrument: self.instrument.clone() })
    }
}

fn check_move(market: &Market, instrument: &Name, to: InstrumentState) -> Result<(), Rejection> {
    let (_, instrument) = market.instrument(instrument).ok_or(Rejection::UnknownInstrument)?;
    match instrument.state {
        InstrumentState::Settled => Err(Rejection::InstrumentSettled { price: instrument.settled_price }),
        state if state == to => Err(Rejection::NoChange),
        _ => Ok(()),
    }
}

fn apply_move(market: &mut Market, instrument: &Name, from: InstrumentState, to: InstrumentState) -> Result<(), ApplyError> {
    let (_, instrument) = market.instrument_mut(instrument)?;
    if instrument.state != from {
        return Err(ApplyError::Inconsistent("freeze"));
    }
    instrument.state = to;
    Ok(())
}

impl InstrumentFrozen {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        apply_move(market, &self.instrument, InstrumentState::Active, InstrumentState::Frozen)
    }
}

impl InstrumentUnfrozen {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        apply_move(market, &self.instrument, InstrumentState::Frozen, InstrumentState::Active)
    }
}
