//! Pays named holders of a settled instrument.

use alloc::vec::Vec;

use super::{Holding, InstrumentState, Market};
use crate::amount::{add, sub};
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::PAY_HOLDERS_MAX;
use crate::{ApplyError, Name, Rejection};

/// Pays named holders of a settled instrument. Who holds nothing, or was paid before, is passed over; the whole is finished
/// when the instrument's `net` is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayHolders {
    /// Which instrument.
    pub instrument: Name,
    /// Which accounts, 1 to `PAY_HOLDERS_MAX`.
    pub holders: Vec<Name>,
}

fields! {
    /// Holders were paid.
    pub struct HoldersPaid {
        /// For which instrument.
        pub instrument: Name,
        /// Who got what.
        pub payouts: Vec<Payout>,
        /// Shares that are still to be paid.
        pub net: i64,
    }
}

fields! {
    /// What one holder got.
    pub struct Payout {
        /// Who.
        pub account: Name,
        /// For how many shares: all that it held.
        pub shares: i64,
        /// How much: shares times the settled price.
        pub amount: i64,
        /// The account's money after.
        pub balance: i64,
        /// The account's marked score after: the holding's part has left it.
        pub marked_score: i64,
    }
}

impl PayHolders {
    pub(crate) fn decide(&self, market: &Market) -> Result<HoldersPaid, Rejection> {
        in_range("holders", self.holders.len() as i64, 1, PAY_HOLDERS_MAX as i64)?;
        let (number, instrument) = market.instrument(&self.instrument).ok_or(Rejection::UnknownInstrument)?;
        if instrument.state != InstrumentState::Settled {
            return Err(Rejection::InstrumentNotSettled);
        }
        let mut net = instrument.net;
        let mut payouts: Vec<Payout> = Vec::new();
        for name in &self.holders {
            if payouts.iter().any(|payout| payout.account == *name) {
                continue;
            }
            let Some(account) = market.account(name) else { continue };
            let held = account.holding(number);
            if held.shares == 0 {
                continue;
            }
            // Bounded when the price was fixed: price * net is an amount, and every balance fits what was issued and lost.
            let amount = held.shares.checked_mul(instrument.settled_price).ok_or(Rejection::AmountTooLarge)?;
            net = sub(net, held.shares).filter(|net| *net >= 0).ok_or(Rejection::InvariantBroken { what: "net" })?;
            payouts.push(Payout {
                account: name.clone(),
                shares: held.shares,
                amount,
                balance: add(account.balance, amount).ok_or(Rejection::AmountTooLarge)?,
                marked_score: sub(account.marked_score, held.marked_profit).ok_or(Rejection::AmountTooLarge)?,
            });
        }
        if payouts.is_empty() {
            return Err(Rejection::NothingDue);
        }
        Ok(HoldersPaid { instrument: self.instrument.clone(), payouts, net })
    }
}

impl HoldersPaid {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        let (number, instrument) = market.instrument(&self.instrument).ok_or(ApplyError::Unknown("instrument"))?;
        let (mut net, mut cash) = (Some(instrument.net), Some(instrument.cash));
        for payout in &self.payouts {
            let account = market.account(&payout.account).ok_or(ApplyError::Unknown("account"))?;
            let held = account.holding(number);
            if held.shares != payout.shares || add(account.balance, payout.amount) != Some(payout.balance) {
                return Err(ApplyError::Inconsistent("payout"));
            }
            net = net.and_then(|net| sub(net, payout.shares));
            cash = cash.and_then(|cash| sub(cash, payout.amount));
        }
        if net != Some(self.net) {
            return Err(ApplyError::Inconsistent("payout"));
        }
        let cash = cash.ok_or(ApplyError::OutOfRange("cash"))?;
        for payout in &self.payouts {
            let account = market.account_mut(&payout.account)?;
            account.balance = payout.balance;
            account.marked_score = payout.marked_score;
            account.set_holding(number, Holding::default());
        }
        market.set_sold(number, self.net, cash)
    }
}
