//! Moves an instrument's base.

use super::list_instrument::check_base;
use super::{InstrumentState, Market};
use crate::amount::sub;
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::{AMOUNT_MAX, NOTIONAL_MAX};
use crate::{ApplyError, Name, Rejection, curve};

/// Moves an instrument's base: a match event changes what a share is worth. A frozen instrument can be repriced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reprice {
    /// Which one.
    pub instrument: Name,
    /// The new base, in the market's unit.
    pub base: i64,
}

fields! {
    /// An instrument's base was moved.
    pub struct InstrumentRepriced {
        /// Which one.
        pub instrument: Name,
        /// The base before.
        pub base_before: i64,
        /// The base after.
        pub base: i64,
        /// The instrument's price before.
        pub price_before: i64,
        /// The instrument's price after.
        pub price_after: i64,
        /// What the house would have lost after it, if every holder sold.
        pub house_loss: i64,
    }
}

impl Reprice {
    pub(crate) fn decide(&self, market: &Market) -> Result<InstrumentRepriced, Rejection> {
        in_range("base", self.base, 0, AMOUNT_MAX)?;
        let (_, instrument) = market.instrument(&self.instrument).ok_or(Rejection::UnknownInstrument)?;
        if instrument.state == InstrumentState::Settled {
            return Err(Rejection::InstrumentSettled { price: instrument.settled_price });
        }
        // Which base is the least depends on the instrument, so it can be asked only now.
        check_base(self.base, instrument.slope)?;
        if self.base == instrument.base {
            return Err(Rejection::NoChange);
        }
        let debt = |base| curve::integral(base, instrument.slope, instrument.net).ok_or(Rejection::AmountTooLarge);
        // A share that costs more than an order may move could not be sold any more.
        let price_after = curve::price(self.base, instrument.slope, instrument.net)
            .filter(|price| *price <= NOTIONAL_MAX)
            .ok_or(Rejection::AmountTooLarge)?;
        // What the house may still pay out for this instrument stays an amount, so that no sale or payout can fail for its size.
        let debt_after = debt(self.base)?;
        sub(debt_after, instrument.cash).ok_or(Rejection::AmountTooLarge)?;
        let house_loss = market.house_loss_with(debt(instrument.base)?, debt_after).ok_or(Rejection::AmountTooLarge)?;
        let house_loss_max = market.limits.house_loss_max;
        // A step down never makes the loss larger, and what is within its bound stays so: it is always allowed.
        if house_loss > house_loss_max {
            return Err(Rejection::HouseLossExceeded { loss: house_loss, house_loss_max });
        }
        Ok(InstrumentRepriced {
            instrument: self.instrument.clone(),
            base_before: instrument.base,
            base: self.base,
            price_before: instrument.price(),
            price_after,
            house_loss,
        })
    }
}

impl InstrumentRepriced {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        let (_, instrument) = market.instrument_mut(&self.instrument)?;
        if instrument.base != self.base_before || sub(self.base, self.base_before).is_none() {
            return Err(ApplyError::Inconsistent("reprice"));
        }
        instrument.base = self.base;
        market.house_loss = self.house_loss;
        Ok(())
    }
}
