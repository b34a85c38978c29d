//! The answers in the order of their positions: each must go on where the one before it ended.
//!
//! An answer tells the account's money and shares, and the instrument's price, after the order. So a fill that nobody knows
//! of shows as a break in the chain, with the positions around it, even if a later one made up for it.

use std::collections::BTreeMap;

use super::{Asked, Effect, Kind, MarketState, Position, Record, Verdict};

pub(super) fn judge(record: &Record, market: Option<&MarketState>, verdict: &mut Verdict) {
    let mut told: Vec<(Position, &Asked, &Effect)> = record
        .intents()
        .filter_map(|(_, notes)| notes.yes().map(|(position, effect)| (position, &notes.asked, effect)))
        .filter(|(_, asked, _)| !asked.of_sale())
        .collect();
    told.sort_unstable_by_key(|(position, _, _)| *position);

    let mut balances: BTreeMap<&str, Link> = BTreeMap::new();
    let mut holdings: BTreeMap<(&str, &str), Link> = BTreeMap::new();
    let mut prices: BTreeMap<&str, Link> = BTreeMap::new();
    if let Some(market) = market {
        for (account, state) in &market.accounts {
            balances.insert(account, Link { at: None, value: state.opening_balance });
        }
    }
    for (position, asked, effect) in told {
        let (instrument, price_before, price_after) = match (asked, effect) {
            (
                Asked::Order { account, instrument, side, quantity },
                Effect::Filled { total, balance, holding, price_before, price_after },
            ) => {
                let whose = format!("the balance of {account}");
                step(&mut balances, account, position, balance + side.signed(*total), *balance, &whose, verdict);
                let whose = format!("{account}'s holding of {instrument}");
                let before = holding - side.signed(*quantity);
                let known = holdings.entry((account, instrument)).or_insert(Link { at: None, value: 0 });
                known.go_on(position, before, *holding, &whose, verdict);
                (instrument, price_before, price_after)
            }
            (Asked::Reprice { instrument }, Effect::Repriced { price_before, price_after }) => (instrument, price_before, price_after),
            (asked, effect) => {
                verdict.find(Kind::Changed, format!("at {position} {asked:?} was answered {effect:?}"));
                continue;
            }
        };
        let whose = format!("the price of {instrument}");
        step(&mut prices, instrument, position, *price_before, *price_after, &whose, verdict);
    }
}

/// Goes on in a chain, or begins it.
fn step<'a>(
    chains: &mut BTreeMap<&'a str, Link>,
    name: &'a str,
    position: Position,
    before: i64,
    after: i64,
    whose: &str,
    verdict: &mut Verdict,
) {
    let known = chains.entry(name).or_insert(Link { at: None, value: before });
    known.go_on(position, before, after, whose, verdict);
}

/// The last known value, and where it was told.
struct Link {
    at: Option<Position>,
    value: i64,
}

impl Link {
    fn go_on(&mut self, position: Position, before: i64, after: i64, whose: &str, verdict: &mut Verdict) {
        if self.value != before {
            let since = self.at.map_or_else(|| "at the beginning".to_owned(), |at| format!("after {at}"));
            verdict.find(Kind::Changed, format!("{whose} was {} {since} and {before} before {position}", self.value));
        }
        *self = Self { at: Some(position), value: after };
    }
}
