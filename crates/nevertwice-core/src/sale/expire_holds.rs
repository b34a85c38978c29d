//! Ends named holds whose time has come.

use alloc::vec::Vec;

use super::{BookingState, Sale};
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::EXPIRE_HOLDS_MAX;
use crate::{ApplyError, Position, Rejection};

/// Ends named holds whose time has come: without a payment they are released, with one they become `closing` and wait for
/// what the gateway says. Bookings that are not due are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpireHolds {
    /// Which bookings, 1 to `EXPIRE_HOLDS_MAX`.
    pub bookings: Vec<Position>,
}

fields! {
    /// Holds came to their end.
    pub struct HoldsExpired {
        /// Which, and what became of them.
        pub holds: Vec<HoldEnd>,
    }
}

fields! {
    /// What became of one hold.
    pub struct HoldEnd {
        /// Which booking.
        pub booking: Position,
        /// Its seat.
        pub seat: u32,
        /// `Released`, or `Closing` where a payment is under way.
        pub state: BookingState,
    }
}

impl ExpireHolds {
    pub(crate) fn decide(&self, sale: &Sale, at_ms: i64) -> Result<HoldsExpired, Rejection> {
        in_range("bookings", self.bookings.len() as i64, 1, EXPIRE_HOLDS_MAX as i64)?;
        let mut holds: Vec<HoldEnd> = Vec::new();
        for id in &self.bookings {
            let Some(booking) = sale.booking(*id).filter(|booking| booking.is_due(at_ms)) else { continue };
            if holds.iter().any(|hold| hold.booking == *id) {
                continue;
            }
            let state = match booking.state {
                BookingState::Admitted => BookingState::Released,
                _ => BookingState::Closing,
            };
            if state == BookingState::Released {
                sale.check_release(booking)?;
            }
            holds.push(HoldEnd { booking: *id, seat: booking.seat, state });
        }
        if holds.is_empty() { Err(Rejection::NothingDue) } else { Ok(HoldsExpired { holds }) }
    }
}

impl super::Booking {
    /// Whether the hold's time is over and `ExpireHolds` has something to do with it.
    pub(crate) const fn is_due(&self, at_ms: i64) -> bool {
        matches!(self.state, BookingState::Admitted | BookingState::Paying) && at_ms >= self.hold_expires_at
    }
}

impl HoldsExpired {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        for hold in &self.holds {
            let booking = sale.booking(hold.booking).ok_or(ApplyError::Unknown("booking"))?;
            let before = match hold.state {
                BookingState::Released => BookingState::Admitted,
                BookingState::Closing => BookingState::Paying,
                _ => return Err(ApplyError::Inconsistent("hold")),
            };
            if booking.state != before || booking.seat != hold.seat {
                return Err(ApplyError::Inconsistent("hold"));
            }
        }
        for hold in &self.holds {
            match hold.state {
                BookingState::Released => sale.release(hold.booking)?,
                state => sale.booking_mut(hold.booking)?.state = state,
            }
        }
        Ok(())
    }
}
