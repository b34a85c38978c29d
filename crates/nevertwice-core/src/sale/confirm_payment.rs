//! Ends a booking paid.

use super::{BookingState, Sale};
use crate::fields::fields;
use crate::{ApplyError, PaymentId, Position, Rejection};

/// Ends a booking paid, on the gateway's word for that payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmPayment {
    /// Which booking.
    pub booking: Position,
    /// By which payment.
    pub payment: PaymentId,
}

fields! {
    /// A booking ended paid.
    pub struct PaymentConfirmed {
        /// Which booking.
        pub booking: Position,
        /// By which payment.
        pub payment: PaymentId,
    }
}

impl ConfirmPayment {
    pub(crate) fn decide(&self, sale: &Sale) -> Result<PaymentConfirmed, Rejection> {
        let booking = sale.find_booking(self.booking)?;
        if booking.payment.as_ref() != Some(&self.payment) {
            return Err(Rejection::NotOwner);
        }
        match booking.state {
            BookingState::Paying | BookingState::Closing => Ok(PaymentConfirmed { booking: self.booking, payment: self.payment.clone() }),
            BookingState::Paid => Err(Rejection::AlreadyPaid),
            BookingState::Released => Err(Rejection::AlreadyReleased),
            state @ BookingState::Admitted => Err(Rejection::BookingNotPayable { state }),
        }
    }
}

impl PaymentConfirmed {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        let booking = sale.booking_mut(self.booking)?;
        let payable = matches!(booking.state, BookingState::Paying | BookingState::Closing);
        if !payable || booking.payment.as_ref() != Some(&self.payment) {
            return Err(ApplyError::Inconsistent("payment"));
        }
        booking.state = BookingState::Paid;
        Ok(())
    }
}
