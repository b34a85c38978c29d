//! What a payment gateway has to do for us.

use std::fmt;

use nevertwice_api::BoxFuture;
use nevertwice_core::{Name, PaymentId, PaymentUrl};

/// A payment at the gateway. Its id is the idempotency key there: who asks twice gets the same page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Of which sale.
    pub sale: Name,
    /// Which payment.
    pub payment: PaymentId,
}

/// How far a payment is, in the gateway's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentStatus {
    /// It can still be made.
    Open,
    /// It was made.
    Paid,
    /// It was refused, or given up by who should have paid. It may still be tried again until it is closed.
    Declined,
}

/// How a payment ended when it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It was not made, and can't be any more.
    Unpaid,
    /// It had been made.
    Paid,
}

/// The gateway gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayError(pub String);

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the payment gateway gave no usable answer: {}", self.0)
    }
}

impl std::error::Error for GatewayError {}

/// A payment gateway.
pub trait PaymentGateway: Send + Sync + 'static {
    /// Makes the page where the payment can be made, or finds the one that was made before.
    fn create(&self, session: Session) -> BoxFuture<'static, Result<PaymentUrl, GatewayError>>;

    /// Tells how far the payment is.
    fn status(&self, session: Session) -> BoxFuture<'static, Result<PaymentStatus, GatewayError>>;

    /// Sees to it that the payment can't be made any more, and tells whether it had been. Only then may its seat be given
    /// back.
    fn close(&self, session: Session) -> BoxFuture<'static, Result<Closed, GatewayError>>;
}
