//! What a market remembers.

use alloc::vec::Vec;

use crate::amount::add;
use crate::fields::words;
use crate::table::{Seed, Table};
use crate::{AccountClass, ApplyError, MarketLimits, MarketMode, Name, curve};

words! {
    /// What an instrument is doing.
    pub enum InstrumentState {
        /// It trades.
        1 => Active = "active",
        /// It does not trade for now.
        2 => Frozen = "frozen",
        /// Its last price is fixed and its holders are being paid, or have been.
        3 => Settled = "settled",
    }
}

pub(crate) struct Market {
    pub(crate) decimals: u8,
    pub(crate) fee_bps: i64,
    pub(crate) limits: MarketLimits,
    pub(crate) mode: MarketMode,
    pub(crate) fees: i64,
    pub(crate) issuance: i64,
    /// The sum over the instruments of what the house owes at the curve (or at the settled price) beyond its cash. Trading
    /// moves cash and debt alike and so leaves it; only repricing and settling change it.
    pub(crate) house_loss: i64,
    instruments: Vec<Instrument>,
    instrument_numbers: Table<(Name, u32)>,
    accounts: Table<Account>,
}

pub(crate) struct Instrument {
    pub(crate) name: Name,
    pub(crate) base: i64,
    pub(crate) slope: i64,
    pub(crate) state: InstrumentState,
    pub(crate) settled_price: i64,
    pub(crate) net: i64,
    pub(crate) cash: i64,
}

impl Instrument {
    /// The price after the last share, or the settled one. Every change of base, slope and net checks that it is an amount.
    pub(crate) fn price(&self) -> i64 {
        match self.state {
            InstrumentState::Settled => self.settled_price,
            _ => curve::price(self.base, self.slope, self.net).unwrap_or_default(),
        }
    }
}

pub(crate) struct Account {
    pub(crate) name: Name,
    pub(crate) class: AccountClass,
    pub(crate) balance: i64,
    pub(crate) marked_score: i64,
    // By the instrument's number; at most one each, so the number of instruments bounds it.
    holdings: Vec<(u32, Holding)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) shares: i64,
    pub(crate) cost: i64,
    pub(crate) marked_profit: i64,
}

impl Account {
    pub(crate) const fn new(name: Name, class: AccountClass, balance: i64) -> Self {
        Self { name, class, balance, marked_score: 0, holdings: Vec::new() }
    }

    /// The account's shares of an instrument; none is a holding of zero.
    pub(crate) fn holding(&self, instrument: u32) -> Holding {
        match self.place(instrument) {
            Ok(place) => self.holdings.get(place).map(|(_, holding)| *holding).unwrap_or_default(),
            Err(_) => Holding::default(),
        }
    }

    /// Sets it; a holding of no shares is removed.
    pub(crate) fn set_holding(&mut self, instrument: u32, holding: Holding) {
        match (self.place(instrument), holding.shares) {
            (Ok(place), 0) => {
                self.holdings.remove(place);
            }
            (Ok(place), _) => {
                if let Some((_, old)) = self.holdings.get_mut(place) {
                    *old = holding;
                }
            }
            (Err(_), 0) => {}
            (Err(place), _) => self.holdings.insert(place, (instrument, holding)),
        }
    }

    /// All holdings, in the order in which their instruments were listed.
    pub(crate) fn holdings(&self) -> &[(u32, Holding)] {
        &self.holdings
    }

    fn place(&self, instrument: u32) -> Result<usize, usize> {
        self.holdings.binary_search_by_key(&instrument, |(number, _)| *number)
    }
}

impl Market {
    pub(crate) fn new(seed: Seed, decimals: u8, fee_bps: i64, limits: MarketLimits, mode: MarketMode) -> Self {
        Self {
            decimals,
            fee_bps,
            limits,
            mode,
            fees: 0,
            issuance: 0,
            house_loss: 0,
            instruments: Vec::new(),
            instrument_numbers: Table::new(seed),
            accounts: Table::new(seed),
        }
    }

    pub(crate) fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    pub(crate) fn instrument_number(&self, name: &Name) -> Option<u32> {
        let hash = self.instrument_numbers.hash(name.as_str().as_bytes());
        self.instrument_numbers.get(hash, |(known, _)| known == name).map(|(_, number)| *number)
    }

    pub(crate) fn instrument(&self, name: &Name) -> Option<(u32, &Instrument)> {
        let number = self.instrument_number(name)?;
        Some((number, self.instruments.get(number as usize)?))
    }

    pub(crate) fn instrument_mut(&mut self, name: &Name) -> Result<(u32, &mut Instrument), ApplyError> {
        let number = self.instrument_number(name).ok_or(ApplyError::Unknown("instrument"))?;
        let instrument = self.instruments.get_mut(number as usize).ok_or(ApplyError::Unknown("instrument"))?;
        Ok((number, instrument))
    }

    /// Sets what of an instrument the house has sold, and its cash from it.
    pub(crate) fn set_sold(&mut self, number: u32, net: i64, cash: i64) -> Result<(), ApplyError> {
        let instrument = self.instruments.get_mut(number as usize).ok_or(ApplyError::Unknown("instrument"))?;
        instrument.net = net;
        instrument.cash = cash;
        Ok(())
    }

    pub(crate) fn add_instrument(&mut self, instrument: Instrument) -> Result<(), ApplyError> {
        let number = u32::try_from(self.instruments.len()).map_err(|_| ApplyError::TooMany("instruments"))?;
        let hash = self.instrument_numbers.hash(instrument.name.as_str().as_bytes());
        self.instrument_numbers.insert(hash, (instrument.name.clone(), number));
        self.instruments.push(instrument);
        Ok(())
    }

    pub(crate) const fn accounts(&self) -> &Table<Account> {
        &self.accounts
    }

    pub(crate) fn account(&self, name: &Name) -> Option<&Account> {
        let hash = self.accounts.hash(name.as_str().as_bytes());
        self.accounts.get(hash, |account| account.name == *name)
    }

    pub(crate) fn account_mut(&mut self, name: &Name) -> Result<&mut Account, ApplyError> {
        let hash = self.accounts.hash(name.as_str().as_bytes());
        self.accounts.get_mut(hash, |account| account.name == *name).ok_or(ApplyError::Unknown("account"))
    }

    pub(crate) fn add_account(&mut self, account: Account) {
        let hash = self.accounts.hash(account.name.as_str().as_bytes());
        self.accounts.insert(hash, account);
    }

    /// What the house would have lost with one instrument's debt and cash changed from `before` to `after` (debt minus cash).
    pub(crate) const fn house_loss_with(&self, before: i64, after: i64) -> Option<i64> {
        match after.checked_sub(before) {
            Some(change) => add(self.house_loss, change),
            None => None,
        }
    }
}
