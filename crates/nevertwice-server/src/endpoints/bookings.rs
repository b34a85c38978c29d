//! Bookings: the doors, and what comes after them.

use axum::http::StatusCode;
use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::{
    self as core, BookingOwner, BookingState, BookingView, IdempotencyKey, PaymentId, Query, ReleaseReason, ScanCursor, ShardId, View,
};

use super::shared::{decide, read};
use crate::access::Role;
use crate::body;
use crate::call::{Call, CommandCall, read_name};
use crate::convert::{code, email};
use crate::intent;
use crate::payment::{Closed, close_payment, confirm};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::{booking, honeypot};

pub(crate) async fn book(call: Call) -> Result<Reply, Refusal> {
    let sale = call.sale()?;
    let call = call.command().await?;
    let asked: wire::Book = call.body()?;
    let key = call.app.sale_key(&sale.name);
    let code = code(&asked.code)?;
    let level = read_name("level", &asked.level)?;
    let email = email(&key, asked.email.as_deref())?;
    let intent = call.intent(&["book", sale.name.as_str()])?;
    if asked.website.as_ref().is_some_and(|website| !website.is_empty()) {
        let answer = honeypot::answer(&call.app, &sale, &key.candidate(&code), &level, &intent).await?;
        return Reply::command(&answer, StatusCode::CREATED, false);
    }
    let admit = core::Admit { candidate: key.candidate(&code), email, level };
    let CommandCall { app, levels, .. } = call;
    // From here on the work goes on, whatever becomes of who asked.
    let work = app.work.clone();
    let booked = tokio::spawn(async move {
        let booked = booking::book(&app, sale, intent, admit, levels).await;
        drop(work);
        booked
    });
    let answer = booked.await.map_err(|_| Refusal::internal("a booking that panicked"))??;
    Reply::command(&answer, StatusCode::CREATED, answer.replayed)
}

pub(crate) async fn show(call: Call) -> Result<Reply, Refusal> {
    let (sale, booking, level) = (call.sale()?, call.position("booking")?, call.parameters(&["level"])?.level()?);
    read(&call, sale, Query::Booking { booking }, level, |view| match view {
        View::Booking(view) => Some(wire::Booking::from(&view)),
        _ => None,
    })
    .await
}

pub(crate) async fn page(call: Call) -> Result<Reply, Refusal> {
    let (sale, parameters) = (call.sale()?, call.parameters(&["cursor", "level"])?);
    let cursor = ScanCursor(parameters.number("cursor")?.unwrap_or(0));
    read(&call, sale, Query::Bookings { cursor }, parameters.level()?, |view| match view {
        View::Bookings(bookings, next) => {
            Some(wire::BookingPage { bookings: bookings.iter().map(wire::Booking::from).collect(), next: next.map(|cursor| cursor.0) })
        }
        _ => None,
    })
    .await
}

pub(crate) async fn confirm_payment(call: Call) -> Result<Reply, Refusal> {
    let (sale, booking) = (call.sale()?, call.position("booking")?);
    let call = call.command().await?;
    let body: wire::Confirm = call.body()?;
    let (name, id) = (sale.name.clone(), booking.to_string());
    let action = core::ConfirmPayment { booking, payment: read_payment(&body.payment)? };
    decide::<wire::Confirmed>(&call, sale, &[name.as_str(), &id], action.into(), StatusCode::OK).await
}

pub(crate) async fn release(call: Call) -> Result<Reply, Refusal> {
    let (sale, booking) = (call.sale()?, call.position("booking")?);
    let call = call.command().await?;
    let body: wire::Release = call.body()?;
    let owner = match (&body.payment, &body.booked_with) {
        (Some(payment), None) => Some(BookingOwner::Payment(read_payment(payment)?)),
        (None, Some(key)) => Some(BookingOwner::Intent { principal: call.caller.principal.clone(), key: read_key(key)? }),
        (None, None) if call.caller.role == Role::Operator => None,
        _ => return Err(body::invalid("payment", "exactly one of `payment` and `booked_with` has to be there")),
    };
    let present = present_booking(&call, sale.clone(), booking).await?;
    let (owner, reason) = match owner {
        Some(owner) => (owner, ReleaseReason::Cancelled),
        // An operator releases on behalf of whoever owns the booking now.
        None => (present_owner(&present), ReleaseReason::Operator),
    };
    close_before_release(&call, &sale, &present, &owner).await?;
    let (name, id) = (sale.name.clone(), booking.to_string());
    let action = core::ReleaseBooking { booking, owner, reason };
    decide::<wire::Released>(&call, sale, &[name.as_str(), &id], action.into(), StatusCode::OK).await
}

async fn present_booking(call: &CommandCall, sale: ShardId, booking: core::Position) -> Result<BookingView, Refusal> {
    match call.app.read(sale, Query::Booking { booking }, None).await?.view {
        View::Booking(view) => Ok(view),
        _ => Err(Refusal::internal("a view of another kind than its query")),
    }
}

fn present_owner(booking: &BookingView) -> BookingOwner {
    match &booking.payment {
        Some(payment) => BookingOwner::Payment(payment.clone()),
        None => BookingOwner::Intent { principal: booking.principal.clone(), key: booking.key.clone() },
    }
}

/// A seat is given back only once its payment can't be paid any more.
async fn close_before_release(call: &CommandCall, sale: &ShardId, present: &BookingView, owner: &BookingOwner) -> Result<(), Refusal> {
    let BookingOwner::Payment(payment) = owner else { return Ok(()) };
    let is_payable = matches!(present.state, BookingState::Paying | BookingState::Closing);
    if !is_payable || present.payment.as_ref() != Some(payment) {
        return Ok(());
    }
    match close_payment(&call.app, sale, payment).await? {
        Closed::Unpaid => Ok(()),
        Closed::Paid => {
            confirm(&call.app, sale, present.booking, payment).await?;
            Err(Refusal::with_detail(
                ErrorCode::AlreadyPaid,
                "The gateway says that the payment was made. The booking was confirmed as paid, and not released. There is nothing to do; a paid seat is not released.",
            ))
        }
    }
}

fn read_payment(text: &str) -> Result<PaymentId, Refusal> {
    PaymentId::new(text).map_err(|error| body::invalid("payment", format_args!("it is not the id of a payment: {error}")))
}

fn read_key(text: &str) -> Result<IdempotencyKey, Refusal> {
    intent::plain_key(text)
}
