//! The market's crowd: accounts that trade until the orders of the plan are placed.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use nevertwice_api::wire;

use super::DemoError;
use super::ask::{Asker, Fault};
use super::persona::{Guard, Trader};
use super::wire::{Answer, MARKET, Question, post};
use crate::record::{Asked, Effect, IntentId, Side, Told};
use crate::seed::Seed;

/// Of a thousand orders, how many lose their reply.
const LOST_PER_MILLE: u64 = 100;

/// How many scorers the crowd remembers.
const RECENT: usize = 6;

/// The prices that anybody was told last, and who has scored lately. Only a picture: the truth is the server's.
pub(super) struct Board {
    names: Vec<String>,
    prices: Vec<AtomicI64>,
    scorers: Mutex<Vec<usize>>,
}

impl Board {
    pub(super) fn new(listed: impl IntoIterator<Item = (String, i64)>) -> Self {
        let (names, prices) = listed.into_iter().map(|(name, base)| (name, AtomicI64::new(base))).unzip();
        Self { names, prices, scorers: Mutex::new(Vec::new()) }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn name(&self, instrument: usize) -> &str {
        self.names.get(instrument).map_or("", String::as_str)
    }

    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|listed| listed == name)
    }

    pub(super) fn price(&self, instrument: usize) -> i64 {
        self.prices.get(instrument).map_or(0, |price| price.load(Ordering::Relaxed))
    }

    pub(super) fn show(&self, instrument: usize, price: i64) {
        if let Some(shown) = self.prices.get(instrument) {
            shown.store(price, Ordering::Relaxed);
        }
    }

    pub(super) fn scored(&self, instrument: usize) {
        if let Ok(mut scorers) = self.scorers.lock() {
            scorers.push(instrument);
            let surplus = scorers.len().saturating_sub(RECENT);
            scorers.drain(..surplus);
        }
    }

    pub(super) fn recent_scorer(&self, seed: &mut Seed) -> Option<usize> {
        let scorers = self.scorers.lock().ok()?;
        seed.pick(&scorers).copied()
    }
}

/// Trades with its accounts in turn until the orders run out. One account never has two orders under way.
pub(super) async fn trade(mut asker: Asker, mut traders: Vec<Trader>, board: Arc<Board>, left: Arc<AtomicU64>) -> Result<Asker, DemoError> {
    let mut number = 0_u64;
    'trading: loop {
        for trader in &mut traders {
            let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if taken.is_err() || asker.shared.given_up.load(Ordering::Relaxed) {
                break 'trading;
            }
            number += 1;
            place(&mut asker, trader, &board, number).await?;
            asker.shared.order_is_over();
        }
        if traders.is_empty() {
            break;
        }
    }
    Ok(asker)
}

async fn place(asker: &mut Asker, trader: &mut Trader, board: &Board, number: u64) -> Result<(), DemoError> {
    let wish = trader.wish(board, &mut asker.seed);
    let (limit_price, expected_price, max_slippage_bps) = match wish.guard {
        Guard::None => (None, None, None),
        Guard::Limit(limit) => (Some(limit), None, None),
        Guard::Slippage { expected_price, max_slippage_bps } => (None, Some(expected_price), Some(max_slippage_bps)),
    };
    let instrument = board.name(wish.instrument).to_owned();
    let body = wire::PlaceOrder {
        account: trader.account.clone(),
        instrument: instrument.clone(),
        side: match wish.side {
            Side::Buy => wire::Side::Buy,
            Side::Sell => wire::Side::Sell,
        },
        quantity: wish.quantity,
        limit_price,
        expected_price,
        max_slippage_bps,
    };
    let intent = IntentId { principal: trader.account.clone(), key: format!("order-{number}") };
    let request = post(&asker.shared, format!("/v1/markets/{MARKET}/orders"), &body, &intent)?;
    let asked = Asked::Order { account: trader.account.clone(), instrument, side: wish.side, quantity: wish.quantity };
    let question = Question { intent, asked, request, answer: Answer::Order };
    let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
    let ending = asker.ask(&question, fault).await;
    if let Told::Yes { effect: Effect::Filled { balance, holding, price_after, .. }, .. } = ending.told {
        board.show(wish.instrument, price_after);
        trader.balance = balance;
        match holding {
            0 => trader.holdings.remove(&wish.instrument),
            shares => trader.holdings.insert(wish.instrument, shares),
        };
    }
    Ok(())
}
