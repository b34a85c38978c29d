//! What a market shows of itself.

use super::{Account, Holding, Instrument, InstrumentState, Market, MarketLimits, MarketMode};
use crate::{AccountClass, Name};

/// A market's own figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarketView {
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
    /// What the house would have lost if every holder sold now, or was paid the settled price; less than zero is a gain.
    pub house_loss: i64,
    /// How many instruments are listed.
    pub instruments: usize,
    /// How many accounts are open.
    pub accounts: usize,
}

/// An instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrumentView {
    /// Its name.
    pub instrument: Name,
    /// The curve's base.
    pub base: i64,
    /// The curve's slope.
    pub slope: i64,
    /// What it is doing.
    pub state: InstrumentState,
    /// The price after the last share, or the settled one.
    pub price: i64,
    /// Shares that the house has sold and not bought back or paid out.
    pub net: i64,
    /// The house's cash from it.
    pub cash: i64,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountView {
    /// Its name.
    pub account: Name,
    /// Whose it is.
    pub class: AccountClass,
    /// Its money.
    pub balance: i64,
    /// The sum of its holdings' profits, each as of the account's own last trade in it.
    pub marked_score: i64,
    /// How many instruments it holds.
    pub holdings: usize,
}

/// An account's shares of one instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingView {
    /// Whose.
    pub account: Name,
    /// Of what.
    pub instrument: Name,
    /// How many.
    pub shares: i64,
    /// What they cost, fees included.
    pub cost: i64,
    /// Their profit at the price after the account's last trade in them.
    pub marked_profit: i64,
}

impl Market {
    pub(crate) fn view(&self) -> MarketView {
        MarketView {
            decimals: self.decimals,
            fee_bps: self.fee_bps,
            limits: self.limits,
            mode: self.mode,
            fees: self.fees,
            issuance: self.issuance,
            house_loss: self.house_loss,
            instruments: self.instruments().len(),
            accounts: self.accounts().len(),
        }
    }

    pub(crate) fn holding_view(&self, account: &Account, number: u32, holding: &Holding) -> Option<HoldingView> {
        let instrument = self.instruments().get(number as usize)?;
        Some(HoldingView {
            account: account.name.clone(),
            instrument: instrument.name.clone(),
            shares: holding.shares,
            cost: holding.cost,
            marked_profit: holding.marked_profit,
        })
    }
}

impl Instrument {
    pub(crate) fn view(&self) -> InstrumentView {
        InstrumentView {
            instrument: self.name.clone(),
            base: self.base,
            slope: self.slope,
            state: self.state,
            price: self.price(),
            net: self.net,
            cash: self.cash,
        }
    }
}

impl Account {
    pub(crate) fn view(&self) -> AccountView {
        AccountView {
            account: self.name.clone(),
            class: self.class,
            balance: self.balance,
            marked_score: self.marked_score,
            holdings: self.holdings().len(),
        }
    }
}
