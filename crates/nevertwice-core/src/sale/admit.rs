//! Admits a candidate to a seat.

use alloc::boxed::Box;

use super::{Booking, BookingState, CandidateId, Sale};
use crate::fields::fields;
use crate::limits::BOOKINGS_MAX;
use crate::{ApplyError, Entry, Intent, Name, Position, Rejection};

/// Admits a candidate to the lowest free seat of a sale, on a level. The seat is held until the hold's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admit {
    /// The keyed digest of the code.
    pub candidate: CandidateId,
    /// The keyed digest of the e-mail address that was given; needed where the list has one.
    pub email: Option<[u8; 32]>,
    /// On which level.
    pub level: Name,
}

fields! {
    /// A candidate was admitted. The entry's position is the booking's id.
    pub struct CandidateAdmitted {
        /// Who.
        pub candidate: CandidateId,
        /// On which level.
        pub level: Name,
        /// To which seat.
        pub seat: u32,
        /// Until when the seat is held.
        pub hold_expires_at: i64,
        /// Live bookings on the level after.
        pub level_live: i64,
        /// Live bookings of the sale after.
        pub live: i64,
    }
}

impl Admit {
    pub(crate) fn decide(&self, sale: &Sale, at_ms: i64) -> Result<CandidateAdmitted, Rejection> {
        let candidate = sale.candidate(&self.candidate);
        if let Some(booking) = candidate.and_then(|candidate| candidate.booking).and_then(|id| sale.booking(id)) {
            return Err(Rejection::AlreadyBooked { booking: Box::new(booking.view()) });
        }
        if !sale.open {
            return Err(Rejection::SaleClosed);
        }
        if at_ms < sale.terms.opens_at {
            return Err(Rejection::SaleNotStarted { opens_at: sale.terms.opens_at });
        }
        if at_ms >= sale.terms.closes_at {
            return Err(Rejection::SaleEnded { closed_at: sale.terms.closes_at });
        }
        let candidate = candidate.ok_or(Rejection::UnknownCandidate)?;
        if candidate.email.is_some() && candidate.email != self.email {
            return Err(Rejection::EmailMismatch);
        }
        let (number, level) = sale.level(&self.level).ok_or(Rejection::UnknownLevel)?;
        if candidate.levels.checked_shr(number).unwrap_or(0) & 1 == 0 {
            return Err(Rejection::LevelNotAllowed);
        }
        if let Some(cap) = level.cap.filter(|cap| level.live >= *cap) {
            return Err(Rejection::LevelFull { cap });
        }
        if sale.live >= sale.total_cap {
            return Err(Rejection::SaleFull { cap: sale.total_cap });
        }
        if sale.bookings().len() >= BOOKINGS_MAX {
            return Err(Rejection::BookingsFull);
        }
        Ok(CandidateAdmitted {
            candidate: self.candidate,
            level: self.level.clone(),
            seat: sale.lowest_free_seat(),
            hold_expires_at: at_ms.saturating_add(sale.terms.hold_ms),
            level_live: level.live.saturating_add(1),
            live: sale.live.saturating_add(1),
        })
    }
}

impl CandidateAdmitted {
    pub(crate) fn apply(&self, sale: &mut Sale, entry: &Entry) -> Result<(), ApplyError> {
        let Entry { position, intent: Intent { principal, key, .. }, .. } = entry;
        let (number, level) = sale.level(&self.level).ok_or(ApplyError::Unknown("level"))?;
        let counted = level.live.checked_add(1) == Some(self.level_live) && sale.live.checked_add(1) == Some(self.live);
        let candidate = sale.candidate(&self.candidate).ok_or(ApplyError::Unknown("candidate"))?;
        if !counted || candidate.booking.is_some() || sale.booking(*position).is_some() {
            return Err(ApplyError::Inconsistent("admission"));
        }
        sale.take_seat(self.seat)?;
        if let Some(level) = sale.levels.get_mut(number as usize) {
            level.live = self.level_live;
        }
        sale.live = self.live;
        sale.candidate_mut(&self.candidate)?.booking = Some(*position);
        sale.add_booking(Booking {
            id: *position,
            candidate: self.candidate,
            level: self.level.clone(),
            seat: self.seat,
            state: BookingState::Admitted,
            principal: principal.clone(),
            key: key.clone(),
            hold_expires_at: self.hold_expires_at,
            payment: None,
            url: None,
        });
        Ok(())
    }
}

impl Sale {
    /// The live booking of a candidate.
    pub(crate) fn booking_of(&self, candidate: &CandidateId) -> Option<&Booking> {
        let id: Position = self.candidate(candidate)?.booking?;
        self.booking(id)
    }
}
