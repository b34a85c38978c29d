//! Records where a payment can be made.

use super::{BookingState, Sale};
use crate::fields::fields;
use crate::{ApplyError, PaymentId, PaymentUrl, Position, Rejection};

/// Records where a payment can be made, as the gateway told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachPayment {
    /// For which booking.
    pub booking: Position,
    /// Its payment.
    pub payment: PaymentId,
    /// Where.
    pub url: PaymentUrl,
}

fields! {
    /// It is known where a payment can be made.
    pub struct PaymentAttached {
        /// For which booking.
        pub booking: Position,
        /// Its payment.
        pub payment: PaymentId,
        /// Where.
        pub url: PaymentUrl,
    }
}

impl AttachPayment {
    pub(crate) fn decide(&self, sale: &Sale) -> Result<PaymentAttached, Rejection> {
        let booking = sale.find_booking(self.booking)?;
        if booking.payment.as_ref() != Some(&self.payment) {
            return Err(Rejection::NotOwner);
        }
        match booking.state {
            BookingState::Paying | BookingState::Closing => {}
            BookingState::Paid => return Err(Rejection::AlreadyPaid),
            BookingState::Released => return Err(Rejection::AlreadyReleased),
            state @ BookingState::Admitted => return Err(Rejection::BookingNotPayable { state }),
        }
        if booking.url.as_ref() == Some(&self.url) {
            return Err(Rejection::NoChange);
        }
        Ok(PaymentAttached { booking: self.booking, payment: self.payment.clone(), url: self.url.clone() })
    }
}

impl PaymentAttached {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        let booking = sale.booking_mut(self.booking)?;
        if booking.payment.as_ref() != Some(&self.payment) {
            return Err(ApplyError::Inconsistent("payment"));
        }
        booking.url = Some(self.url.clone());
        Ok(())
    }
}
