//! A market, slow and obvious.

use alloc::collections::BTreeMap;

use super::{allow, expect, narrow};
use crate::limits::{AMOUNT_MAX, NOTIONAL_MAX};
use crate::model::{Violation, slow};
use crate::{
    AccountClass, AccountOpened, Event, HoldersPaid, InstrumentListed, InstrumentRepriced, InstrumentSettled, InstrumentState,
    MarketLimits, MarketMode, MarketOpened, ModeSet, Name, OrderFilled, Side,
};

pub(crate) struct MarketTwin {
    pub(crate) decimals: u8,
    pub(crate) fee_bps: i64,
    pub(crate) limits: MarketLimits,
    pub(crate) mode: MarketMode,
    pub(crate) retention_ms: i64,
    pub(crate) fees: i64,
    pub(crate) issuance: i64,
    /// In the order of listing.
    pub(crate) listed: alloc::vec::Vec<Name>,
    pub(crate) instruments: BTreeMap<Name, TwinInstrument>,
    pub(crate) accounts: BTreeMap<Name, TwinAccount>,
}

#[derive(Clone)]
pub(crate) struct TwinInstrument {
    pub(crate) base: i64,
    pub(crate) slope: i64,
    pub(crate) state: InstrumentState,
    pub(crate) settled_price: i64,
    pub(crate) net: i64,
    pub(crate) cash: i64,
    pub(crate) repriced: bool,
    // The cash at every net met since the base was last moved.
    cash_at: BTreeMap<i64, i64>,
}

pub(crate) struct TwinAccount {
    pub(crate) class: AccountClass,
    pub(crate) balance: i64,
    pub(crate) holdings: BTreeMap<Name, TwinHolding>,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct TwinHolding {
    pub(crate) shares: i64,
    pub(crate) cost: i64,
    pub(crate) marked_profit: i64,
}

impl TwinAccount {
    pub(crate) fn marked_score(&self) -> i128 {
        slow::total(self.holdings.values().map(|holding| holding.marked_profit))
    }
}

impl TwinInstrument {
    pub(crate) fn price(&self) -> i128 {
        match self.state {
            InstrumentState::Settled => i128::from(self.settled_price),
            _ => slow::price(self.base, self.slope, self.net),
        }
    }

    /// What the house owes its holders.
    pub(crate) fn owed(&self) -> i128 {
        match self.state {
            InstrumentState::Settled => i128::from(self.settled_price).saturating_mul(i128::from(self.net)),
            _ => slow::sum_of_prices(self.base, self.slope, 0, self.net),
        }
    }
}

impl MarketTwin {
    pub(crate) fn open(event: &MarketOpened) -> Result<Self, Violation> {
        allow((0..=10_000).contains(&event.fee_bps), "a fee outside 0 to 10,000 basis points")?;
        Ok(Self {
            decimals: event.decimals,
            fee_bps: event.fee_bps,
            limits: event.limits,
            mode: event.mode,
            retention_ms: event.retention_ms,
            fees: 0,
            issuance: 0,
            listed: alloc::vec::Vec::new(),
            instruments: BTreeMap::new(),
            accounts: BTreeMap::new(),
        })
    }

    /// What the house would lose if all shares came back now, over all instruments.
    pub(crate) fn house_loss(&self) -> i128 {
        self.instruments.values().fold(0, |loss: i128, it| loss.saturating_add(it.owed()).saturating_sub(i128::from(it.cash)))
    }

    pub(crate) fn follow(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::InstrumentListed(event) => self.list(event),
            Event::AccountOpened(event) => self.open_account(event),
            Event::OrderFilled(event) => self.fill(event),
            Event::InstrumentRepriced(event) => self.reprice(event),
            Event::InstrumentFrozen(event) => self.turn(&event.instrument, InstrumentState::Active, InstrumentState::Frozen),
            Event::InstrumentUnfrozen(event) => self.turn(&event.instrument, InstrumentState::Frozen, InstrumentState::Active),
            Event::ModeSet(event) => self.set_mode(event),
            Event::InstrumentSettled(event) => self.settle(event),
            Event::HoldersPaid(event) => self.pay(event),
            _ => Err(Violation::NotAllowed { what: "an event of another kind of shard, or a second opening" }),
        }
    }

    fn list(&mut self, event: &InstrumentListed) -> Result<(), Violation> {
        allow(!self.instruments.contains_key(&event.instrument), "an instrument listed twice")?;
        allow(event.base >= 0 && event.slope >= 0 && (event.base > 0 || event.slope > 0), "shares given away")?;
        self.listed.push(event.instrument.clone());
        let instrument = TwinInstrument {
            base: event.base,
            slope: event.slope,
            state: InstrumentState::Active,
            settled_price: 0,
            net: 0,
            cash: 0,
            repriced: false,
            cash_at: BTreeMap::from([(0, 0)]),
        };
        self.instruments.insert(event.instrument.clone(), instrument);
        Ok(())
    }

    fn open_account(&mut self, event: &AccountOpened) -> Result<(), Violation> {
        allow(!self.accounts.contains_key(&event.account), "an account opened twice")?;
        allow(event.opening_balance >= 0, "an account opened with less than nothing")?;
        self.issuance = narrow(i128::from(self.issuance).saturating_sub(i128::from(event.opening_balance)));
        let account = TwinAccount { class: event.class, balance: event.opening_balance, holdings: BTreeMap::new() };
        self.accounts.insert(event.account.clone(), account);
        Ok(())
    }

    fn fill(&mut self, event: &OrderFilled) -> Result<(), Violation> {
        let MarketTwin { fee_bps, limits, mode, fees, instruments, accounts, .. } = self;
        let instrument = instruments.get_mut(&event.instrument).ok_or(Violation::NotAllowed { what: "an order for no instrument" })?;
        let account = accounts.get_mut(&event.account).ok_or(Violation::NotAllowed { what: "an order for no account" })?;
        let buys = event.side == Side::Buy;
        allow(*mode == MarketMode::Open || (*mode == MarketMode::ReduceOnly && !buys), "an order while the market is closed")?;
        allow(instrument.state == InstrumentState::Active, "an order while the instrument does not trade")?;
        allow((1..=limits.quantity_max).contains(&event.quantity), "an order of another size than the market allows")?;
        let held = account.holdings.get(&event.instrument).copied().unwrap_or_default();
        allow(buys || held.shares >= event.quantity, "shares sold that are not held")?;

        let moved = if buys { event.quantity } else { event.quantity.saturating_neg() };
        let net = instrument.net.saturating_add(moved);
        let shares = held.shares.saturating_add(moved);
        allow(net >= 0 && net <= limits.holding_max && shares <= limits.holding_max, "a holding outside the market's limits")?;
        let notional = slow::sum_of_prices(instrument.base, instrument.slope, instrument.net.min(net), event.quantity);
        allow(notional <= i128::from(NOTIONAL_MAX), "a notional that is too large")?;
        let fee = slow::fee(notional, *fee_bps);
        expect("notional", event.notional, notional)?;
        expect("fee", event.fee, fee)?;
        expect("price before", event.price_before, instrument.price())?;
        expect("net", event.net, i128::from(net))?;
        instrument.net = net;
        expect("price after", event.price_after, instrument.price())?;

        let (total, cost) = if buys {
            let total = notional.saturating_add(fee);
            (total.saturating_neg(), i128::from(held.cost).saturating_add(total))
        } else {
            let left = slow::released_cost(held.cost, event.quantity, held.shares);
            (notional.saturating_sub(fee), i128::from(held.cost).saturating_sub(left))
        };
        expect("balance", event.balance, i128::from(account.balance).saturating_add(total))?;
        allow(event.balance >= 0, "money spent that is not there")?;
        expect("holding", event.holding, i128::from(shares))?;
        expect("cost", event.cost, cost)?;
        let value = i128::from(shares).saturating_mul(instrument.price());
        expect("marked profit", event.marked_profit, value.saturating_sub(cost))?;
        account.balance = event.balance;
        if shares == 0 {
            account.holdings.remove(&event.instrument);
        } else {
            let holding = TwinHolding { shares, cost: event.cost, marked_profit: event.marked_profit };
            account.holdings.insert(event.instrument.clone(), holding);
        }
        expect("marked score", event.marked_score, account.marked_score())?;

        *fees = narrow(i128::from(*fees).saturating_add(fee));
        let cash = i128::from(instrument.cash);
        instrument.cash = narrow(if buys { cash.saturating_add(notional) } else { cash.saturating_sub(notional) });
        let cash_before = *instrument.cash_at.entry(net).or_insert(instrument.cash);
        if cash_before != instrument.cash {
            return Err(Violation::CycleNotClosed { instrument: event.instrument.clone(), cash_before, cash: instrument.cash });
        }
        Ok(())
    }

    fn trading(&mut self, name: &Name) -> Result<&mut TwinInstrument, Violation> {
        let instrument = self.instruments.get_mut(name).ok_or(Violation::NotAllowed { what: "no such instrument" })?;
        allow(instrument.state != InstrumentState::Settled, "a settled instrument changed")?;
        Ok(instrument)
    }

    fn reprice(&mut self, event: &InstrumentRepriced) -> Result<(), Violation> {
        let instrument = self.trading(&event.instrument)?;
        expect("base before", event.base_before, i128::from(instrument.base))?;
        expect("price before", event.price_before, instrument.price())?;
        allow((0..=AMOUNT_MAX).contains(&event.base) && (event.base > 0 || instrument.slope > 0), "shares given away")?;
        instrument.base = event.base;
        instrument.repriced = true;
        instrument.cash_at = BTreeMap::from([(instrument.net, instrument.cash)]);
        expect("price after", event.price_after, instrument.price())?;
        self.check_loss(event.house_loss)
    }

    fn turn(&mut self, name: &Name, from: InstrumentState, to: InstrumentState) -> Result<(), Violation> {
        let instrument = self.trading(name)?;
        allow(instrument.state == from, "an instrument frozen or unfrozen twice")?;
        instrument.state = to;
        Ok(())
    }

    fn set_mode(&mut self, event: &ModeSet) -> Result<(), Violation> {
        allow(event.mode_before == self.mode && event.mode != self.mode, "a mode set that did not change")?;
        self.mode = event.mode;
        Ok(())
    }

    fn settle(&mut self, event: &InstrumentSettled) -> Result<(), Violation> {
        let instrument = self.trading(&event.instrument)?;
        allow((0..=AMOUNT_MAX).contains(&event.price), "a settled price that is no amount")?;
        expect("net", event.net, i128::from(instrument.net))?;
        instrument.state = InstrumentState::Settled;
        instrument.settled_price = event.price;
        self.check_loss(event.house_loss)
    }

    // The loss that an event tells is the one that a count over all instruments gives, and within the bound: it begins at 0,
    // trading leaves it, and what moves it up may not move it past the bound.
    fn check_loss(&self, found: i64) -> Result<(), Violation> {
        let loss = self.house_loss();
        expect("house loss", found, loss)?;
        let house_loss_max = self.limits.house_loss_max;
        if loss > i128::from(house_loss_max) { Err(Violation::HouseLossExceeded { loss, house_loss_max }) } else { Ok(()) }
    }

    fn pay(&mut self, event: &HoldersPaid) -> Result<(), Violation> {
        let instrument = self.instruments.get_mut(&event.instrument).ok_or(Violation::NotAllowed { what: "no such instrument" })?;
        allow(instrument.state == InstrumentState::Settled, "a payout before the settlement")?;
        allow(!event.payouts.is_empty(), "a payout to nobody")?;
        for payout in &event.payouts {
            let account = self.accounts.get_mut(&payout.account).ok_or(Violation::NotAllowed { what: "a payout to no account" })?;
            let held = account.holdings.remove(&event.instrument).ok_or(Violation::NotAllowed { what: "a holder paid twice" })?;
            let amount = i128::from(held.shares).saturating_mul(i128::from(instrument.settled_price));
            expect("paid shares", payout.shares, i128::from(held.shares))?;
            expect("payout", payout.amount, amount)?;
            expect("balance", payout.balance, i128::from(account.balance).saturating_add(amount))?;
            expect("marked score", payout.marked_score, account.marked_score())?;
            account.balance = payout.balance;
            instrument.net = instrument.net.saturating_sub(held.shares);
            instrument.cash = narrow(i128::from(instrument.cash).saturating_sub(amount));
        }
        expect("net", event.net, i128::from(instrument.net))
    }
}
