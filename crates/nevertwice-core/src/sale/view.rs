//! What a sale shows of itself.

use alloc::vec::Vec;

use super::{Booking, BookingState, CandidateId, Sale};
use crate::{IdempotencyKey, Name, PaymentId, PaymentUrl, Position, Principal};

/// A sale's own figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaleView {
    /// Whether its doors are open.
    pub open: bool,
    /// When its window begins.
    pub opens_at: i64,
    /// When its window ends.
    pub closes_at: i64,
    /// How long a hold lasts, in milliseconds.
    pub hold_ms: i64,
    /// The most live bookings.
    pub total_cap: i64,
    /// Live bookings.
    pub live: i64,
    /// Its levels.
    pub levels: Vec<LevelView>,
    /// Candidates on the list.
    pub candidates: usize,
    /// Bookings ever made.
    pub bookings: usize,
}

/// A level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelView {
    /// Its name.
    pub level: Name,
    /// The most live bookings; none: the total bounds it.
    pub cap: Option<i64>,
    /// Live bookings.
    pub live: i64,
}

/// A booking, live or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingView {
    /// The position of its admission.
    pub booking: Position,
    /// Whose it is.
    pub candidate: CandidateId,
    /// On which level.
    pub level: Name,
    /// Its seat.
    pub seat: u32,
    /// How far it is.
    pub state: BookingState,
    /// Who asked for it.
    pub principal: Principal,
    /// With which key.
    pub key: IdempotencyKey,
    /// When the hold ends.
    pub hold_expires_at: i64,
    /// Its payment, once it began.
    pub payment: Option<PaymentId>,
    /// Where it can be paid, once that is known.
    pub url: Option<PaymentUrl>,
}

/// A page of holds whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueHolds {
    /// Bookings that `ExpireHolds` has something to do with.
    pub bookings: Vec<Position>,
}

impl Sale {
    pub(crate) fn view(&self) -> SaleView {
        SaleView {
            open: self.open,
            opens_at: self.terms.opens_at,
            closes_at: self.terms.closes_at,
            hold_ms: self.terms.hold_ms,
            total_cap: self.total_cap,
            live: self.live,
            levels: self.levels.iter().map(|level| LevelView { level: level.name.clone(), cap: level.cap, live: level.live }).collect(),
            candidates: self.candidates().len(),
            bookings: self.bookings().len(),
        }
    }
}

impl Booking {
    pub(crate) fn view(&self) -> BookingView {
        BookingView {
            booking: self.id,
            candidate: self.candidate,
            level: self.level.clone(),
            seat: self.seat,
            state: self.state,
            principal: self.principal.clone(),
            key: self.key.clone(),
            hold_expires_at: self.hold_expires_at,
            payment: self.payment.clone(),
            url: self.url.clone(),
        }
    }
}
