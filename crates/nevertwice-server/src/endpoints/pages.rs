//! Pages for people: the sandbox's, and one about each error code.

use axum::http::StatusCode;
use nevertwice_api::ErrorCode;
use nevertwice_core::{BookingState, BookingView, PaymentId, Position, Query, ShardId, View};

use crate::call::Call;
use crate::payment::{Confirmation, Mark, Sandbox, Shown, confirm, page};
use crate::refusal::Refusal;
use crate::reply::Reply;

/// The page of a payment, and what is behind it.
struct Payment {
    sale: ShardId,
    payment: PaymentId,
    booking: BookingView,
}

/// The sandbox, whose pages these are. Where payments are made at another gateway, there are none.
fn sandbox(call: &Call) -> Result<&Sandbox, Refusal> {
    call.app.sandbox.as_deref().ok_or_else(|| {
        Refusal::new(
            ErrorCode::RouteUnknown,
            "There is no sandbox here: payments are made at another gateway",
            "Use the address that the booking's answer gave you",
        )
    })
}

pub(crate) async fn payment(call: Box<Call>) -> Result<Reply, Refusal> {
    let sandbox = sandbox(&call)?;
    let Some(found) = find(&call).await? else { return Ok(show(&call, Shown::Unknown)) };
    let mark = sandbox.mark(&found.payment);
    let shown = match (found.booking.state, mark) {
        (BookingState::Paid, _) => Shown::Paid,
        (_, Some(Mark::Refund)) => Shown::TooLate,
        (BookingState::Released, _) => Shown::Released,
        (_, Some(Mark::Closed)) => Shown::Closed,
        (_, Some(Mark::Paid)) => Shown::NotKnownYet,
        (_, Some(Mark::Declined)) => Shown::Declined,
        (_, None) => Shown::Open,
    };
    Ok(show(&call, shown))
}

pub(crate) async fn pay(call: Box<Call>) -> Result<Reply, Refusal> {
    let app = call.app.clone();
    // What was paid is confirmed, or its alarm raised, even if whoever paid has gone.
    app.see_through(async move { pay_and_confirm(&call).await }).await
}

async fn pay_and_confirm(call: &Call) -> Result<Reply, Refusal> {
    let sandbox = sandbox(call)?;
    let Some(found) = find(call).await? else { return Ok(show(call, Shown::Unknown)) };
    let app = &call.app;
    if found.booking.state == BookingState::Paid {
        return Ok(show(call, Shown::Paid));
    }
    if !sandbox.pay(&found.payment) {
        return Ok(show(call, Shown::Closed));
    }
    let shown = match confirm(app, &found.sale, found.booking.booking, &found.payment).await {
        Ok(Confirmation::Paid) => Shown::Paid,
        Ok(Confirmation::TooLate) => {
            if sandbox.refund(&found.payment) {
                app.metrics.late_payments.inc();
                tracing::error!(payment = %found.payment, "paid after its seat had been given back: to be refunded");
            }
            Shown::TooLate
        }
        Err(refusal) => {
            tracing::warn!(payment = %found.payment, code = %refusal.code(), "a payment that was made could not be confirmed yet");
            Shown::NotKnownYet
        }
    };
    Ok(show(call, shown))
}

pub(crate) async fn decline(call: Box<Call>) -> Result<Reply, Refusal> {
    let sandbox = sandbox(&call)?;
    let Some(found) = find(&call).await? else { return Ok(show(&call, Shown::Unknown)) };
    match found.booking.state {
        BookingState::Paid | BookingState::Released => {}
        _ if sandbox.decline(&found.payment) => return Ok(show(&call, Shown::Declined)),
        _ => {}
    }
    payment(call).await
}

/// A payment's id says which booking it is of; only the booking says whether there is such a payment.
async fn find(call: &Call) -> Result<Option<Payment>, Refusal> {
    let sale = call.sale()?;
    let text = call.path_text("payment");
    let booking =
        text.strip_prefix(sale.name.as_str()).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.parse::<Position>().ok());
    let (Some(booking), Ok(payment)) = (booking, PaymentId::new(text)) else { return Ok(None) };
    match call.app.read(sale.clone(), Query::Booking { booking }, None).await {
        Ok(read) => match read.view {
            View::Booking(booking) if booking.payment.as_ref() == Some(&payment) => Ok(Some(Payment { sale, payment, booking })),
            _ => Ok(None),
        },
        Err(refusal) if matches!(refusal.code(), ErrorCode::UnknownBooking | ErrorCode::UnknownSale) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn show(call: &Call, shown: Shown) -> Reply {
    let (sale, payment) = (call.path_text("sale"), call.path_text("payment"));
    let status = match shown {
        Shown::Open | Shown::Declined | Shown::Paid | Shown::Released => StatusCode::OK,
        Shown::Closed | Shown::TooLate => StatusCode::CONFLICT,
        Shown::NotKnownYet => StatusCode::SERVICE_UNAVAILABLE,
        Shown::Unknown => StatusCode::NOT_FOUND,
    };
    Reply::page(status, page(shown, &format!("/sandbox/payments/{sale}/{payment}"), sale, payment))
}

pub(crate) async fn error_page(call: Box<Call>) -> Result<Reply, Refusal> {
    let code: ErrorCode = call.path_text("code").parse().map_err(|_| {
        Refusal::new(ErrorCode::RouteUnknown, "There is no error of that code", "Take the path from the `type` of a problem")
    })?;
    let mut body = String::new();
    pulldown_cmark::html::push_html(&mut body, pulldown_cmark::Parser::new(code.page()));
    let html = maud::html! {
        (maud::DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (code.code()) }
                style { "body{max-width:44rem;margin:3rem auto;padding:0 1rem;font:16px/1.6 system-ui,sans-serif;color-scheme:light dark}code{font-size:.95em}" }
            }
            body {
                (maud::PreEscaped(body))
                hr;
                p { "Status " (code.status()) ". " @if code.retryable() { "The same request with the same key may get another answer soon." } @else { "The same request will get the same answer until something changes." } }
            }
        }
    };
    Ok(Reply::page(StatusCode::OK, html.into_string()))
}
