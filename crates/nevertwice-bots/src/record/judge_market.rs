//! The market's final state against the fills that were told.

use std::collections::BTreeMap;

use super::{Asked, Effect, IntentId, Kind, MarketState, Record, Verdict};

/// A fill that somebody was told of.
struct Fill<'a> {
    intent: &'a IntentId,
    shares: i64,
    money: i64,
}

pub(super) fn judge(record: &Record, market: &MarketState, verdict: &mut Verdict) {
    let mut fills: BTreeMap<&str, BTreeMap<&str, Vec<Fill<'_>>>> = BTreeMap::new();
    for (intent, notes) in record.intents() {
        let (Asked::Order { account, instrument, side, quantity }, Some((_, Effect::Filled { total, .. }))) = (&notes.asked, notes.yes())
        else {
            continue;
        };
        let fill = Fill { intent, shares: side.signed(*quantity), money: -side.signed(*total) };
        fills.entry(account).or_default().entry(instrument).or_default().push(fill);
    }
    for account in fills.keys().filter(|account| !market.accounts.contains_key(**account)) {
        verdict.find(Kind::Lost, format!("the account {account} has fills and is not there"));
    }
    let none = BTreeMap::new();
    for (account, state) in &market.accounts {
        let told = fills.get(account.as_str()).unwrap_or(&none);
        let expected: i64 = told.values().flatten().map(|fill| fill.money).sum();
        let money_off = state.balance - state.opening_balance - expected;
        let mut explained = false;
        let instruments = told.keys().copied().chain(state.holdings.keys().map(String::as_str));
        let instruments: std::collections::BTreeSet<&str> = instruments.collect();
        for instrument in instruments {
            let held = state.holdings.get(instrument).copied().unwrap_or(0);
            let told = told.get(instrument).map(Vec::as_slice).unwrap_or_default();
            let shares_off = held - told.iter().map(|fill| fill.shares).sum::<i64>();
            if shares_off != 0 {
                let (kind, why) = explain(told, shares_off, money_off);
                verdict.find(kind, format!("{account} holds {held} of {instrument}, {shares_off:+} against what was told{why}"));
                explained = true;
            }
        }
        if money_off != 0 && !explained {
            verdict.find(Kind::NotConserved, format!("{account} has {money_off:+} against what was told"));
        }
    }
    conserved(market, verdict);
}

/// Which kind of failure a difference is, and the intent that fits it.
///
/// A fill that is missing takes exactly its shares and its money away; one that was made twice adds its shares, at some
/// other price. What no single fill explains is a gain that nobody asked for, or a loss.
fn explain(told: &[Fill<'_>], shares_off: i64, money_off: i64) -> (Kind, String) {
    let missing = |exactly: bool| told.iter().find(|fill| fill.shares == -shares_off && (!exactly || fill.money == -money_off));
    let doubled = told.iter().find(|fill| fill.shares == shares_off);
    if let Some(fill) = missing(true) {
        return (Kind::Lost, format!(": the fill of {} is not there", fill.intent));
    }
    if let Some(fill) = doubled {
        return (Kind::Doubled, format!(": as if {} had been filled twice", fill.intent));
    }
    if let Some(fill) = missing(false) {
        return (Kind::Lost, format!(": as if the fill of {} were not there", fill.intent));
    }
    if told.is_empty() || shares_off > 0 { (Kind::Doubled, ": nobody asked for it".to_owned()) } else { (Kind::Lost, String::new()) }
}

/// All money sums to zero, and the shares held are those that the house has sold.
fn conserved(market: &MarketState, verdict: &mut Verdict) {
    let wide = |amounts: &mut dyn Iterator<Item = i64>| amounts.map(i128::from).sum::<i128>();
    let players = wide(&mut market.accounts.values().map(|account| account.balance));
    let house = wide(&mut market.instruments.values().map(|instrument| instrument.cash));
    let sum = players + house + i128::from(market.fees) + i128::from(market.issuance);
    if sum != 0 {
        verdict.find(Kind::NotConserved, format!("all money sums to {sum:+} and not to zero"));
    }
    let opened = wide(&mut market.accounts.values().map(|account| account.opening_balance));
    if opened + i128::from(market.issuance) != 0 {
        verdict.find(Kind::NotConserved, format!("{opened} was issued, and the issuance account has {}", market.issuance));
    }
    let mut held: BTreeMap<&str, i128> = BTreeMap::new();
    for (name, account) in &market.accounts {
        if account.balance < 0 {
            verdict.find(Kind::NotConserved, format!("{name} has a balance of {}", account.balance));
        }
        for (instrument, shares) in &account.holdings {
            *held.entry(instrument).or_default() += i128::from(*shares);
            if *shares < 0 {
                verdict.find(Kind::NotConserved, format!("{name} holds {shares} of {instrument}"));
            }
        }
    }
    for (name, instrument) in &market.instruments {
        let held = held.remove(name.as_str()).unwrap_or(0);
        if held != i128::from(instrument.net) {
            verdict.find(Kind::NotConserved, format!("{held} of {name} are held, and its net is {}", instrument.net));
        }
    }
    for (name, held) in held {
        verdict.find(Kind::NotConserved, format!("{held} of {name} are held, and it is not listed"));
    }
}
