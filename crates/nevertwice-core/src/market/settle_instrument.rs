//! Fixes an instrument's last price and ends its trading.

use super::{InstrumentState, Market};
use crate::amount::{bounded, sub};
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::AMOUNT_MAX;
use crate::{ApplyError, Name, Rejection, curve};

/// Fixes an instrument's last price and ends its trading; its holders are paid afterwards, by `PayHolders`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleInstrument {
    /// Which one.
    pub instrument: Name,
    /// What each share is worth, 0 to `AMOUNT_MAX`, in the market's unit.
    pub price: i64,
}

fields! {
    /// An instrument's last price was fixed.
    pub struct InstrumentSettled {
        /// Which one.
        pub instrument: Name,
        /// What each share is worth.
        pub price: i64,
        /// Shares that are to be paid.
        pub net: i64,
        /// What the house will have lost once all holders of everything are paid or have sold.
        pub house_loss: i64,
    }
}

impl SettleInstrument {
    pub(crate) fn decide(&self, market: &Market) -> Result<InstrumentSettled, Rejection> {
        in_range("price", self.price, 0, AMOUNT_MAX)?;
        let (_, instrument) = market.instrument(&self.instrument).ok_or(Rejection::UnknownInstrument)?;
        if instrument.state == InstrumentState::Settled {
            return Err(Rejection::InstrumentSettled { price: instrument.settled_price });
        }
        let owed = i128::from(self.price).saturating_mul(i128::from(instrument.net));
        let owed = bounded(owed).ok_or(Rejection::AmountTooLarge)?;
        // Paying all holders leaves the cash an amount, so that no payout can fail for its size.
        sub(owed, instrument.cash).ok_or(Rejection::AmountTooLarge)?;
        let debt = curve::integral(instrument.base, instrument.slope, instrument.net).ok_or(Rejection::AmountTooLarge)?;
        let house_loss = market.house_loss_with(debt, owed).ok_or(Rejection::AmountTooLarge)?;
        let house_loss_max = market.limits.house_loss_max;
        if house_loss > house_loss_max {
            return Err(Rejection::HouseLossExceeded { loss: house_loss, house_loss_max });
        }
        Ok(InstrumentSettled { instrument: self.instrument.clone(), price: self.price, net: instrument.net, house_loss })
    }
}

impl InstrumentSettled {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        let (_, instrument) = market.instrument_mut(&self.instrument)?;
        if instrument.state == InstrumentState::Settled || instrument.net != self.net {
            return Err(ApplyError::Inconsistent("settlement"));
        }
        instrument.state = InstrumentState::Settled;
        instrument.settled_price = self.price;
        market.house_loss = self.house_loss;
        Ok(())
    }
}
