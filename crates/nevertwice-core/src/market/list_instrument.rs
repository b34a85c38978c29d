//! Lists an instrument.

use super::{Instrument, InstrumentState, Market};
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::{AMOUNT_MAX, INSTRUMENTS_MAX};
use crate::{ApplyError, Name, Rejection};

/// Lists an instrument on a curve of its own: `price(net) = base + slope * net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListInstrument {
    /// Its name.
    pub instrument: Name,
    /// The price before anything is sold, 0 to `AMOUNT_MAX`, in the market's unit.
    pub base: i64,
    /// What each share adds to the price, 0 to `AMOUNT_MAX`, in the market's unit. Not both it and `base` may be 0: nothing is
    /// given away.
    pub slope: i64,
}

fields! {
    /// An instrument was listed.
    pub struct InstrumentListed {
        /// Its name.
        pub instrument: Name,
        /// The price before anything is sold.
        pub base: i64,
        /// What each share adds to the price.
        pub slope: i64,
    }
}

impl ListInstrument {
    pub(crate) fn decide(&self, market: &Market) -> Result<InstrumentListed, Rejection> {
        in_range("slope", self.slope, 0, AMOUNT_MAX)?;
        check_base(self.base, self.slope)?;
        if market.instrument_number(&self.instrument).is_some() {
            return Err(Rejection::InstrumentExists);
        }
        if market.instruments().len() >= INSTRUMENTS_MAX {
            return Err(Rejection::InstrumentsFull);
        }
        Ok(InstrumentListed { instrument: self.instrument.clone(), base: self.base, slope: self.slope })
    }
}

/// A base must be an amount, and the first share must cost something.
pub(super) fn check_base(base: i64, slope: i64) -> Result<(), Rejection> {
    let base_min = if slope == 0 { 1 } else { 0 };
    in_range("base", base, base_min, AMOUNT_MAX)
}

impl InstrumentListed {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        if market.instrument_number(&self.instrument).is_some() {
            return Err(ApplyError::Exists("instrument"));
        }
        market.add_instrument(Instrument {
            name: self.instrument.clone(),
            base: self.base,
            slope: self.slope,
            state: InstrumentState::Active,
            settled_price: 0,
            net: 0,
            cash: 0,
        })
    }
}
