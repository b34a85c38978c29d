//! What became of one tap, put together for people and for programs.

use nevertwice_api::{Finding, Found, wire};
use nevertwice_core::{Entry, Event, IdempotencyKey, Position, Principal, ShardId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::convert::FromEntry;

/// What is known of an intent.
pub struct Known<'a> {
    /// Whose.
    pub principal: &'a Principal,
    /// Which of the principal's.
    pub key: &'a IdempotencyKey,
    /// The attempts that were seen.
    pub attempts: wire::Attempts,
    /// The entries that a retry would be answered with now.
    pub remembered: &'a [(ShardId, Position)],
    /// What the journal has.
    pub finding: &'a Finding,
    /// What the store of keys has, where it was asked.
    pub record: Option<wire::KeyRecord>,
}

/// Puts it together.
#[must_use]
pub fn explain(known: Known<'_>) -> wire::Explanation {
    let says = says(&known);
    let Known { principal, key, attempts, remembered, finding, record } = known;
    wire::Explanation {
        principal: principal.to_string(),
        key: key.to_string(),
        says,
        attempts,
        found: finding.found.iter().map(|found| tell(found, is_remembered(remembered, found))).collect(),
        is_cut: finding.is_cut,
        journal: wire::JournalRead { first_batch: finding.first_batch, read_to: finding.read_to, is_read_to_end: finding.is_read_to_end() },
        key_record: record,
    }
}

fn is_remembered(remembered: &[(ShardId, Position)], found: &Found) -> bool {
    remembered.iter().any(|(shard, position)| (shard, *position) == found.place())
}

fn says(known: &Known<'_>) -> String {
    let Known { attempts, remembered, finding, record, .. } = known;
    let mut says = match (finding.found.as_slice(), record) {
        ([], Some(_)) => String::from("No market and no sale has an entry with this key."),
        ([], None) => nothing(finding, attempts),
        ([found], _) => one(found, is_remembered(remembered, found)),
        ([.., last], _) => format!(
            "{} entries were made with this key, in other markets or sales, or after its memory had ended; of the last one: {}",
            finding.found.len(),
            one(last, is_remembered(remembered, last))
        ),
    };
    if !finding.is_read_to_end() {
        says.push_str(" The journal was not read to its end, so something that came later may be missing here.");
    }
    if let Some(record) = record {
        says.push(' ');
        says.push_str(guarded(record));
    }
    says
}

/// What a record of a key says about the request that it guards.
const fn guarded(record: &wire::KeyRecord) -> &'static str {
    match (record.state, record.is_lapsed, record.is_kept) {
        (wire::KeyState::Free, ..) => {
            "As a key of somebody's own guard it is free: it was given back, so nothing has happened, and a retry runs."
        }
        (wire::KeyState::InProgress, false, _) => "As a key of somebody's own guard it is being worked on: a retry is told to wait.",
        (wire::KeyState::InProgress, true, _) => {
            "As a key of somebody's own guard it was worked on, the lease ended, and nobody knows what became of it: find out, then complete or release it."
        }
        (wire::KeyState::Completed, _, Some(false)) => {
            "As a key of somebody's own guard it is used: the request was carried out once, and its answer was not kept."
        }
        (wire::KeyState::Completed, ..) => "As a key of somebody's own guard it has its answer, which a retry gets again.",
    }
}

fn one(found: &Found, is_remembered: bool) -> String {
    let (shard, position) = found.place();
    let command = found.entry.events.first().map_or("", Event::command);
    let mut says = format!("It happened once: {command} at {position} of {shard}.");
    says.push_str(if is_remembered {
        " A retry now is answered with the same result and changes nothing."
    } else {
        " Its key is not remembered any more, so a retry now would be decided anew."
    });
    if let Some(last) = found.later.last() {
        let command = last.events.first().map_or("", Event::command);
        says.push_str(&format!(" The last thing that happened to it was {command} at {}.", last.position));
    }
    says
}

fn nothing(finding: &Finding, attempts: &wire::Attempts) -> String {
    let mut says = if !finding.is_read_to_end() {
        "No entry with this key is in what could be read of the journal: whether it happened is not known.".to_owned()
    } else if finding.first_batch <= 1 {
        "No entry was ever made with this key, so it never happened; a retry now is decided anew.".to_owned()
    } else {
        format!(
            "No entry with this key is remembered, and the journal, which begins with batch {}, has none: it never happened, or it is \
             longer ago than both go back. A retry now is decided anew.",
            finding.first_batch
        )
    };
    match (attempts.seen.last(), attempts.since_ms) {
        (Some(last), _) => says.push_str(&format!(" The last attempt that this process saw ended as {}.", last.outcome)),
        (None, Some(_)) => says.push_str(" This process remembers no attempt with it either: it may never have arrived."),
        (None, None) => {}
    }
    says
}

fn tell(found: &Found, is_remembered: bool) -> wire::Told {
    let Found { entry, is_in_journal, later, later_left_out } = found;
    wire::Told {
        shard: entry.shard.to_string(),
        position: entry.position.to_string(),
        at_ms: entry.at_ms,
        command: command(entry),
        expires_at: entry.intent.expires_at,
        origin: entry.origin.as_deref().map(wire::Caller::from),
        is_remembered,
        is_in_journal: *is_in_journal,
        result: result(entry),
        later: later.iter().map(|later| tell_later(later, entry)).collect(),
        later_left_out: *later_left_out,
    }
}

fn tell_later(entry: &Entry, of: &Entry) -> wire::Later {
    wire::Later {
        position: entry.position.to_string(),
        at_ms: entry.at_ms,
        command: command(entry),
        principal: entry.intent.principal.to_string(),
        key: entry.intent.key.to_string(),
        result: concerning(entry, of),
    }
}

fn command(entry: &Entry) -> String {
    entry.events.first().map_or("", Event::command).to_owned()
}

/// The `result` of a replay: made from the entry alone, as the endpoint makes it. Null where no endpoint does.
fn result(entry: &Entry) -> Value {
    let Some(event) = entry.events.first() else { return Value::Null };
    match event {
        Event::OrderFilled(_) => rendered::<wire::Order>(entry),
        Event::MarketOpened(_) => rendered::<wire::MarketOpened>(entry),
        Event::ModeSet(_) => rendered::<wire::ModeSet>(entry),
        Event::InstrumentListed(_) => rendered::<wire::InstrumentListed>(entry),
        Event::InstrumentRepriced(_) => rendered::<wire::InstrumentRepriced>(entry),
        Event::InstrumentFrozen(_) | Event::InstrumentUnfrozen(_) => rendered::<wire::InstrumentFrozen>(entry),
        Event::InstrumentSettled(_) => rendered::<wire::InstrumentSettled>(entry),
        Event::AccountOpened(_) => rendered::<wire::AccountOpened>(entry),
        Event::SaleOpened(_) => rendered::<wire::SaleOpened>(entry),
        Event::CandidatesLoaded(_) => rendered::<wire::CandidatesLoaded>(entry),
        Event::SaleOpenSet(_) => rendered::<wire::SaleOpenSet>(entry),
        Event::CapsSet(_) => rendered::<wire::CapsSet>(entry),
        Event::CandidateAdmitted(_) => wire::Admission::of(entry).map_or(Value::Null, |admission| shown(&admission)),
        Event::PaymentConfirmed(_) => rendered::<wire::Confirmed>(entry),
        Event::BookingReleased(_) => rendered::<wire::Released>(entry),
        Event::PaymentBegun(_) | Event::PaymentAttached(_) | Event::HoldsExpired(_) | Event::HoldersPaid(_) => Value::Null,
    }
}

/// What a later entry did to the booking or the holding of an earlier one: of what concerns many, that one's part. Where a payment
/// can be made is left out: whoever has the address may pay.
fn concerning(entry: &Entry, of: &Entry) -> Value {
    match entry.events.first() {
        Some(Event::PaymentBegun(event)) => json!({"booking": event.booking.to_string(), "payment": event.payment.as_str()}),
        Some(Event::PaymentAttached(event)) => json!({"booking": event.booking.to_string(), "payment": event.payment.as_str()}),
        Some(Event::HoldsExpired(event)) => {
            let booking = booking(of);
            let hold = event.holds.iter().find(|hold| Some(hold.booking) == booking);
            hold.map_or(Value::Null, |hold| json!({"booking": hold.booking.to_string(), "seat": hold.seat, "state": hold.state.word()}))
        }
        Some(Event::HoldersPaid(event)) => {
            let Some(Event::OrderFilled(filled)) = of.events.first() else { return Value::Null };
            let payout = event.payouts.iter().find(|payout| payout.account == filled.account);
            payout.map_or(Value::Null, |payout| {
                json!({"account": payout.account.as_str(), "instrument": event.instrument.as_str(), "shares": payout.shares,
                    "amount": payout.amount, "balance": payout.balance})
            })
        }
        _ => result(entry),
    }
}

fn booking(entry: &Entry) -> Option<Position> {
    match entry.events.first()? {
        Event::CandidateAdmitted(_) => Some(entry.position),
        Event::PaymentBegun(event) => Some(event.booking),
        Event::PaymentAttached(event) => Some(event.booking),
        Event::PaymentConfirmed(event) => Some(event.booking),
        Event::BookingReleased(event) => Some(event.booking),
        _ => None,
    }
}

fn rendered<R: FromEntry>(entry: &Entry) -> Value {
    R::from_entry(entry).map_or(Value::Null, |result| shown(&result))
}

fn shown(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or(Value::Null)
}
