//! What to ask of a market next.

use alloc::vec;
use alloc::vec::Vec;

use super::generator::{Planned, next};
use super::names::name;
use super::options::WorkloadOptions;
use crate::limits::{AMOUNT_MAX, BPS, HOLDING_MAX, HOUSE_LOSS_MAX, ISSUANCE_MAX, NOTIONAL_MAX, PAY_HOLDERS_MAX, RETENTION_MS_MIN};
use crate::model::twin::{MarketTwin, TwinInstrument};
use crate::model::{Random, slow};
use crate::{
    AccountClass, Action, Freeze, InstrumentState, ListInstrument, MarketLimits, MarketMode, Name, OpenAccount, OpenMarket, PayHolders,
    PlaceOrder, Reprice, SetMode, SettleInstrument, Side, Unfreeze,
};

/// Chooses with an eye on the market's figures.
pub(super) struct MarketChoice<'a> {
    pub(super) random: &'a mut Random,
    pub(super) options: &'a WorkloadOptions,
    pub(super) market: &'a MarketTwin,
    pub(super) number: u64,
    pub(super) fresh: &'a mut u64,
}

/// Whether a market's figures are near what an amount can be.
const fn is_huge(number: u64) -> bool {
    number % 2 == 1
}

impl MarketChoice<'_> {
    /// What to ask of a market that is not open: mostly to open.
    pub(super) fn opening(random: &mut Random, options: &WorkloadOptions, number: u64, fresh: &mut u64, early: bool) -> Vec<Planned> {
        let limits = if is_huge(number) {
            MarketLimits { quantity_max: HOLDING_MAX, holding_max: HOLDING_MAX, house_loss_max: HOUSE_LOSS_MAX }
        } else {
            MarketLimits { quantity_max: 400, holding_max: 1_500, house_loss_max: 3_000_000 }
        };
        let mut open = OpenMarket {
            decimals: if is_huge(number) { 8 } else { 2 },
            fee_bps: if is_huge(number) { 10_000 } else { 25 },
            limits,
            mode: MarketMode::Open,
            retention_ms: options.retention_ms,
        };
        let action = match if early { 0 } else { random.below(12) } {
            0 => Action::from(SetMode { mode: MarketMode::Halted }),
            1 => Action::from(OpenAccount { account: name('a', next(fresh)), class: AccountClass::Player, opening_balance: 0 }),
            2 => {
                match random.below(6) {
                    0 => open.decimals = 9,
                    1 => open.fee_bps = BPS.saturating_add(1),
                    2 => open.limits.quantity_max = 0,
                    3 => open.limits.holding_max = HOLDING_MAX.saturating_add(1),
                    4 => open.limits.house_loss_max = -1,
                    _ => open.retention_ms = RETENTION_MS_MIN.saturating_sub(1),
                }
                Action::from(open)
            }
            _ => Action::from(open),
        };
        vec![action.into()]
    }

    /// One thing to ask, or several in a row that belong together.
    pub(super) fn next(mut self) -> Vec<Planned> {
        let trading = self.market.instruments.values().filter(|it| it.state != InstrumentState::Settled).count();
        if trading < self.options.instruments && self.random.chance(400) {
            return vec![self.list()];
        }
        if self.market.accounts.len() < self.options.accounts && self.random.chance(400) {
            return vec![self.open_account()];
        }
        if self.market.mode != MarketMode::Open && self.random.chance(150) {
            return vec![Action::from(SetMode { mode: MarketMode::Open }).into()];
        }
        match self.random.below(1_000) {
            0..18 => vec![self.list()],
            18..40 => vec![self.open_account()],
            40..110 => vec![self.reprice()],
            110..135 => vec![Action::from(Freeze { instrument: self.instrument() }).into()],
            135..190 => vec![self.unfreeze()],
            190..202 => vec![self.set_mode()],
            202..212 => vec![self.settle()],
            212..260 => vec![self.pay()],
            260..300 => self.order_for_an_exact_balance(),
            300..340 => self.cycle(),
            _ => vec![self.order()],
        }
    }

    fn account(&mut self) -> Name {
        if self.random.chance(15) {
            return name('a', 1 << 40);
        }
        let names: Vec<&Name> = self.market.accounts.keys().collect();
        let hot = self.random.chance(self.options.hot_per_mille);
        let chosen = if hot { names.first() } else { self.random.pick(&names) };
        chosen.map_or_else(|| name('a', 0), |name| (*name).clone())
    }

    fn instrument(&mut self) -> Name {
        if self.random.chance(15) {
            return name('i', 1 << 40);
        }
        let names: Vec<&Name> =
            self.market.instruments.iter().filter(|(_, it)| it.state != InstrumentState::Settled).map(|it| it.0).collect();
        let hot = self.random.chance(self.options.hot_per_mille);
        let chosen = if self.random.chance(40) {
            self.random.pick(&self.market.listed)
        } else if hot {
            names.first().copied()
        } else {
            self.random.pick(&names).copied()
        };
        chosen.cloned().unwrap_or_else(|| name('i', 0))
    }

    fn list(&mut self) -> Planned {
        let huge = is_huge(self.number);
        let (base, slope) = match self.random.below(12) {
            0 => (0, 0),
            1 => (-1, 1),
            2 => (1, AMOUNT_MAX.saturating_add(1)),
            3 if huge => (AMOUNT_MAX, AMOUNT_MAX),
            4 if huge => (NOTIONAL_MAX, 0),
            5 if huge => (1, 0),
            6 if huge => (NOTIONAL_MAX / 1_000, 1),
            _ if huge => (self.random.between(1, NOTIONAL_MAX), self.random.between(0, 1_000)),
            3 => (0, 1),
            4 => (1, 0),
            _ => (self.random.between(1, 4_000), self.random.between(0, 30)),
        };
        let known = self.random.chance(30).then(|| self.instrument());
        let instrument = known.unwrap_or_else(|| name('i', next(self.fresh)));
        Action::from(ListInstrument { instrument, base, slope }).into()
    }

    fn open_account(&mut self) -> Planned {
        let huge = is_huge(self.number);
        let remaining = ISSUANCE_MAX.saturating_add(self.market.issuance);
        let opening_balance = match self.random.below(40) {
            0 => -1,
            1 => remaining.saturating_add(1),
            2 => AMOUNT_MAX.saturating_add(1),
            3 => 0,
            _ if huge => self.random.between(1, remaining / 8),
            _ => self.random.between(0, 900_000),
        };
        let known = self.random.chance(30).then(|| self.account());
        let account = known.unwrap_or_else(|| name('a', next(self.fresh)));
        let class = if self.random.chance(500) { AccountClass::Player } else { AccountClass::Bot };
        Action::from(OpenAccount { account, class, opening_balance }).into()
    }

    /// A base near the present one, or exactly so far up that the house may just lose it, or one further.
    fn reprice(&mut self) -> Planned {
        let instrument = self.instrument();
        let Some(it) = self.market.instruments.get(&instrument) else {
            return Action::from(Reprice { instrument, base: 1 }).into();
        };
        let room = i128::from(self.market.limits.house_loss_max).saturating_sub(self.market.house_loss());
        let step = room.checked_div(i128::from(it.net)).and_then(|step| i64::try_from(step).ok()).unwrap_or(1_000);
        let out_of_hand = it.price() > i128::from(NOTIONAL_MAX / 4);
        let base = match self.random.below(14) {
            _ if out_of_hand && self.random.chance(700) => self.random.between(1, 4_000),
            0 => it.base,
            1 => 0,
            2 => -1,
            3 => AMOUNT_MAX.saturating_add(1),
            4 => it.base.saturating_add(step),
            5 => it.base.saturating_add(step).saturating_add(1),
            6 => AMOUNT_MAX,
            7..10 => it.base.saturating_sub(self.random.between(0, it.base)),
            _ => it.base.saturating_add(self.random.between(0, step / 4)),
        };
        Action::from(Reprice { instrument, base }).into()
    }

    fn unfreeze(&mut self) -> Planned {
        let frozen: Vec<&Name> =
            self.market.instruments.iter().filter(|(_, it)| it.state == InstrumentState::Frozen).map(|it| it.0).collect();
        let chosen = self.random.pick(&frozen).map(|name| (*name).clone());
        let instrument = if self.random.chance(100) { self.instrument() } else { chosen.unwrap_or_else(|| self.instrument()) };
        Action::from(Unfreeze { instrument }).into()
    }

    fn set_mode(&mut self) -> Planned {
        let mode = self.random.pick(MarketMode::ALL).copied().unwrap_or(MarketMode::Open);
        Action::from(SetMode { mode }).into()
    }

    fn settle(&mut self) -> Planned {
        let instrument = self.instrument();
        let price = self.market.instruments.get(&instrument).map_or(1, |it| i64::try_from(it.price()).unwrap_or(AMOUNT_MAX));
        let price = match self.random.below(8) {
            0 => 0,
            1 => -1,
            2 => AMOUNT_MAX,
            3 => price.saturating_mul(50),
            _ => self.random.between(0, price),
        };
        Action::from(SettleInstrument { instrument, price }).into()
    }

    fn pay(&mut self) -> Planned {
        let settled: Vec<&Name> =
            self.market.instruments.iter().filter(|(_, it)| it.state == InstrumentState::Settled).map(|it| it.0).collect();
        let owing: Vec<&Name> =
            settled.iter().copied().filter(|name| self.market.instruments.get(*name).is_some_and(|it| it.net > 0)).collect();
        let chosen = match self.random.below(10) {
            0 => None,
            1 | 2 => self.random.pick(&settled).map(|name| (*name).clone()),
            _ => self.random.pick(&owing).map(|name| (*name).clone()),
        };
        let instrument = chosen.unwrap_or_else(|| self.instrument());
        let count = match self.random.below(12) {
            0 => 0,
            1 => PAY_HOLDERS_MAX,
            2 => PAY_HOLDERS_MAX.saturating_add(1),
            _ => usize::try_from(self.random.between(1, 4)).unwrap_or(1),
        };
        // Holders, people who hold nothing or were paid, nobody at all, and some of them twice.
        let holders = (0..count).map(|_| self.account()).collect();
        Action::from(PayHolders { instrument, holders }).into()
    }

    fn quantity(&mut self, held: i64, price: i64) -> i64 {
        let quantity_max = self.market.limits.quantity_max;
        let affordable = (NOTIONAL_MAX / 2).checked_div(price).unwrap_or(1).clamp(1, quantity_max);
        match self.random.below(40) {
            0 => 0,
            1 => -1,
            2 => quantity_max,
            3 => quantity_max.saturating_add(1),
            4 => i64::MAX,
            5 => i64::MIN,
            6..9 => held,
            9 => held.saturating_add(1),
            10..13 => 1,
            13 | 14 => self.random.between(1, quantity_max),
            15 => self.random.between(1, affordable),
            _ => self.random.between(1, affordable.min(30).min(held.max(3))),
        }
    }

    fn order(&mut self) -> Planned {
        let (mut account, instrument) = (self.account(), self.instrument());
        let mut side = if self.random.chance(550) { Side::Buy } else { Side::Sell };
        if side == Side::Sell && self.random.chance(850) {
            let holders = self.market.accounts.iter().filter(|(_, account)| account.holdings.contains_key(&instrument));
            let holders: Vec<&Name> = holders.map(|(name, _)| name).collect();
            match self.random.pick(&holders) {
                Some(holder) => account = (*holder).clone(),
                None => side = Side::Buy,
            }
        }
        let holding = self.market.accounts.get(&account).and_then(|account| account.holdings.get(&instrument));
        let held = holding.map_or(0, |holding| holding.shares);
        let price = self.market.instruments.get(&instrument).map_or(1, TwinInstrument::price);
        let quantity = self.quantity(held, i64::try_from(price).unwrap_or(AMOUNT_MAX));
        let order = PlaceOrder { account, instrument, side, quantity, limit_price: None, expected_price: None, max_slippage_bps: None };
        Action::from(self.guard(order)).into()
    }

    /// Sometimes guards an order by a limit or by slippage: exactly what it will cost, or one beyond, or nonsense.
    fn guard(&mut self, mut order: PlaceOrder) -> PlaceOrder {
        let Some((notional, last_price)) = self.market.instruments.get(&order.instrument).and_then(|it| quote(it, &order)) else {
            return order;
        };
        let beyond = if order.side == Side::Buy { -1 } else { 1 };
        let average = notional.checked_div(order.quantity).unwrap_or(0);
        match self.random.below(24) {
            0..3 => order.limit_price = Some(last_price),
            3..5 => order.limit_price = Some(last_price.saturating_add(beyond)),
            5 => order.limit_price = Some(self.random.between(0, last_price.saturating_mul(2))),
            6..9 => (order.expected_price, order.max_slippage_bps) = (Some(average), Some(0)),
            9 => (order.expected_price, order.max_slippage_bps) = (Some(average.saturating_add(beyond)), Some(0)),
            10 => (order.expected_price, order.max_slippage_bps) = (Some(average / 2), Some(BPS)),
            11 => (order.expected_price, order.max_slippage_bps) = (Some(average), Some(self.random.between(0, 300))),
            12 => {
                let (expected, bps) = [(Some(average), None), (None, Some(1)), (Some(-1), Some(1)), (Some(1), Some(BPS.saturating_add(1)))]
                    [usize::try_from(self.random.below(4)).unwrap_or(0)];
                (order.expected_price, order.max_slippage_bps) = (expected, bps);
            }
            13 => order.limit_price = Some(if self.random.chance(500) { -1 } else { AMOUNT_MAX.saturating_add(1) }),
            _ => {}
        }
        order
    }

    /// An account that can just pay an order, or lacks one, and the order.
    fn order_for_an_exact_balance(&mut self) -> Vec<Planned> {
        let instrument = self.instrument();
        let quantity = self.random.between(1, self.market.limits.quantity_max.min(20));
        let account = name('a', next(self.fresh));
        let order = PlaceOrder {
            account: account.clone(),
            instrument,
            side: Side::Buy,
            quantity,
            limit_price: None,
            expected_price: None,
            max_slippage_bps: None,
        };
        let quoted = self.market.instruments.get(&order.instrument).and_then(|it| quote(it, &order));
        let Some((notional, _)) = quoted else { return vec![Action::from(order).into()] };
        let total = i64::try_from(slow::fee(i128::from(notional), self.market.fee_bps)).unwrap_or(0).saturating_add(notional);
        let opening_balance = total.saturating_sub(i64::from(self.random.chance(500)));
        vec![Action::from(OpenAccount { account, class: AccountClass::Player, opening_balance }).into(), Action::from(order).into()]
    }

    /// Buys in one piece and sells in two: a closed cycle.
    fn cycle(&mut self) -> Vec<Planned> {
        let (account, instrument) = (self.account(), self.instrument());
        let price = self.market.instruments.get(&instrument).map_or(1, TwinInstrument::price);
        let affordable = (NOTIONAL_MAX / 2).checked_div(i64::try_from(price).unwrap_or(AMOUNT_MAX)).unwrap_or(1);
        let half = self.random.between(1, self.market.limits.quantity_max.min(affordable).min(12) / 2);
        let order = |side, quantity| PlaceOrder {
            account: account.clone(),
            instrument: instrument.clone(),
            side,
            quantity,
            limit_price: None,
            expected_price: None,
            max_slippage_bps: None,
        };
        let orders = [order(Side::Buy, half.saturating_mul(2)), order(Side::Sell, half), order(Side::Sell, half)];
        orders.into_iter().map(|order| Action::from(order).into()).collect()
    }
}

/// The notional and the price of the last share, if the order is one that the curve has a price for.
fn quote(instrument: &TwinInstrument, order: &PlaceOrder) -> Option<(i64, i64)> {
    if order.quantity < 1 || order.quantity > HOLDING_MAX {
        return None;
    }
    let (low, last) = match order.side {
        Side::Buy => (instrument.net, instrument.net.saturating_add(order.quantity)),
        Side::Sell => {
            let low = instrument.net.saturating_sub(order.quantity);
            (low, low.saturating_add(1))
        }
    };
    let notional = slow::sum_of_prices(instrument.base, instrument.slope, low, order.quantity);
    let last_price = slow::price(instrument.base, instrument.slope, last);
    if low < 0 { None } else { Some((i64::try_from(notional).ok()?, i64::try_from(last_price).ok()?)) }
}
