//! The answer itself.

use nevertwice_api::person::reference;
use nevertwice_api::wire::{Admission, Booking, BookingAnswer, BookingState};
use nevertwice_core::{CandidateId, Intent, Name, PaymentId, Position, Query, Rejection, SaleView, ShardId, View};

use super::feigned::Before;
use crate::app::{App, ReadOf};
use crate::convert;
use crate::refusal::Refusal;

/// An answer that looks like that to a booking: to a first one, or to a retry of it. Nothing is done but counting.
pub(crate) async fn answer(
    app: &App,
    sale: &ShardId,
    candidate: &CandidateId,
    level: &Name,
    intent: &Intent,
) -> Result<BookingAnswer, Refusal> {
    let ReadOf { view, position, levels } = app.read(sale.clone(), Query::Sale, None).await?;
    let View::Sale(view) = view else { return Err(Refusal::internal("a view of another kind than its query")) };
    match app.feigned.before(&sale.name, intent) {
        Before::Same(answer) => {
            app.metrics.honeypot.inc();
            return Ok(BookingAnswer { replayed: true, ..*answer });
        }
        Before::Other(answer) => {
            let happened = answer.result.position.parse().unwrap_or(position);
            return Err(convert::refuse(&Rejection::FingerprintMismatch { position: happened }, position));
        }
        Before::Nothing if !view.open => return Err(convert::refuse(&Rejection::SaleClosed, position)),
        Before::Nothing => {}
    }
    app.metrics.honeypot.inc();
    let drawn = Drawn::of(&view, position, intent);
    let shown = BookingAnswer { levels: levels.iter().collect(), ..drawn.shown(app, sale, candidate, level) };
    app.feigned.remember(&sale.name, intent, &shown);
    Ok(shown)
}

/// What is made up of a booking.
struct Drawn {
    booking: Position,
    seat: u32,
    hold_ms: i64,
}

impl Drawn {
    /// Figures like those of the sale's next booking, made from the intent's fingerprint, which only the sale's key can make.
    ///
    /// The booking is nobody's, now and later: its epoch is the one after that of the last entry, and in that one no entry has a
    /// `seq` which the shard has passed already. (At the level `decided` a crash may forget the last moments, and with them that.)
    fn of(view: &SaleView, last: Position, intent: &Intent) -> Self {
        let [a, b, c, d, ..] = intent.fingerprint;
        let drawn = u32::from_le_bytes([a, b, c, d]);
        // As many digits as a booking of now would have, as far as there are such numbers below the last one.
        let below = last.seq.max(2);
        let least = 10_u64.pow(below.ilog10()).min(below - 1);
        let booking = Position { epoch: last.epoch.saturating_add(1), seq: least + u64::from(drawn) % (below - least) };
        let seats = u64::try_from(view.total_cap).unwrap_or(0).max(1);
        let seat = u32::try_from(u64::from(drawn) % seats).unwrap_or(0).saturating_add(1);
        Self { booking, seat, hold_ms: view.hold_ms }
    }

    fn shown(&self, app: &App, sale: &ShardId, candidate: &CandidateId, level: &Name) -> BookingAnswer {
        let Self { booking, seat, hold_ms } = *self;
        let at_ms = app.clock.now_ms();
        let hold_expires_at = at_ms.saturating_add(hold_ms);
        let payment = PaymentId::of(sale, booking);
        let payment_url = payment.as_ref().zip(app.sandbox.as_ref()).and_then(|(payment, sandbox)| sandbox.url(&sale.name, payment));
        let reference = reference(candidate);
        BookingAnswer {
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
            // Of a booking it is that of its payment's beginning, the next entry.
            position: Position { seq: booking.seq.saturating_add(1), ..booking }.to_string(),
            levels: Vec::new(),
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
        }
    }
}
