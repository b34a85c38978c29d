//! What a program gets that fills in a field which people don't see: an answer that looks like a success and is none.

use nevertwice_api::person::reference;
use nevertwice_api::wire::{Admission, Booking, BookingAnswer, BookingState};
use nevertwice_core::{CandidateId, Intent, Name, PaymentId, Position, Query, Rejection, ShardId, View};

use crate::app::App;
use crate::convert;
use crate::refusal::Refusal;

/// A `seq` that no shard reaches: a million entries a second take 142 years to get there.
const SEQ_BEYOND_ALL: u64 = 1 << 52;

/// An answer that looks like that to a booking. Nothing is done but counting.
pub(crate) async fn answer(
    app: &App,
    sale: &ShardId,
    candidate: &CandidateId,
    level: &Name,
    intent: &Intent,
) -> Result<BookingAnswer, Refusal> {
    let read = app.read(sale.clone(), Query::Sale, None).await?;
    let View::Sale(view) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
    if !view.open {
        return Err(convert::refuse(&Rejection::SaleClosed, read.position));
    }
    app.metrics.honeypot.inc();
    let [a, b, c, d, ..] = intent.fingerprint;
    // The same for the same request, and nobody's: what this answer names must not be the booking or the payment of a person.
    let drawn = u32::from_le_bytes([a, b, c, d]);
    let never = |steps: u64| Position { epoch: 1, seq: SEQ_BEYOND_ALL + 4 * u64::from(drawn) + steps };
    let booking = never(0);
    let seats = u64::try_from(view.total_cap).unwrap_or(0).max(1);
    let seat = u32::try_from(u64::from(drawn) % seats).unwrap_or(0).saturating_add(1);
    let at_ms = app.clock.now_ms();
    let hold_expires_at = at_ms.saturating_add(view.hold_ms);
    let payment = PaymentId::of(sale, booking);
    let payment_url = payment.as_ref().zip(app.sandbox.as_ref()).and_then(|(payment, sandbox)| sandbox.url(&sale.name, payment));
    let reference = reference(candidate);
    Ok(BookingAnswer {
        result: Admission {
            booking: booking.to_string(),
            reference: reference.clone(),
            level: level.to_string(),
            seat,
            hold_expires_at,
            position: booking.to_string(),
            at_ms,
        },
        replayed: false,
        position: never(2).to_string(),
        levels: read.levels.iter().collect(),
        state: Booking {
            booking: booking.to_string(),
            reference,
            level: level.to_string(),
            seat,
            state: BookingState::Paying,
            hold_expires_at,
            payment: payment.map(|payment| payment.to_string()),
            payment_url: payment_url.map(|url| url.to_string()),
        },
    })
}
