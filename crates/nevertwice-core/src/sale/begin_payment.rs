//! Records that a payment is about to be asked for.

use alloc::format;

use super::{BookingState, Sale};
use crate::fields::fields;
use crate::{ApplyError, PaymentId, Position, Rejection, ShardId};

/// Records that a payment is about to be asked for, before the gateway is called: so that anyone can find and close a
/// session whose request died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginPayment {
    /// For which booking.
    pub booking: Position,
}

fields! {
    /// A payment is about to be asked for; from now on it owns the booking.
    pub struct PaymentBegun {
        /// For which booking.
        pub booking: Position,
        /// Its id, which is the idempotency key at the gateway.
        pub payment: PaymentId,
    }
}

impl PaymentId {
    /// The payment of a booking: made from the booking's entry, so that whoever makes it again makes the same.
    #[must_use]
    pub fn of(shard: &ShardId, booking: Position) -> Option<Self> {
        Self::new(&format!("{}.{booking}", shard.name)).ok()
    }
}

impl BeginPayment {
    pub(crate) fn decide(&self, sale: &Sale, shard: &ShardId, at_ms: i64) -> Result<PaymentBegun, Rejection> {
        let booking = sale.find_booking(self.booking)?;
        match booking.state {
            BookingState::Admitted => {}
            BookingState::Paid => return Err(Rejection::AlreadyPaid),
            BookingState::Released => return Err(Rejection::AlreadyReleased),
            state => return Err(Rejection::BookingNotPayable { state }),
        }
        if at_ms >= booking.hold_expires_at {
            return Err(Rejection::HoldExpired { hold_expires_at: booking.hold_expires_at });
        }
        let payment = PaymentId::of(shard, self.booking).ok_or(Rejection::InvariantBroken { what: "payment id" })?;
        Ok(PaymentBegun { booking: self.booking, payment })
    }
}

impl PaymentBegun {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        let booking = sale.booking_mut(self.booking)?;
        if booking.state != BookingState::Admitted {
            return Err(ApplyError::Inconsistent("payment"));
        }
        booking.state = BookingState::Paying;
        booking.payment = Some(self.payment.clone());
        Ok(())
    }
}
