//! A booking from its admission to the page where it can be paid.
//!
//! The admission is made first, the payment is begun before the gateway is called, and what the gateway said is attached
//! afterwards. Each step is an intent of its own, so whoever comes after a death in between (a replay, a rival with another
//! key, the steward) goes on where it stopped.

use nevertwice_api::wire::{Admission, BookingAnswer};
use nevertwice_api::{Answer, ErrorCode, Levels, wire};
use nevertwice_core::{BookingState, BookingView, Command, Decision, Entry, Event, Principal, Rejection, ShardId};

use crate::app::App;
use crate::convert;
use crate::payment::{self, BookingNow};
use crate::refusal::Refusal;

/// Admits a candidate, and sees to it that there is a payment. `person` is who asks for itself: a booking that was made on behalf
/// of somebody else is not shown to it.
pub(crate) async fn book(
    app: &App,
    sale: ShardId,
    command: Command,
    levels: Levels,
    person: Option<Principal>,
) -> Result<BookingAnswer, Refusal> {
    let origin = command.origin.clone();
    let Answer { decision, position, levels: reached } = app.submit(sale.clone(), command, levels).await?;
    let (entry, replayed) = match decision {
        Decision::Accepted(entry) => (entry, false),
        Decision::Replayed(entry) => (entry, true),
        Decision::Rejected(Rejection::AlreadyBooked { booking }) if person.is_some_and(|person| person != booking.principal) => {
            return Err(booked_by_another().at(position));
        }
        Decision::Rejected(Rejection::AlreadyBooked { booking }) => {
            let now = BookingNow { view: *booking, position, levels: reached };
            let now = payment::ensure(app, &sale, now, levels, origin.as_deref()).await?;
            return Err(convert::refuse(&Rejection::AlreadyBooked { booking: Box::new(now.view) }, now.position));
        }
        Decision::Rejected(rejection) => return Err(convert::refuse(&rejection, position)),
    };
    let result = Admission::of(&entry).ok_or_else(|| Refusal::internal("an entry of another kind than its command"))?;
    let now = if replayed {
        payment::read_booking(app, &sale, entry.position).await?
    } else {
        let view = admitted(&entry).ok_or_else(|| Refusal::internal("an entry of another kind than its command"))?;
        BookingNow { view, position, levels: reached }
    };
    let now = payment::ensure(app, &sale, now, levels, origin.as_deref()).await?;
    Ok(BookingAnswer {
        result,
        replayed,
        position: now.position.to_string(),
        levels: now.levels.iter().collect(),
        state: wire::Booking::from(&now.view),
    })
}

fn booked_by_another() -> Refusal {
    Refusal::new(
        ErrorCode::AlreadyBooked,
        "The candidate has a live booking, made on behalf of another principal",
        "Ask as whoever booked, or ask the operator",
    )
}

/// The booking that an admission has just made.
fn admitted(entry: &Entry) -> Option<BookingView> {
    let [Event::CandidateAdmitted(event)] = entry.events.as_slice() else { return None };
    Some(BookingView {
        booking: entry.position,
        candidate: event.candidate,
        level: event.level.clone(),
        seat: event.seat,
        state: BookingState::Admitted,
        principal: entry.intent.principal.clone(),
        key: entry.intent.key.clone(),
        hold_expires_at: event.hold_expires_at,
        payment: None,
        url: None,
    })
}
