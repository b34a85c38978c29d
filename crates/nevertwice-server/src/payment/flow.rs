//! The steps of a payment.

use nevertwice_api::{ErrorCode, Levels, wire};
use nevertwice_core::{
    Action, AttachPayment, BeginPayment, BookingState, BookingView, Command, ConfirmPayment, Decision, Event, Intent, Origin, PaymentId,
    Position, Query, Rejection, ShardId, View,
};
use tokio::time::timeout;

use super::{Closed, GatewayError, Session};
use crate::app::App;
use crate::convert;
use crate::own;
use crate::refusal::Refusal;

/// A booking as of a position.
pub(crate) struct BookingNow {
    pub(crate) view: BookingView,
    pub(crate) position: Position,
    pub(crate) levels: Levels,
}

/// What a confirmation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// The booking is paid, now or before.
    Paid,
    /// The booking had been released: the money has to be given back.
    TooLate,
}

/// Sees to it that a booking which can be paid has a payment and its page; whoever comes first does it. If that fails, the
/// refusal says that the seat is held all the same.
pub(crate) async fn ensure(
    app: &App,
    sale: &ShardId,
    now: BookingNow,
    levels: Levels,
    origin: Option<&Origin>,
) -> Result<BookingNow, Refusal> {
    let held = wire::Booking::from(&now.view);
    steps(app, sale, now, levels, origin).await.map_err(|refusal| match refusal.code() {
        // These say by themselves what was done.
        ErrorCode::GatewayFailed | ErrorCode::Internal => refusal,
        _ => refusal
            .but_done(
                &format!("Seat {} is held for the candidate, and there is no page for its payment yet", held.seat),
                "Ask again with the same key, which goes on from here",
            )
            .figure("booking", held),
    })
}

async fn steps(app: &App, sale: &ShardId, mut now: BookingNow, levels: Levels, origin: Option<&Origin>) -> Result<BookingNow, Refusal> {
    if now.view.state == BookingState::Admitted {
        now = begin(app, sale, now, levels, origin).await?;
    }
    let is_payable = matches!(now.view.state, BookingState::Paying | BookingState::Closing);
    match now.view.payment.clone() {
        Some(payment) if is_payable && now.view.url.is_none() => attach(app, sale, now, payment, levels, origin).await,
        _ => Ok(now),
    }
}

async fn begin(app: &App, sale: &ShardId, mut now: BookingNow, levels: Levels, origin: Option<&Origin>) -> Result<BookingNow, Refusal> {
    let booking = now.view.booking;
    let intent = own::intent("begin_payment", &booking.to_string())?;
    let answer = app.submit(sale.clone(), from(origin, intent, BeginPayment { booking }), levels).await?;
    match answer.decision {
        Decision::Accepted(entry) => {
            let [Event::PaymentBegun(event)] = entry.events.as_slice() else {
                return Err(Refusal::internal("an entry of another kind than its command"));
            };
            now.view.state = BookingState::Paying;
            now.view.payment = Some(event.payment.clone());
            Ok(BookingNow { view: now.view, position: answer.position, levels: answer.levels })
        }
        Decision::Replayed(_) => read(app, sale, booking).await,
        Decision::Rejected(rejection) if is_about_state(&rejection) => read(app, sale, booking).await,
        Decision::Rejected(rejection) => Err(convert::refuse(&rejection, answer.position)),
    }
}

/// A step of the server's on behalf of a request.
fn from(origin: Option<&Origin>, intent: Intent, action: impl Into<Action>) -> Command {
    Command::new(intent, action).with_origin(origin.cloned().map(Box::new))
}

/// Whether somebody else was there first, or the hold has ended: then it counts how the booking is now.
const fn is_about_state(rejection: &Rejection) -> bool {
    matches!(
        rejection,
        Rejection::HoldExpired { .. }
            | Rejection::BookingNotPayable { .. }
            | Rejection::AlreadyPaid
            | Rejection::AlreadyReleased
            | Rejection::NoChange
    )
}

async fn attach(
    app: &App,
    sale: &ShardId,
    mut now: BookingNow,
    payment: PaymentId,
    levels: Levels,
    origin: Option<&Origin>,
) -> Result<BookingNow, Refusal> {
    let booking = now.view.booking;
    let session = Session { sale: sale.name.clone(), payment: payment.clone() };
    let url = ask(app, app.gateway.create(session)).await.map_err(|error| {
        Refusal::with_detail(
            ErrorCode::GatewayFailed,
            format!(
                "There is no page for the payment yet: {error}. The seat is held. Ask again with the same key, which goes on from here."
            ),
        )
        .figure("booking", wire::Booking::from(&now.view))
        .at(now.position)
    })?;
    let intent = own::intent("attach_payment", &booking.to_string())?;
    let action = AttachPayment { booking, payment, url: url.clone() };
    let answer = app.submit(sale.clone(), from(origin, intent, action), levels).await?;
    match answer.decision {
        Decision::Accepted(_) => {
            now.view.url = Some(url);
            Ok(BookingNow { view: now.view, position: answer.position, levels: answer.levels })
        }
        Decision::Replayed(_) => read(app, sale, booking).await,
        Decision::Rejected(rejection) if is_about_state(&rejection) => read(app, sale, booking).await,
        Decision::Rejected(rejection) => Err(convert::refuse(&rejection, answer.position)),
    }
}

/// How the booking is now.
pub(crate) async fn read(app: &App, sale: &ShardId, booking: Position) -> Result<BookingNow, Refusal> {
    let read = app.read(sale.clone(), Query::Booking { booking }, None).await?;
    match read.view {
        View::Booking(view) => Ok(BookingNow { view, position: read.position, levels: read.levels }),
        _ => Err(Refusal::internal("a view of another kind than its query")),
    }
}

/// Ends a booking paid, on the gateway's word. It may be asked from several sides and as often as they like.
pub(crate) async fn confirm(app: &App, sale: &ShardId, booking: Position, payment: &PaymentId) -> Result<Confirmation, Refusal> {
    let intent = own::intent("confirm", payment.as_str())?;
    let action = ConfirmPayment { booking, payment: payment.clone() };
    let answer = app.submit(sale.clone(), Command::new(intent, action), Levels::NONE).await?;
    match answer.decision {
        Decision::Accepted(_) | Decision::Replayed(_) | Decision::Rejected(Rejection::AlreadyPaid) => Ok(Confirmation::Paid),
        Decision::Rejected(Rejection::AlreadyReleased) => Ok(Confirmation::TooLate),
        Decision::Rejected(rejection) => Err(convert::refuse(&rejection, answer.position)),
    }
}

/// Closes a payment at the gateway, and tells whether it had been made.
pub(crate) async fn close_payment(app: &App, sale: &ShardId, payment: &PaymentId) -> Result<Closed, Refusal> {
    let session = Session { sale: sale.name.clone(), payment: payment.clone() };
    ask(app, app.gateway.close(session)).await.map_err(|error| {
        Refusal::with_detail(
            ErrorCode::GatewayFailed,
            format!("The payment could not be closed: {error}. The booking keeps its seat, since it might still be paid. Ask again with the same key."),
        )
    })
}

/// Waits for the gateway, but not for ever.
pub(crate) async fn ask<T>(app: &App, answer: impl Future<Output = Result<T, GatewayError>>) -> Result<T, GatewayError> {
    match timeout(app.limits.answer_deadline, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(GatewayError("it did not answer in time".to_owned())),
    }
}
