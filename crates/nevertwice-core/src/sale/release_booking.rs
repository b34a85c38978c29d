//! Ends a booking released.

use super::{Booking, BookingState, Sale};
use crate::fields::{fields, words};
use crate::{ApplyError, IdempotencyKey, PaymentId, Position, Principal, Rejection};

/// Who may end a booking: who owns its seat now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookingOwner {
    /// The intent that was admitted; while no payment began.
    Intent {
        /// Whose intent.
        principal: Principal,
        /// Its key.
        key: IdempotencyKey,
    },
    /// The payment; once one began.
    Payment(PaymentId),
}

words! {
    /// Why a booking was released.
    pub enum ReleaseReason {
        /// Who booked gave it up.
        1 => Cancelled = "cancelled",
        /// The gateway told that the payment failed or was given up.
        2 => PaymentFailed = "payment_failed",
        /// An operator did it.
        3 => Operator = "operator",
        /// The hold's time was over and no payment had begun.
        4 => Expired = "expired",
    }
}

/// Ends a live booking released. Only its present owner can; a paid one stays paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseBooking {
    /// Which booking.
    pub booking: Position,
    /// On whose behalf.
    pub owner: BookingOwner,
    /// Why.
    pub reason: ReleaseReason,
}

fields! {
    /// A booking ended released; its seat is free.
    pub struct BookingReleased {
        /// Which booking.
        pub booking: Position,
        /// Its seat.
        pub seat: u32,
        /// Why.
        pub reason: ReleaseReason,
    }
}

impl BookingOwner {
    fn owns(&self, booking: &Booking) -> bool {
        match self {
            Self::Intent { principal, key } => booking.payment.is_none() && booking.principal == *principal && booking.key == *key,
            Self::Payment(payment) => booking.payment.as_ref() == Some(payment),
        }
    }
}

impl ReleaseBooking {
    pub(crate) fn decide(&self, sale: &Sale) -> Result<BookingReleased, Rejection> {
        let booking = sale.find_booking(self.booking)?;
        if !self.owner.owns(booking) {
            return Err(Rejection::NotOwner);
        }
        self.decide_for_owner(sale, booking)
    }

    /// The same without a look at who owns the booking.
    #[cfg(feature = "mutants")]
    pub(crate) fn decide_for_anybody(&self, sale: &Sale) -> Result<BookingReleased, Rejection> {
        self.decide_for_owner(sale, sale.find_booking(self.booking)?)
    }

    fn decide_for_owner(&self, sale: &Sale, booking: &Booking) -> Result<BookingReleased, Rejection> {
        match booking.state {
            BookingState::Paid => return Err(Rejection::AlreadyPaid),
            BookingState::Released => return Err(Rejection::AlreadyReleased),
            BookingState::Admitted | BookingState::Paying | BookingState::Closing => {}
        }
        sale.check_release(booking)?;
        Ok(BookingReleased { booking: self.booking, seat: booking.seat, reason: self.reason })
    }
}

impl BookingReleased {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        sale.release(self.booking)
    }
}
