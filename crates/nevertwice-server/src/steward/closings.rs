//! Bookings whose hold is over while their payment is under way: the gateway says how they end, never silence.

use std::collections::{BTreeMap, BTreeSet};

use nevertwice_core::{
    BookingOwner, BookingState, BookingView, PaymentId, Position, Query, ReleaseBooking, ReleaseReason, ScanCursor, ShardId, View,
};

use super::step::step;
use crate::app::App;
use crate::own;
use crate::payment::{Closed, Confirmation, PaymentStatus, Session, ask, close_payment, confirm, read_booking};
use crate::refusal::Refusal;

/// The bookings of each sale that are known to wait.
#[derive(Default)]
pub(super) struct Closings(BTreeMap<ShardId, BTreeSet<Position>>);

impl Closings {
    /// Remembers bookings that wait.
    pub(super) fn add(&mut self, sale: &ShardId, bookings: Vec<Position>) {
        if !bookings.is_empty() {
            self.0.entry(sale.clone()).or_default().extend(bookings);
        }
    }

    /// Looks for all that wait: after a start, and now and then.
    pub(super) async fn look(&mut self, app: &App, sale: &ShardId) -> Result<(), Refusal> {
        let mut cursor = Some(ScanCursor::default());
        while let Some(from) = cursor {
            let read = app.read(sale.clone(), Query::Bookings { cursor: from }, None).await?;
            let View::Bookings(bookings, next) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
            let closing = bookings.iter().filter(|booking| booking.state == BookingState::Closing);
            self.add(sale, closing.map(|booking| booking.booking).collect());
            cursor = next;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Ends those of a sale of which the gateway says how. Told are the ones that should have ended and have not, and why the last
    /// one of them failed, where it did.
    pub(super) async fn close(&mut self, app: &App, sale: &ShardId) -> (u64, Option<Refusal>) {
        let (mut overdue, mut failed) = (0, None);
        let Some(waiting) = self.0.get_mut(sale) else { return (overdue, failed) };
        for booking in waiting.clone() {
            if app.is_stopping() {
                break;
            }
            match close_one(app, sale, booking).await {
                Ok(Closing::Ended) => {
                    waiting.remove(&booking);
                }
                Ok(Closing::InTime) => {}
                Ok(Closing::Overdue) => overdue += 1,
                // One that can't be ended now must not keep the others waiting.
                Err(refusal) => {
                    overdue += 1;
                    failed = Some(refusal);
                }
            }
        }
        (overdue, failed)
    }
}

/// How a booking that waited is now.
enum Closing {
    Ended,
    /// It waits, and may.
    InTime,
    /// It waits, and its grace is over.
    Overdue,
}

/// Ends one booking, if that is possible now.
async fn close_one(app: &App, sale: &ShardId, booking: Position) -> Result<Closing, Refusal> {
    let view = read_booking(app, sale, booking).await?.view;
    let (BookingState::Closing, Some(payment)) = (view.state, view.payment.clone()) else { return Ok(Closing::Ended) };
    let session = Session { sale: sale.name.clone(), payment: payment.clone() };
    let status = match ask(app, app.gateway.status(session)).await {
        Ok(status) => status,
        Err(error) => {
            tracing::warn!(%sale, %booking, %error, "the booking keeps its seat until the gateway answers");
            return Ok(if is_past_grace(app, &view) { Closing::Overdue } else { Closing::InTime });
        }
    };
    match status {
        PaymentStatus::Paid => end_paid(app, sale, booking, &payment).await?,
        PaymentStatus::Open if !is_past_grace(app, &view) => return Ok(Closing::InTime),
        PaymentStatus::Open | PaymentStatus::Declined => match close_payment(app, sale, &payment).await? {
            Closed::Paid => end_paid(app, sale, booking, &payment).await?,
            Closed::Unpaid => end_released(app, sale, booking, payment).await?,
        },
    }
    Ok(Closing::Ended)
}

fn is_past_grace(app: &App, view: &BookingView) -> bool {
    app.clock.now_ms() >= view.hold_expires_at.saturating_add(app.closing_grace_ms)
}

async fn end_paid(app: &App, sale: &ShardId, booking: Position, payment: &PaymentId) -> Result<(), Refusal> {
    match confirm(app, sale, booking, payment).await? {
        Confirmation::Paid => {
            app.metrics.payments_confirmed.inc();
            tracing::info!(%sale, %booking, "confirmed a payment that the gateway had taken");
        }
        Confirmation::TooLate => {
            app.metrics.late_payments.inc();
            tracing::error!(%sale, %booking, %payment, "paid after its seat had been given back: to be refunded");
        }
    }
    Ok(())
}

async fn end_released(app: &App, sale: &ShardId, booking: Position, payment: PaymentId) -> Result<(), Refusal> {
    let intent = own::intent("release", payment.as_str())?;
    let action = ReleaseBooking { booking, owner: BookingOwner::Payment(payment), reason: ReleaseReason::PaymentFailed };
    if step(app, sale, intent, action.into()).await?.is_some() {
        app.metrics.payments_released.inc();
        tracing::info!(%sale, %booking, "released: its payment was not made");
    }
    Ok(())
}
