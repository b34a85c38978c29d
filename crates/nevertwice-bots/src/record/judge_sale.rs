//! The sale's final state against the bookings that were told.

use std::collections::BTreeMap;

use super::{Asked, BookingStage, Effect, IntentId, Kind, Position, Record, SaleState, Verdict};

pub(super) fn judge(record: &Record, sale: &SaleState, verdict: &mut Verdict) {
    let mut admitted: BTreeMap<Position, (&IntentId, &str)> = BTreeMap::new();
    let mut ended: BTreeMap<Position, (BookingStage, &IntentId)> = BTreeMap::new();
    for (intent, notes) in record.intents() {
        if let (Asked::PayAtPage { booking }, true) = (&notes.asked, notes.is_shown()) {
            end(*booking, BookingStage::Paid, intent, &mut ended, verdict);
        }
        let Some((position, effect)) = notes.yes() else {
            continue;
        };
        match (&notes.asked, effect) {
            (Asked::Admission { candidate, .. }, Effect::Admitted { level, seat }) => {
                admitted.insert(position, (intent, candidate));
                told_booking(intent, position, level, *seat, sale, verdict);
            }
            (Asked::ConfirmPayment { booking }, _) => end(*booking, BookingStage::Paid, intent, &mut ended, verdict),
            (Asked::Release { booking }, _) => end(*booking, BookingStage::Released, intent, &mut ended, verdict),
            _ => {}
        }
    }
    for (booking, state) in &sale.bookings {
        if !admitted.contains_key(booking) {
            verdict.find(Kind::Doubled, format!("the booking {booking} of {} is there, and nobody was told of it", state.candidate));
        }
    }
    for (booking, (intent, _)) in &admitted {
        let Some(state) = sale.bookings.get(booking) else {
            continue;
        };
        let wanted = match ended.get(booking) {
            Some((stage, by)) => (state.stage == *stage, format!("was told {} to {by}", stage.word())),
            None => (matches!(state.stage, BookingStage::Admitted | BookingStage::Paying), format!("was told to {intent} and never ended")),
        };
        if let (false, why) = wanted {
            verdict.find(Kind::Lost, format!("the booking {booking} {why}, and is {}", state.stage.word()));
        }
    }
    oversold(sale, verdict);
}

/// A booking that was told is there, as it was told.
fn told_booking(intent: &IntentId, booking: Position, level: &str, seat: u64, sale: &SaleState, verdict: &mut Verdict) {
    match sale.bookings.get(&booking) {
        None => verdict.find(Kind::Lost, format!("{intent} was told the booking {booking}, and it is not there")),
        Some(state) if state.level != level || state.seat != seat => verdict.find(
            Kind::Changed,
            format!("{intent} was told seat {seat} on {level}, and {booking} is seat {} on {}", state.seat, state.level),
        ),
        Some(_) => {}
    }
}

/// A booking ends once.
fn end<'a>(
    booking: Position,
    stage: BookingStage,
    intent: &'a IntentId,
    ended: &mut BTreeMap<Position, (BookingStage, &'a IntentId)>,
    verdict: &mut Verdict,
) {
    if let Some((before, other)) = ended.insert(booking, (stage, intent)) {
        verdict.find(Kind::Doubled, format!("the booking {booking} ended {} for {other} and {} for {intent}", before.word(), stage.word()));
    }
}

/// Caps hold, seats and candidates are in one live booking at most, and the server's counters are what it lists.
fn oversold(sale: &SaleState, verdict: &mut Verdict) {
    let mut seats: BTreeMap<u64, Position> = BTreeMap::new();
    let mut candidates: BTreeMap<&str, Position> = BTreeMap::new();
    let mut live: BTreeMap<&str, i64> = BTreeMap::new();
    for (booking, state) in sale.bookings.iter().filter(|(_, state)| state.stage.is_live()) {
        *live.entry(&state.level).or_default() += 1;
        if let Some(other) = seats.insert(state.seat, *booking) {
            verdict.find(Kind::Oversold, format!("seat {} is in the live bookings {other} and {booking}", state.seat));
        }
        if let Some(other) = candidates.insert(&state.candidate, *booking) {
            verdict.find(Kind::Doubled, format!("{} has the live bookings {other} and {booking}", state.candidate));
        }
    }
    let total: i64 = live.values().sum();
    if total > sale.total_cap {
        verdict.find(Kind::Oversold, format!("{total} live bookings, and the sale has {} seats", sale.total_cap));
    }
    if total != sale.live {
        verdict.find(Kind::Changed, format!("{total} live bookings are listed, and {} counted", sale.live));
    }
    for (name, level) in &sale.levels {
        let live = live.remove(name.as_str()).unwrap_or(0);
        if let Some(cap) = level.cap.filter(|cap| live > *cap) {
            verdict.find(Kind::Oversold, format!("{live} live bookings on {name}, and it has {cap} seats"));
        }
        if live != level.live {
            verdict.find(Kind::Changed, format!("{live} live bookings on {name} are listed, and {} counted", level.live));
        }
    }
    for (name, live) in live {
        verdict.find(Kind::Oversold, format!("{live} live bookings on {name}, which is no level of the sale"));
    }
}
