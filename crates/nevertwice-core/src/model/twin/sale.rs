//! A sale, obvious: sets of what is live, which the records' recount in [`crate::model::audit_records`] holds to the bookings.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{allow, expect};
use crate::model::Violation;
use crate::{
    BookingReleased, BookingState, CandidateAdmitted, CandidateFact, CandidateId, CandidatesLoaded, CapsSet, Entry, Event, HoldsExpired,
    IdempotencyKey, LevelCap, Name, PaymentAttached, PaymentBegun, PaymentConfirmed, PaymentId, PaymentUrl, Position, Principal,
    ReleaseReason, SaleOpened,
};

pub(crate) struct SaleTwin {
    pub(crate) open: bool,
    pub(crate) opens_at: i64,
    pub(crate) closes_at: i64,
    pub(crate) hold_ms: i64,
    pub(crate) retention_ms: i64,
    pub(crate) total_cap: i64,
    pub(crate) levels: Vec<LevelCap>,
    pub(crate) candidates: BTreeMap<CandidateId, CandidateFact>,
    pub(crate) bookings: BTreeMap<Position, TwinBooking>,
    live: Live,
}

/// The live bookings, by what no two of them share, and counted by level.
#[derive(Default)]
struct Live {
    by_candidate: BTreeMap<CandidateId, Position>,
    by_seat: BTreeMap<u32, Position>,
    on_level: BTreeMap<Name, i64>,
    // Seats up to the highest that are nobody's.
    free: BTreeSet<u32>,
    highest: u32,
}

impl Live {
    fn add(&mut self, id: Position, booking: &TwinBooking) {
        self.by_candidate.insert(booking.candidate, id);
        self.by_seat.insert(booking.seat, id);
        let on_level = self.on_level.entry(booking.level.clone()).or_default();
        *on_level = on_level.saturating_add(1);
        self.free.extend(self.highest.saturating_add(1)..=booking.seat);
        self.highest = self.highest.max(booking.seat);
        self.free.remove(&booking.seat);
    }

    fn remove(&mut self, booking: &TwinBooking) {
        self.by_candidate.remove(&booking.candidate);
        self.by_seat.remove(&booking.seat);
        let on_level = self.on_level.entry(booking.level.clone()).or_default();
        *on_level = on_level.saturating_sub(1);
        self.free.insert(booking.seat);
    }

    fn lowest_free_seat(&self) -> u32 {
        self.free.first().copied().unwrap_or_else(|| self.highest.saturating_add(1))
    }
}

#[derive(Clone)]
pub(crate) struct TwinBooking {
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

impl TwinBooking {
    pub(crate) fn is_live(&self) -> bool {
        self.state != BookingState::Released
    }
}

impl SaleTwin {
    pub(crate) fn open(event: &SaleOpened) -> Result<Self, Violation> {
        allow(event.total_cap >= 0 && event.hold_ms > 0, "a sale with less than nothing to sell, or without a hold")?;
        Ok(Self {
            open: false,
            opens_at: event.opens_at,
            closes_at: event.closes_at,
            hold_ms: event.hold_ms,
            retention_ms: event.retention_ms,
            total_cap: event.total_cap,
            levels: event.levels.clone(),
            candidates: BTreeMap::new(),
            bookings: BTreeMap::new(),
            live: Live::default(),
        })
    }

    /// Live bookings on a level, or on all.
    pub(crate) fn live(&self, level: Option<&Name>) -> i64 {
        match level {
            Some(level) => self.live.on_level.get(level).copied().unwrap_or(0),
            None => i64::try_from(self.live.by_seat.len()).unwrap_or(i64::MAX),
        }
    }

    pub(crate) fn live_booking_of(&self, candidate: &CandidateId) -> Option<(Position, &TwinBooking)> {
        let id = *self.live.by_candidate.get(candidate)?;
        Some((id, self.bookings.get(&id)?))
    }

    /// The highest seat that was ever given out.
    pub(crate) fn seats(&self) -> u32 {
        self.live.highest
    }

    pub(crate) fn follow(&mut self, event: &Event, entry: &Entry) -> Result<(), Violation> {
        match event {
            Event::CandidatesLoaded(event) => self.load(event),
            Event::CandidateAdmitted(event) => self.admit(event, entry),
            Event::PaymentBegun(event) => self.begin(event, entry),
            Event::PaymentAttached(event) => self.attach(event),
            Event::PaymentConfirmed(event) => self.confirm(event),
            Event::BookingReleased(event) => self.release(event),
            Event::HoldsExpired(event) => self.expire(event, entry),
            Event::SaleOpenSet(event) => {
                allow(event.open != self.open, "doors opened or closed twice")?;
                self.open = event.open;
                Ok(())
            }
            Event::CapsSet(event) => self.set_caps(event),
            _ => Err(Violation::NotAllowed { what: "an event of another kind of shard, or a second opening" }),
        }
    }

    fn load(&mut self, event: &CandidatesLoaded) -> Result<(), Violation> {
        for fact in &event.candidates {
            for number in 0..u64::BITS {
                let allowed = fact.levels.checked_shr(number).unwrap_or(0) % 2 == 1;
                allow(!allowed || (number as usize) < self.levels.len(), "a candidate for a level that does not exist")?;
            }
            self.candidates.insert(fact.candidate, fact.clone());
        }
        Ok(())
    }

    fn admit(&mut self, event: &CandidateAdmitted, entry: &Entry) -> Result<(), Violation> {
        if let Some((first, _)) = self.live_booking_of(&event.candidate) {
            return Err(Violation::CandidateBookedTwice { first, other: entry.position });
        }
        allow(self.open && self.opens_at <= entry.at_ms && entry.at_ms < self.closes_at, "an admission while the sale is closed")?;
        let fact = self.candidates.get(&event.candidate).ok_or(Violation::NotAllowed { what: "an admission of nobody on the list" })?;
        let found = self.levels.iter().enumerate().find(|(_, level)| level.level == event.level);
        let (number, level) = found.ok_or(Violation::NotAllowed { what: "an admission to no level" })?;
        let bit = fact.levels.checked_shr(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(0) % 2;
        allow(bit == 1, "an admission to a level that the candidate may not book")?;
        let (level_live, live) = (self.live(Some(&event.level)).saturating_add(1), self.live(None).saturating_add(1));
        if let Some(cap) = level.cap.filter(|cap| level_live > *cap) {
            return Err(Violation::LevelOverCap { level: event.level.clone(), live: level_live, cap });
        }
        if live > self.total_cap {
            return Err(Violation::SaleOverCap { live, cap: self.total_cap });
        }
        expect("live bookings of the level", event.level_live, i128::from(level_live))?;
        expect("live bookings", event.live, i128::from(live))?;
        expect("end of the hold", event.hold_expires_at, i128::from(entry.at_ms).saturating_add(i128::from(self.hold_ms)))?;
        if let Some(first) = self.live.by_seat.get(&event.seat) {
            return Err(Violation::SeatTakenTwice { seat: event.seat, first: *first, other: entry.position });
        }
        let lowest = self.live.lowest_free_seat();
        if event.seat != lowest {
            return Err(Violation::SeatNotLowest { seat: event.seat, lowest });
        }
        let booking = TwinBooking {
            candidate: event.candidate,
            level: event.level.clone(),
            seat: event.seat,
            state: BookingState::Admitted,
            principal: entry.intent.principal.clone(),
            key: entry.intent.key.clone(),
            hold_expires_at: event.hold_expires_at,
            payment: None,
            url: None,
        };
        self.live.add(entry.position, &booking);
        self.bookings.insert(entry.position, booking);
        Ok(())
    }

    /// A booking that has not ended.
    fn going_on(&mut self, id: Position) -> Result<&mut TwinBooking, Violation> {
        let booking = self.bookings.get_mut(&id).ok_or(Violation::NotAllowed { what: "an end without an admission" })?;
        match booking.state {
            BookingState::Paid | BookingState::Released => Err(Violation::EndedTwice { booking: id, ended: booking.state }),
            _ => Ok(booking),
        }
    }

    fn begin(&mut self, event: &PaymentBegun, entry: &Entry) -> Result<(), Violation> {
        let expected = alloc::format!("{}.{}-{}", entry.shard.name, event.booking.epoch, event.booking.seq);
        let booking = self.going_on(event.booking)?;
        allow(booking.state == BookingState::Admitted, "a payment begun twice")?;
        allow(entry.at_ms < booking.hold_expires_at, "a payment begun after the hold")?;
        allow(event.payment.as_str() == expected, "a payment that is not made from the booking's entry")?;
        booking.state = BookingState::Paying;
        booking.payment = Some(event.payment.clone());
        Ok(())
    }

    fn of_payment(&mut self, id: Position, payment: &PaymentId) -> Result<&mut TwinBooking, Violation> {
        let booking = self.going_on(id)?;
        if booking.payment.as_ref() == Some(payment) { Ok(booking) } else { Err(Violation::NotItsOwner { booking: id }) }
    }

    fn attach(&mut self, event: &PaymentAttached) -> Result<(), Violation> {
        self.of_payment(event.booking, &event.payment)?.url = Some(event.url.clone());
        Ok(())
    }

    fn confirm(&mut self, event: &PaymentConfirmed) -> Result<(), Violation> {
        self.of_payment(event.booking, &event.payment)?.state = BookingState::Paid;
        Ok(())
    }

    fn release(&mut self, event: &BookingReleased) -> Result<(), Violation> {
        let booking = self.going_on(event.booking)?;
        expect("seat", i64::from(event.seat), i128::from(booking.seat))?;
        // The steward's end of a hold is an event of its own.
        let _: ReleaseReason = event.reason;
        booking.state = BookingState::Released;
        let ended = booking.clone();
        self.live.remove(&ended);
        Ok(())
    }

    fn expire(&mut self, event: &HoldsExpired, entry: &Entry) -> Result<(), Violation> {
        allow(!event.holds.is_empty(), "an end of no holds")?;
        for end in &event.holds {
            let booking = self.going_on(end.booking)?;
            expect("seat", i64::from(end.seat), i128::from(booking.seat))?;
            if entry.at_ms < booking.hold_expires_at {
                return Err(Violation::EndedEarly { booking: end.booking, hold_expires_at: booking.hold_expires_at });
            }
            let fits = matches!(
                (booking.state, end.state),
                (BookingState::Admitted, BookingState::Released) | (BookingState::Paying, BookingState::Closing)
            );
            allow(fits, "a hold that ended in another way than its booking's state allows")?;
            booking.state = end.state;
            if end.state == BookingState::Released {
                let ended = booking.clone();
                self.live.remove(&ended);
            }
        }
        Ok(())
    }

    fn set_caps(&mut self, event: &CapsSet) -> Result<(), Violation> {
        for change in &event.levels {
            let live = self.live(Some(&change.level));
            if let Some(cap) = change.cap.filter(|cap| *cap < live) {
                return Err(Violation::LevelOverCap { level: change.level.clone(), live, cap });
            }
            let level = self.levels.iter_mut().find(|level| level.level == change.level);
            level.ok_or(Violation::NotAllowed { what: "a cap for no level" })?.cap = change.cap;
        }
        self.total_cap = event.total_cap;
        let live = self.live(None);
        if live > self.total_cap { Err(Violation::SaleOverCap { live, cap: self.total_cap }) } else { Ok(()) }
    }
}
