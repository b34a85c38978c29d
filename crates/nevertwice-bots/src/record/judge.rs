//! The judge: what the answers say of themselves, then the market, then the sale.

use std::collections::BTreeMap;

use super::{IntentId, IntentNotes, Kind, MarketState, Position, Record, SaleState, Told, Verdict};
use super::{chain, judge_market, judge_sale};

/// Holds the final state to what the clients were told. A part that was not run is none.
pub fn judge(record: &Record, market: Option<&MarketState>, sale: Option<&SaleState>) -> Verdict {
    let mut verdict = Verdict::default();
    for (intent, notes) in record.intents() {
        one_intent(intent, notes, &mut verdict);
    }
    positions_are_told_once(record, &mut verdict);
    chain::judge(record, market, &mut verdict);
    if let Some(market) = market {
        judge_market::judge(record, market, &mut verdict);
    }
    if let Some(sale) = sale {
        judge_sale::judge(record, sale, &mut verdict);
    }
    verdict
}

/// One intent has one effect and one answer, and no *no* follows a *yes*.
fn one_intent(intent: &IntentId, notes: &IntentNotes, verdict: &mut Verdict) {
    let Some((position, effect)) = notes.yes() else {
        if !notes.is_settled() {
            verdict.find(Kind::Unsettled, format!("{intent}: {:?} after {} attempts", notes.asked, notes.attempts.len()));
        }
        return;
    };
    let mut others: Vec<Position> = Vec::new();
    let mut first_run = 0_u32;
    let mut first_digest = None;
    let mut known_at_us = u64::MAX;
    for attempt in &notes.attempts {
        let Told::Yes { position: told, replayed, effect: said, digest } = &attempt.told else {
            continue;
        };
        known_at_us = known_at_us.min(attempt.ended_at_us);
        first_run += u32::from(!replayed);
        let first = *first_digest.get_or_insert(*digest);
        if *told != position {
            others.push(*told);
        } else if said != effect {
            verdict.find(Kind::Changed, format!("{intent} at {position}: told {effect:?}, then {said:?}"));
        } else if *digest != first {
            verdict.find(Kind::Changed, format!("{intent} at {position}: a replay has another result"));
        }
    }
    others.sort_unstable();
    others.dedup();
    for other in &others {
        verdict.find(Kind::Doubled, format!("{intent} has effects at {position} and at {other}"));
    }
    if first_run > 1 && others.is_empty() {
        verdict.find(Kind::Changed, format!("{intent} at {position}: {first_run} answers say that they are the first"));
    }
    for attempt in &notes.attempts {
        if let Told::No { code } = &attempt.told
            && attempt.sent_at_us > known_at_us
        {
            verdict.find(Kind::Changed, format!("{intent} at {position}: told yes, and asked again told {code}"));
        }
    }
}

/// A position holds one decision, so two intents are never told the same.
fn positions_are_told_once(record: &Record, verdict: &mut Verdict) {
    let mut told: BTreeMap<(bool, Position), &IntentId> = BTreeMap::new();
    for (intent, notes) in record.intents() {
        let Some((position, _)) = notes.yes() else {
            continue;
        };
        if let Some(other) = told.insert((notes.asked.of_sale(), position), intent) {
            verdict.find(Kind::Changed, format!("{other} and {intent} were both told {position}"));
        }
    }
}
