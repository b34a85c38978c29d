//! What a sale remembers.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::fields::words;
use crate::limits::SEATS_MAX;
use crate::table::{Seed, Table};
use crate::{ApplyError, CandidateId, IdempotencyKey, Name, PaymentId, PaymentUrl, Position, Principal, Rejection};

words! {
    /// How far a booking is. The first three hold their seat.
    pub enum BookingState {
        /// A seat is held; no payment began.
        1 => Admitted = "admitted",
        /// A payment was begun.
        2 => Paying = "paying",
        /// The hold's time is over while a payment is under way; the seat is held until the gateway has told how it ended.
        3 => Closing = "closing",
        /// It ended paid.
        4 => Paid = "paid",
        /// It ended released; its seat is free for others.
        5 => Released = "released",
    }
}

impl BookingState {
    /// Whether the booking occupies its seat: all but `released`.
    #[must_use]
    pub const fn is_live(self) -> bool {
        !matches!(self, Self::Released)
    }
}

/// What was fixed when the sale was opened.
#[derive(Clone, Debug)]
pub(crate) struct SaleTerms {
    pub(crate) opens_at: i64,
    pub(crate) closes_at: i64,
    pub(crate) hold_ms: i64,
}

pub(crate) struct Sale {
    pub(crate) terms: SaleTerms,
    pub(crate) open: bool,
    pub(crate) total_cap: i64,
    pub(crate) live: i64,
    pub(crate) levels: Vec<Level>,
    /// The highest seat number ever given out.
    pub(crate) seats: u32,
    // Numbers up to `seats` that no live booking has. A counter that went down on a release would give one out twice.
    free: BTreeSet<u32>,
    candidates: Table<Candidate>,
    bookings: Table<Booking>,
}

pub(crate) struct Level {
    pub(crate) name: Name,
    pub(crate) cap: Option<i64>,
    pub(crate) live: i64,
}

pub(crate) struct Candidate {
    pub(crate) id: CandidateId,
    pub(crate) email: Option<[u8; 32]>,
    pub(crate) levels: u64,
    pub(crate) booking: Option<Position>,
}

pub(crate) struct Booking {
    pub(crate) id: Position,
    pub(crate) candidate: CandidateId,
    pub(crate) level: Name,
    pub(crate) seat: u32,
    pub(crate) state: BookingState,
    pub(crate) principal: Principal,
    pub(crate) key: IdempotencyKey,
    pub(crate) hold_expires_at: i64,
    pub(crate) payment: Option<PaymentId>,
    pub(crate) url: Option<PaymentUrl>,
}

impl Sale {
    pub(crate) fn new(seed: Seed, terms: SaleTerms, open: bool, total_cap: i64, levels: Vec<Level>) -> Self {
        Self {
            terms,
            open,
            total_cap,
            live: 0,
            levels,
            seats: 0,
            free: BTreeSet::new(),
            candidates: Table::new(seed),
            bookings: Table::new(seed),
        }
    }

    pub(crate) fn level(&self, name: &Name) -> Option<(u32, &Level)> {
        let number = self.levels.iter().position(|level| level.name == *name)?;
        Some((u32::try_from(number).ok()?, self.levels.get(number)?))
    }

    /// The lowest number that no live booking has.
    pub(crate) fn lowest_free_seat(&self) -> u32 {
        self.free.first().copied().unwrap_or_else(|| self.seats.saturating_add(1))
    }

    /// Takes a seat for a booking. `Err` if a live booking has it.
    pub(crate) fn take_seat(&mut self, seat: u32) -> Result<(), ApplyError> {
        if self.free.remove(&seat) {
            return Ok(());
        }
        if seat == 0 || self.seats.checked_add(1) != Some(seat) {
            return Err(ApplyError::Inconsistent("seat"));
        }
        self.seats = seat;
        Ok(())
    }

    /// Rebuilds the free list after a load: every number up to `seats` that none of the live bookings has.
    pub(crate) fn restore_seats(&mut self, seats: u32) -> Result<(), ApplyError> {
        // A forged number must not make a free list that fills the memory.
        if i64::from(seats) > SEATS_MAX {
            return Err(ApplyError::OutOfRange("seats"));
        }
        let mut free: BTreeSet<u32> = (1..=seats).collect();
        let mut taken_twice = false;
        for booking in self.bookings.iter() {
            taken_twice |= booking.state.is_live() && !free.remove(&booking.seat);
        }
        self.seats = seats;
        self.free = free;
        if taken_twice { Err(ApplyError::Inconsistent("seat")) } else { Ok(()) }
    }

    pub(crate) const fn candidates(&self) -> &Table<Candidate> {
        &self.candidates
    }

    pub(crate) fn candidate(&self, id: &CandidateId) -> Option<&Candidate> {
        self.candidates.get(self.candidates.hash(&id.0), |candidate| candidate.id == *id)
    }

    pub(crate) fn candidate_mut(&mut self, id: &CandidateId) -> Result<&mut Candidate, ApplyError> {
        let hash = self.candidates.hash(&id.0);
        self.candidates.get_mut(hash, |candidate| candidate.id == *id).ok_or(ApplyError::Unknown("candidate"))
    }

    pub(crate) fn add_candidate(&mut self, candidate: Candidate) {
        let hash = self.candidates.hash(&candidate.id.0);
        self.candidates.insert(hash, candidate);
    }

    pub(crate) const fn bookings(&self) -> &Table<Booking> {
        &self.bookings
    }

    pub(crate) fn booking(&self, id: Position) -> Option<&Booking> {
        self.bookings.get(self.booking_hash(id), |booking| booking.id == id)
    }

    pub(crate) fn booking_mut(&mut self, id: Position) -> Result<&mut Booking, ApplyError> {
        let hash = self.booking_hash(id);
        self.bookings.get_mut(hash, |booking| booking.id == id).ok_or(ApplyError::Unknown("booking"))
    }

    pub(crate) fn add_booking(&mut self, booking: Booking) {
        let hash = self.booking_hash(booking.id);
        self.bookings.insert(hash, booking);
    }

    fn booking_hash(&self, id: Position) -> u64 {
        let mut key = [0; 12];
        let (epoch, seq) = key.split_at_mut(4);
        epoch.copy_from_slice(&id.epoch.to_le_bytes());
        seq.copy_from_slice(&id.seq.to_le_bytes());
        self.bookings.hash(&key)
    }

    /// The booking of that number, for commands that name one.
    pub(crate) fn find_booking(&self, id: Position) -> Result<&Booking, Rejection> {
        self.booking(id).ok_or(Rejection::UnknownBooking)
    }

    /// Whether a booking can leave its level without a counter falling below zero. A release never clamps: it refuses.
    pub(crate) fn check_release(&self, booking: &Booking) -> Result<(), Rejection> {
        let level_live = self.level(&booking.level).map_or(0, |(_, level)| level.live);
        if self.live < 1 || level_live < 1 {
            return Err(Rejection::InvariantBroken { what: "live bookings" });
        }
        Ok(())
    }

    /// Ends a live booking released: seat, level and candidate are free again.
    pub(crate) fn release(&mut self, id: Position) -> Result<(), ApplyError> {
        let booking = self.booking(id).ok_or(ApplyError::Unknown("booking"))?;
        if !booking.state.is_live() || booking.state == BookingState::Paid {
            return Err(ApplyError::Inconsistent("release"));
        }
        let (level, seat, candidate) = (booking.level.clone(), booking.seat, booking.candidate);
        let below_zero = ApplyError::OutOfRange("live bookings");
        let total = self.live.checked_sub(1).filter(|live| *live >= 0).ok_or(below_zero)?;
        let level = self.levels.iter_mut().find(|known| known.name == level).ok_or(ApplyError::Unknown("level"))?;
        level.live = level.live.checked_sub(1).filter(|live| *live >= 0).ok_or(below_zero)?;
        self.live = total;
        self.free.insert(seat);
        self.candidate_mut(&candidate)?.booking = None;
        self.booking_mut(id)?.state = BookingState::Released;
        Ok(())
    }
}
