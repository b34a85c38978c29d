//! Payments: what a gateway has to do, the sandbox of our own, and the steps of a payment.

mod flow;
mod gateway;
mod pages;
mod sandbox;

pub(crate) use flow::{BookingNow, Confirmation, ask, close_payment, confirm, ensure, read as read_booking};
pub use gateway::{Closed, GatewayError, PaymentGateway, PaymentStatus, Session};
pub(crate) use pages::{Shown, page};
pub(crate) use sandbox::{Mark, Sandbox};
