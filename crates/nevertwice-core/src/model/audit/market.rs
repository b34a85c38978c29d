//! The invariants of a market.

use alloc::collections::BTreeMap;
use alloc::format;

use super::books::{Books, check_range};
use crate::limits::{AMOUNT_MAX, BPS, DECIMALS_MAX, HOLDING_MAX, HOUSE_LOSS_MAX, ISSUANCE_MAX};
use crate::model::{Violation, slow};
use crate::{InstrumentRecord, InstrumentState, MarketRecord, Name};

impl Books {
    pub(super) fn check_market(&self, market: &MarketRecord) -> Result<(), Violation> {
        let the_market = || format!("market {}", self.shard.shard.name);
        let limits = &market.limits;
        check_range(the_market, "decimals", i64::from(market.decimals), 0, i64::from(DECIMALS_MAX))?;
        check_range(the_market, "fee_bps", market.fee_bps, 0, BPS)?;
        check_range(the_market, "quantity_max", limits.quantity_max, 1, HOLDING_MAX)?;
        check_range(the_market, "holding_max", limits.holding_max, 1, HOLDING_MAX)?;
        check_range(the_market, "house_loss_max", limits.house_loss_max, 0, HOUSE_LOSS_MAX)?;
        check_range(the_market, "fees", market.fees, 0, AMOUNT_MAX)?;
        check_range(the_market, "issuance", market.issuance, ISSUANCE_MAX.saturating_neg(), 0)?;
        self.check_instruments(market)?;
        self.check_accounts()?;
        self.check_conservation(market)?;
        self.check_loss(market)
    }

    fn check_instruments(&self, market: &MarketRecord) -> Result<(), Violation> {
        let mut numbers: BTreeMap<u32, &Name> = BTreeMap::new();
        let mut held: BTreeMap<&Name, i128> = BTreeMap::new();
        for record in self.holdings.values() {
            let shares = held.entry(&record.instrument).or_default();
            *shares = shares.saturating_add(i128::from(record.shares));
        }
        for (name, record) in &self.instruments {
            let label = || format!("instrument {name}");
            if numbers.insert(record.listed, name).is_some() {
                return Err(Violation::RecordTwice { record: format!("instrument number {}", record.listed) });
            }
            check_range(label, "base", record.base, 0, AMOUNT_MAX)?;
            check_range(label, "slope", record.slope, i64::from(record.base == 0), AMOUNT_MAX)?;
            check_range(label, "net", record.net, 0, market.limits.holding_max)?;
            check_range(label, "cash", record.cash, AMOUNT_MAX.saturating_neg(), AMOUNT_MAX)?;
            let price_max = if record.state == InstrumentState::Settled { AMOUNT_MAX } else { 0 };
            check_range(label, "settled_price", record.settled_price, 0, price_max)?;
            let holdings = held.get(name).copied().unwrap_or(0);
            if holdings != i128::from(record.net) {
                return Err(Violation::HoldingsNotNet { instrument: name.clone(), holdings, net: record.net });
            }
        }
        for (expected, (number, name)) in (0_u32..).zip(&numbers) {
            let label = || format!("instrument {name}");
            check_range(label, "listed", i64::from(*number), i64::from(expected), i64::from(expected))?;
        }
        Ok(())
    }

    fn check_accounts(&self) -> Result<(), Violation> {
        let mut scores: BTreeMap<&Name, i128> = BTreeMap::new();
        for ((account, instrument), record) in &self.holdings {
            let label = || format!("the holding of {account} in {instrument}");
            if !self.accounts.contains_key(account) {
                return Err(Violation::Dangling { record: label(), names: "account" });
            }
            if !self.instruments.contains_key(instrument) {
                return Err(Violation::Dangling { record: label(), names: "instrument" });
            }
            if record.shares < 1 {
                return Err(Violation::NoShares { account: account.clone(), instrument: instrument.clone(), shares: record.shares });
            }
            check_range(label, "cost", record.cost, 0, AMOUNT_MAX)?;
            let score = scores.entry(account).or_default();
            *score = score.saturating_add(i128::from(record.marked_profit));
        }
        for (name, record) in &self.accounts {
            if record.balance < 0 {
                return Err(Violation::NegativeBalance { account: name.clone(), balance: record.balance });
            }
            check_range(|| format!("account {name}"), "balance", record.balance, 0, AMOUNT_MAX)?;
            let sum = scores.get(name).copied().unwrap_or(0);
            if i128::from(record.marked_score) != sum {
                return Err(Violation::ScoreNotSum { account: name.clone(), score: record.marked_score, sum });
            }
        }
        Ok(())
    }

    fn check_conservation(&self, market: &MarketRecord) -> Result<(), Violation> {
        let players = slow::total(self.accounts.values().map(|account| account.balance));
        let house = slow::total(self.instruments.values().map(|instrument| instrument.cash));
        let sum = players.saturating_add(house).saturating_add(slow::total([market.fees, market.issuance]));
        if sum == 0 { Ok(()) } else { Err(Violation::NotConserved { sum }) }
    }

    fn check_loss(&self, market: &MarketRecord) -> Result<(), Violation> {
        let loss = self.instruments.values().fold(0_i128, |loss, record| {
            // At worst every holder sells at the curve, or is paid the settled price; until then it is the house's to lose.
            loss.saturating_add(owed(record)).saturating_sub(i128::from(record.cash))
        });
        if loss != i128::from(market.house_loss) {
            return Err(Violation::HouseLossMiscounted { found: market.house_loss, counted: loss });
        }
        let house_loss_max = market.limits.house_loss_max;
        if loss > i128::from(house_loss_max) { Err(Violation::HouseLossExceeded { loss, house_loss_max }) } else { Ok(()) }
    }
}

fn owed(record: &InstrumentRecord) -> i128 {
    match record.state {
        InstrumentState::Settled => i128::from(record.settled_price).saturating_mul(i128::from(record.net)),
        _ => slow::sum_of_prices(record.base, record.slope, 0, record.net),
    }
}
