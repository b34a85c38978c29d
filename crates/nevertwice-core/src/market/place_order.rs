//! Buys or sells, whole or not at all.

use alloc::boxed::Box;

use super::{Holding, Instrument, InstrumentState, Market, MarketMode};
use crate::amount::{add, bounded, fee, released_cost, sub, within_slippage};
use crate::fields::{fields, words};
use crate::limits::{AMOUNT_MAX, BPS, HOLDING_MAX, NOTIONAL_MAX};
use crate::{ApplyError, Name, Rejection, curve};

words! {
    /// Which way an order goes.
    #[derive(Hash)]
    pub enum Side {
        /// The account buys from the house.
        1 => Buy = "buy",
        /// The account sells to the house.
        2 => Sell = "sell",
    }
}

/// Buys or sells, whole or not at all, at the curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceOrder {
    /// Who trades.
    pub account: Name,
    /// What.
    pub instrument: Name,
    /// Which way.
    pub side: Side,
    /// How many shares, 1 to the market's `quantity_max`.
    pub quantity: i64,
    /// The worst price for the last share: a buyer's most, a seller's least.
    pub limit_price: Option<i64>,
    /// The average price per share that was expected, before the fee; it goes with `max_slippage_bps`.
    pub expected_price: Option<i64>,
    /// How far, in basis points, the notional may be from what was expected; it goes with `expected_price`.
    pub max_slippage_bps: Option<i64>,
}

/// What an order would cost or bring at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// The sum over the shares, before the fee.
    pub notional: i64,
    /// The fee.
    pub fee: i64,
    /// What moves: a buyer pays `notional + fee`, a seller gets `notional - fee`.
    pub total: i64,
    /// The price of the last share of the order.
    pub last_price: i64,
    /// The instrument's price before.
    pub price_before: i64,
    /// The instrument's price after.
    pub price_after: i64,
    /// The instrument's net after.
    pub net_after: i64,
}

fields! {
    /// An order was filled, at these figures.
    pub struct OrderFilled {
        /// Who traded.
        pub account: Name,
        /// What.
        pub instrument: Name,
        /// Which way.
        pub side: Side,
        /// How many shares.
        pub quantity: i64,
        /// The sum over the shares, before the fee.
        pub notional: i64,
        /// The fee.
        pub fee: i64,
        /// The instrument's price before.
        pub price_before: i64,
        /// The instrument's price after.
        pub price_after: i64,
        /// The instrument's net after.
        pub net: i64,
        /// The account's money after.
        pub balance: i64,
        /// The account's shares after.
        pub holding: i64,
        /// What those shares cost, fees included.
        pub cost: i64,
        /// Their profit at `price_after`: `holding * price_after - cost`.
        pub marked_profit: i64,
        /// The account's marked score after: it moved by the change of `marked_profit`.
        pub marked_score: i64,
    }
}

impl OrderFilled {
    /// What moved: a buyer paid `notional + fee`, a seller got `notional - fee`.
    #[must_use]
    pub const fn total(&self) -> i64 {
        match self.side {
            Side::Buy => self.notional.saturating_add(self.fee),
            Side::Sell => self.notional.saturating_sub(self.fee),
        }
    }
}

impl Quote {
    /// Refuses what would take the instrument's net, and so an account's holding, past the market's bound.
    pub(crate) fn check_holding(&self, market: &Market) -> Result<(), Rejection> {
        let holding_max = market.limits.holding_max;
        if self.net_after > holding_max { Err(Rejection::HoldingTooLarge { holding_max }) } else { Ok(()) }
    }

    /// What `quantity` shares would cost or bring, from the instrument's present net. The quantity is in range.
    pub(crate) fn of(market: &Market, instrument: &Instrument, side: Side, quantity: i64) -> Result<Self, Rejection> {
        let net = instrument.net;
        let (low, net_after) = match side {
            Side::Buy => (net, net.saturating_add(quantity)),
            Side::Sell => (net.saturating_sub(quantity), net.saturating_sub(quantity)),
        };
        // Where the curve has no price there is no quote, and so nothing that a limit could be compared with.
        if net_after > HOLDING_MAX {
            return Err(Rejection::HoldingTooLarge { holding_max: market.limits.holding_max });
        }
        if net_after < 0 {
            return Err(Rejection::InsufficientHolding { holding: net });
        }
        let price = |at: i64| curve::price(instrument.base, instrument.slope, at).ok_or(Rejection::AmountTooLarge);
        let last_share = match side {
            Side::Buy => net_after,
            Side::Sell => net_after.saturating_add(1),
        };
        let notional = curve::sum(instrument.base, instrument.slope, low, quantity)
            .filter(|notional| *notional <= NOTIONAL_MAX)
            .ok_or(Rejection::AmountTooLarge)?;
        let fee = fee(notional, market.fee_bps).ok_or(Rejection::AmountTooLarge)?;
        let total = match side {
            Side::Buy => add(notional, fee),
            Side::Sell => sub(notional, fee),
        };
        Ok(Self {
            notional,
            fee,
            total: total.ok_or(Rejection::AmountTooLarge)?,
            last_price: price(last_share)?,
            price_before: price(net)?,
            price_after: price(net_after)?,
            net_after,
        })
    }
}

impl PlaceOrder {
    pub(crate) fn decide(&self, market: &Market) -> Result<OrderFilled, Rejection> {
        match (market.mode, self.side) {
            (MarketMode::Open, _) | (MarketMode::ReduceOnly, Side::Sell) => {}
            (mode, _) => return Err(Rejection::MarketClosed { mode }),
        }
        let account = market.account(&self.account).ok_or(Rejection::UnknownAccount)?;
        let (number, instrument) = market.instrument(&self.instrument).ok_or(Rejection::UnknownInstrument)?;
        instrument.check_trades()?;
        let quantity_max = market.limits.quantity_max;
        if self.quantity < 1 || self.quantity > quantity_max {
            return Err(Rejection::QuantityOutOfRange { quantity_max });
        }
        self.check_guards()?;
        let held = account.holding(number);
        if self.side == Side::Sell && self.quantity > instrument.net {
            // Nobody can hold what the house never sold, and the curve has no price for it.
            return Err(Rejection::InsufficientHolding { holding: held.shares });
        }
        let quote = Quote::of(market, instrument, self.side, self.quantity)?;
        self.check_price(&quote)?;
        if self.side == Side::Buy {
            // No account holds more than all together.
            quote.check_holding(market)?;
        }

        let (shares, cost, balance) = match self.side {
            Side::Buy => {
                let shares = held.shares.saturating_add(self.quantity);
                if account.balance < quote.total {
                    return Err(Rejection::InsufficientBalance { balance: account.balance, required: quote.total });
                }
                (shares, add(held.cost, quote.total), sub(account.balance, quote.total))
            }
            Side::Sell => {
                if held.shares < self.quantity {
                    return Err(Rejection::InsufficientHolding { holding: held.shares });
                }
                let left = released_cost(held.cost, self.quantity, held.shares).ok_or(Rejection::AmountTooLarge)?;
                (held.shares.saturating_sub(self.quantity), sub(held.cost, left), add(account.balance, quote.total))
            }
        };
        let too_large = Rejection::AmountTooLarge;
        let cash = match self.side {
            Side::Buy => add(instrument.cash, quote.notional),
            Side::Sell => sub(instrument.cash, quote.notional),
        };
        let (Some(cost), Some(balance), Some(_)) = (cost, balance, cash) else { return Err(too_large) };
        let Some((marked_profit, marked_score)) = marked(account.marked_score, held, shares, quote.price_after, cost) else {
            return Err(too_large);
        };
        Ok(OrderFilled {
            account: self.account.clone(),
            instrument: self.instrument.clone(),
            side: self.side,
            quantity: self.quantity,
            notional: quote.notional,
            fee: quote.fee,
            price_before: quote.price_before,
            price_after: quote.price_after,
            net: quote.net_after,
            balance,
            holding: shares,
            cost,
            marked_profit,
            marked_score,
        })
    }

    fn check_guards(&self) -> Result<(), Rejection> {
        let is_amount = |price: Option<i64>| price.is_none_or(|price| (0..=AMOUNT_MAX).contains(&price));
        let is_slippage = self.max_slippage_bps.is_none_or(|bps| (0..=BPS).contains(&bps));
        let together = self.expected_price.is_some() == self.max_slippage_bps.is_some();
        if is_amount(self.limit_price) && is_amount(self.expected_price) && is_slippage && together {
            Ok(())
        } else {
            Err(Rejection::PriceGuardInvalid)
        }
    }

    fn check_price(&self, quote: &Quote) -> Result<(), Rejection> {
        if let Some(limit) = self.limit_price {
            let within = match self.side {
                Side::Buy => quote.last_price <= limit,
                Side::Sell => quote.last_price >= limit,
            };
            if !within {
                return Err(Rejection::LimitPriceExceeded { quote: Box::new(*quote) });
            }
        }
        if let (Some(expected), Some(bps)) = (self.expected_price, self.max_slippage_bps)
            && !within_slippage(self.side == Side::Buy, quote.notional, expected, self.quantity, bps)
        {
            return Err(Rejection::SlippageExceeded { quote: Box::new(*quote) });
        }
        Ok(())
    }
}

impl Instrument {
    pub(crate) fn check_trades(&self) -> Result<(), Rejection> {
        match self.state {
            InstrumentState::Active => Ok(()),
            InstrumentState::Frozen => Err(Rejection::InstrumentFrozen),
            InstrumentState::Settled => Err(Rejection::InstrumentSettled { price: self.settled_price }),
        }
    }
}

/// The profit of the shares held after a trade, at the price after it, and the account's score with it.
fn marked(score: i64, before: Holding, shares: i64, price: i64, cost: i64) -> Option<(i64, i64)> {
    let value = i128::from(shares).checked_mul(i128::from(price))?;
    let profit = bounded(value.checked_sub(i128::from(cost))?)?;
    Some((profit, add(score, sub(profit, before.marked_profit)?)?))
}

impl OrderFilled {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        let (number, instrument) = market.instrument(&self.instrument).ok_or(ApplyError::Unknown("instrument"))?;
        let (instrument_net, instrument_cash) = (instrument.net, instrument.cash);
        let fees = add(market.fees, self.fee).ok_or(ApplyError::OutOfRange("fees"))?;
        let account = market.account_mut(&self.account)?;
        let held = account.holding(number);
        let (shares, net, balance, cash) = match self.side {
            Side::Buy => (
                add(held.shares, self.quantity),
                add(instrument_net, self.quantity),
                sub(account.balance, self.total()),
                add(instrument_cash, self.notional),
            ),
            Side::Sell => (
                sub(held.shares, self.quantity),
                sub(instrument_net, self.quantity),
                add(account.balance, self.total()),
                sub(instrument_cash, self.notional),
            ),
        };
        // What was decided must be what is applied: money and shares move by the order's figures, to the entry's figures.
        if shares != Some(self.holding) || net != Some(self.net) || balance != Some(self.balance) {
            return Err(ApplyError::Inconsistent("order"));
        }
        let cash = cash.ok_or(ApplyError::OutOfRange("cash"))?;

        let holding = Holding { shares: self.holding, cost: self.cost, marked_profit: self.marked_profit };
        account.balance = self.balance;
        account.marked_score = self.marked_score;
        account.set_holding(number, holding);
        market.fees = fees;
        market.set_sold(number, self.net, cash)
    }
}
