//! Bookings: the doors, and what comes after them.

use axum::http::StatusCode;
use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::{
    self as core, BookingOwner, BookingState, BookingView, CandidateId, IdempotencyKey, PaymentId, Position, Query, ReleaseReason,
    ScanCursor, ShardId, View,
};

use super::shared::{decide, is_new, read};
use crate::access::Role;
use crate::app::{App, ReadOf};
use crate::body;
use crate::call::{Call, CommandCall, read_name};
use crate::convert::{code, email};
use crate::intent;
use crate::payment::{BookingNow, Closed, close_payment, confirm, read_booking};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::{booking, honeypot};

pub(crate) async fn book(call: Box<Call>) -> Result<Reply, Refusal> {
    let sale = call.sale()?;
    let call = call.command().await?;
    let mut asked: wire::Book = call.body()?;
    // The field is no part of what is asked: a retry in which a browser filled it in is a retry.
    let is_filled_in = asked.website.take().is_some_and(|website| !website.is_empty());
    let key = call.app.sale_key(&sale.name);
    let code = code(&asked.code)?;
    let level = read_name("level", &asked.level)?;
    let email = email(&key, asked.email.as_deref())?;
    let intent = call.intent_to_book(&sale.name, &asked, &code, &key)?;
    let candidate = key.candidate(&code);
    if is_filled_in && !has_booking(&call.app, &sale, candidate).await? {
        let answer = honeypot::answer(&call.app, &sale, &candidate, &level, &intent).await?;
        return Reply::feigned(&answer, StatusCode::CREATED, answer.replayed);
    }
    let admit = core::Admit { candidate, email, level };
    let command = call.of(intent, admit);
    let CommandCall { app, levels, caller, .. } = call;
    let person = (caller.role == Role::Principal).then_some(caller.principal);
    let steps = {
        let app = app.clone();
        async move { booking::book(&app, sale, command, levels, person).await }
    };
    let answer = app.see_through(steps).await?;
    Ok(Reply::command(&answer, StatusCode::CREATED, answer.replayed)?.at(answer.result.position.parse().ok()))
}

/// Whether the candidate has a live booking: whoever has one passes the doors.
async fn has_booking(app: &App, sale: &ShardId, candidate: CandidateId) -> Result<bool, Refusal> {
    match app.read(sale.clone(), Query::BookingOf { candidate }, None).await {
        Ok(_) => Ok(true),
        Err(refusal) if refusal.code() == ErrorCode::UnknownBooking => Ok(false),
        Err(refusal) => Err(refusal),
    }
}

pub(crate) async fn show(call: Box<Call>) -> Result<Reply, Refusal> {
    let (sale, booking, level) = (call.sale()?, call.position("booking")?, call.parameters(&["level"])?.level()?);
    let ReadOf { view, position, levels } = call.app.read(sale, Query::Booking { booking }, level).await?;
    let View::Booking(view) = view else { return Err(Refusal::internal("a view of another kind than its query")) };
    call.caller.check_booking(&view, position)?;
    Reply::read(&wire::Read::new(wire::Booking::from(&view), position, levels))
}

pub(crate) async fn page(call: Box<Call>) -> Result<Reply, Refusal> {
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

pub(crate) async fn confirm_payment(call: Box<Call>) -> Result<Reply, Refusal> {
    let (sale, booking) = (call.sale()?, call.position("booking")?);
    let call = call.command().await?;
    let body: wire::Confirm = call.body()?;
    let (name, id) = (sale.name.clone(), booking.to_string());
    let action = core::ConfirmPayment { booking, payment: read_payment(&body.payment)? };
    let app = call.app.clone();
    // The alarm has to come even if whoever confirms does not wait for the answer.
    app.see_through(async move {
        let answer = decide::<wire::Confirmed>(&call, sale, &[name.as_str(), &id], action.into(), StatusCode::OK).await;
        if answer.as_ref().is_err_and(|refusal| refusal.code() == ErrorCode::AlreadyReleased) {
            call.app.metrics.late_payments.inc();
            tracing::error!(sale = %name, booking = %id, "confirmed after its seat had been given back: to be refunded");
        }
        answer
    })
    .await
}

pub(crate) async fn release(call: Box<Call>) -> Result<Reply, Refusal> {
    let (sale, booking) = (call.sale()?, call.position("booking")?);
    let call = call.command().await?;
    let body: wire::Release = call.body()?;
    let owner = match (&body.payment, &body.booked_with) {
        (Some(payment), None) => Some(BookingOwner::Payment(read_payment(payment)?)),
        (None, Some(key)) => Some(BookingOwner::Intent { principal: call.caller.principal.clone(), key: read_key(key)? }),
        (None, None) if call.caller.role == Role::Operator => None,
        _ => return Err(body::invalid("payment", "exactly one of `payment` and `booked_with` has to be there")),
    };
    let app = call.app.clone();
    // Once its payment is closed, a booking has to be released: nobody could pay for it any more.
    app.see_through(async move { close_and_release(&call, sale, booking, owner).await }).await
}

async fn close_and_release(call: &CommandCall, sale: ShardId, booking: Position, owner: Option<BookingOwner>) -> Result<Reply, Refusal> {
    let (name, id) = (sale.name.clone(), booking.to_string());
    let BookingNow { view: present, position, .. } = read_booking(&call.app, &sale, booking).await?;
    call.caller.check_booking(&present, position)?;
    let (owner, reason) = match owner {
        Some(owner) => (owner, ReleaseReason::Cancelled),
        // An operator releases on behalf of whoever owns the booking now.
        None => (present_owner(&present), ReleaseReason::Operator),
    };
    let operation = ["release_booking", name.as_str(), &id];
    let closed = is_new(call, &sale, &operation).await? && close_before_release(call, &sale, &present, &owner).await?;
    let action = core::ReleaseBooking { booking, owner, reason };
    let answer = decide::<wire::Released>(call, sale, &operation[1..], action.into(), StatusCode::OK).await;
    if !closed {
        return answer;
    }
    answer.map_err(|refusal| {
        refusal.but_done(
            "The payment was closed at the gateway and can't be made any more; the booking may still have its seat",
            "Ask again with the same key; what is left is released at the end of its hold",
        )
    })
}

fn present_owner(booking: &BookingView) -> BookingOwner {
    match &booking.payment {
        Some(payment) => BookingOwner::Payment(payment.clone()),
        None => BookingOwner::Intent { principal: booking.principal.clone(), key: booking.key.clone() },
    }
}

/// A seat is given back only once its payment can't be made any more. `true`: there was one, and it was closed.
async fn close_before_release(call: &CommandCall, sale: &ShardId, present: &BookingView, owner: &BookingOwner) -> Result<bool, Refusal> {
    let BookingOwner::Payment(payment) = owner else { return Ok(false) };
    let is_payable = matches!(present.state, BookingState::Paying | BookingState::Closing);
    if !is_payable || present.payment.as_ref() != Some(payment) {
        return Ok(false);
    }
    match close_payment(&call.app, sale, payment).await? {
        Closed::Unpaid => Ok(true),
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
