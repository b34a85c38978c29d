//! The manners in which accounts trade. None of them is clever; together they make a market move.

use std::collections::BTreeMap;

use super::market::Board;
use crate::record::Side;
use crate::seed::Seed;

/// A manner of trading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Persona {
    /// Buys whoever has just scored, sells what has not moved.
    Momentum,
    /// Sells scorers into the rise, buys the forgotten.
    Contrarian,
    /// Buys the players of one team and keeps them, most of all after their goals.
    Fan,
    /// Anything, any time.
    Random,
    /// Buys only at a limit at or under the price it sees.
    BargainHunter,
    /// Names the price it expects and how far it may slip.
    Careful,
}

impl Persona {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Momentum, Self::Contrarian, Self::Fan, Self::Random, Self::BargainHunter, Self::Careful];

    /// Its name, as in account names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Momentum => "momentum",
            Self::Contrarian => "contrarian",
            Self::Fan => "fan",
            Self::Random => "random",
            Self::BargainHunter => "bargain",
            Self::Careful => "careful",
        }
    }
}

/// What an order guards itself with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    None,
    Limit(i64),
    Slippage { expected_price: i64, max_slippage_bps: i64 },
}

/// An order that a persona wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) instrument: usize,
    pub(super) side: Side,
    pub(super) quantity: i64,
    pub(super) guard: Guard,
}

/// An account as its owner sees it: what the answers told.
#[derive(Debug, Clone)]
pub(super) struct Trader {
    pub(super) account: String,
    pub(super) persona: Persona,
    pub(super) balance: i64,
    pub(super) holdings: BTreeMap<usize, i64>,
    /// The instruments of the favourite team, from and to.
    pub(super) favourites: (usize, usize),
}

impl Trader {
    /// The next order. The board shows the prices that anybody was told last.
    pub(super) fn wish(&self, board: &Board, seed: &mut Seed) -> Wish {
        let quantity = i64::try_from(seed.between(1, 12)).unwrap_or(1);
        let anybody = seed.index(board.len());
        let buy = |instrument, quantity| Wish { instrument, side: Side::Buy, quantity, guard: Guard::None };
        match self.persona {
            Persona::Momentum => match self.held(seed) {
                Some((held, shares)) if seed.chance(400) => sell(held, shares.min(quantity)),
                _ => buy(board.recent_scorer(seed).unwrap_or(anybody), quantity),
            },
            Persona::Contrarian => match board.recent_scorer(seed) {
                Some(scorer) if self.shares(scorer) > 0 => sell(scorer, self.shares(scorer).min(2 * quantity)),
                _ => match self.held(seed) {
                    Some((held, shares)) if seed.chance(300) => sell(held, shares.min(quantity)),
                    _ => buy(anybody, quantity),
                },
            },
            Persona::Fan => {
                let (from, to) = self.favourites;
                let scorer = board.recent_scorer(seed).filter(|scorer| (from..to).contains(scorer));
                let favourite = scorer.unwrap_or_else(|| from + seed.index(to - from));
                match self.held(seed) {
                    Some((held, shares)) if seed.chance(250) => sell(held, shares.min(quantity)),
                    _ => buy(favourite, quantity),
                }
            }
            Persona::Random => match self.held(seed) {
                Some((held, shares)) if seed.chance(480) => sell(held, shares.min(quantity)),
                // Now and then more than it holds: a no is an answer too.
                _ if seed.chance(60) => sell(anybody, 500),
                _ => buy(anybody, quantity),
            },
            Persona::BargainHunter => match self.held(seed) {
                Some((held, shares)) if seed.chance(420) => sell(held, shares.min(quantity)),
                _ => {
                    let wanted = board.recent_scorer(seed).filter(|_| seed.chance(600)).unwrap_or(anybody);
                    let rise = i64::try_from(seed.below(30)).unwrap_or(0);
                    Wish { guard: Guard::Limit(board.price(wanted) + rise), ..buy(wanted, quantity) }
                }
            },
            Persona::Careful => {
                let (instrument, side, quantity) = match self.held(seed) {
                    Some((held, shares)) if seed.chance(430) => (held, Side::Sell, shares.min(quantity)),
                    _ => (board.recent_scorer(seed).unwrap_or(anybody), Side::Buy, quantity),
                };
                let guard = Guard::Slippage { expected_price: board.price(instrument).max(1), max_slippage_bps: 150 };
                Wish { instrument, side, quantity, guard }
            }
        }
    }

    fn shares(&self, instrument: usize) -> i64 {
        self.holdings.get(&instrument).copied().unwrap_or(0)
    }

    /// One of its holdings.
    fn held(&self, seed: &mut Seed) -> Option<(usize, i64)> {
        let index = seed.index(self.holdings.len());
        self.holdings.iter().nth(index).map(|(instrument, shares)| (*instrument, *shares))
    }
}

fn sell(instrument: usize, quantity: i64) -> Wish {
    Wish { instrument, side: Side::Sell, quantity, guard: Guard::None }
}
