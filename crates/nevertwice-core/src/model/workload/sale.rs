//! What to ask of a sale next.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use super::generator::{Planned, next};
use super::names::{candidate, email, fingerprint_of, key, name, principal, url};
use super::options::WorkloadOptions;
use crate::limits::{EXPIRE_HOLDS_MAX, HOLD_MS_MAX, LOAD_CANDIDATES_MAX, SEATS_MAX};
use crate::model::Random;
use crate::model::twin::{SaleTwin, TwinBooking};
use crate::{
    Action, Admit, AttachPayment, BeginPayment, BookingOwner, BookingState, CandidateFact, CandidateId, ConfirmPayment, ExpireHolds,
    LevelCap, LoadCandidates, Name, OpenSale, PaymentId, Position, ReleaseBooking, ReleaseReason, SetCaps, SetSaleOpen, ShardId,
};

/// Chooses with an eye on the sale's bookings.
pub(super) struct SaleChoice<'a> {
    pub(super) random: &'a mut Random,
    pub(super) options: &'a WorkloadOptions,
    pub(super) sale: &'a SaleTwin,
    pub(super) shard: &'a ShardId,
    pub(super) now_ms: i64,
    pub(super) fresh: &'a mut u64,
}

impl SaleChoice<'_> {
    /// What to ask of a sale that is not open: mostly to open.
    pub(super) fn opening(random: &mut Random, options: &WorkloadOptions, number: u64, fresh: &mut u64, early: bool) -> Vec<Planned> {
        let seats = options.seats;
        let level = |number, cap| LevelCap { level: name('l', number), cap };
        let closes_at = if number % 2 == 1 { options.window_ms } else { i64::MAX >> 16 };
        let mut open = OpenSale {
            levels: vec![level(0, Some(seats / 2)), level(1, None), level(2, Some(0)), level(3, Some(3))],
            total_cap: seats,
            hold_ms: options.hold_ms,
            opens_at: options.start_ms.saturating_add(options.hold_ms.saturating_mul(2)),
            closes_at: options.start_ms.saturating_add(closes_at),
            retention_ms: options.retention_ms,
        };
        let action = match if early { 0 } else { random.below(12) } {
            0 => Action::from(SetSaleOpen { open: true }),
            1 => Action::from(Admit { candidate: candidate(next(fresh)), email: None, level: name('l', 0) }),
            2 => {
                match random.below(7) {
                    0 => open.levels.clear(),
                    1 => open.levels.push(level(0, None)),
                    2 => open.levels.push(level(4, Some(-1))),
                    3 => open.total_cap = SEATS_MAX.saturating_add(1),
                    4 => open.hold_ms = HOLD_MS_MAX.saturating_add(1),
                    5 => open.closes_at = open.opens_at.saturating_sub(1),
                    _ => open.retention_ms = 0,
                }
                Action::from(open)
            }
            _ => Action::from(open),
        };
        vec![action.into()]
    }

    /// One thing to ask, or several in a row that belong together.
    pub(super) fn next(mut self) -> Vec<Planned> {
        let booked = usize::try_from(self.sale.live(None)).unwrap_or(0);
        if self.sale.candidates.len().saturating_sub(booked) < self.options.candidates && self.random.chance(400) {
            return vec![self.load()];
        }
        if !self.sale.open && self.random.chance(200) {
            return vec![Action::from(SetSaleOpen { open: true }).into()];
        }
        let choice = self.random.below(1_000);
        let waiting = match choice {
            230..430 => self.any(&[BookingState::Paying, BookingState::Closing]),
            _ => self.any(&[BookingState::Admitted]),
        };
        let ended = self.now_ms >= self.sale.closes_at;
        if !waiting && (80..690).contains(&choice) && self.random.chance(750) {
            return vec![if ended { self.load() } else { self.admit() }];
        }
        match choice {
            0..30 => vec![self.load()],
            30..42 => vec![Action::from(SetSaleOpen { open: self.random.chance(600) }).into()],
            42..80 => vec![self.set_caps()],
            80..230 => vec![self.begin()],
            230..330 => vec![self.attach()],
            330..430 => vec![self.confirm()],
            430..560 => vec![self.release()],
            560..660 => vec![self.expire()],
            660..690 => self.lost_seat(),
            690..950 if ended => vec![if waiting { self.begin() } else { self.load() }],
            _ => vec![self.admit()],
        }
    }

    fn any(&self, states: &[BookingState]) -> bool {
        self.sale.bookings.values().any(|booking| states.contains(&booking.state))
    }

    fn level(&mut self) -> Name {
        match self.random.below(20) {
            0 => name('l', 9),
            1 => name('l', 2),
            2 | 3 => name('l', 3),
            number => name('l', number % 2),
        }
    }

    fn known_candidate(&mut self) -> Option<CandidateFact> {
        let known: Vec<&CandidateFact> = self.sale.candidates.values().collect();
        let hot = self.random.chance(self.options.hot_per_mille / 3);
        if hot { known.first().map(|fact| (*fact).clone()) } else { self.random.pick(&known).map(|fact| (*fact).clone()) }
    }

    fn fact(&mut self) -> CandidateFact {
        let number = next(self.fresh);
        let known = if self.random.chance(200) { self.known_candidate() } else { None };
        let levels = match self.random.below(20) {
            0 => 0,
            1 => 1 << 4,
            2 => u64::MAX,
            3..7 => self.random.below(16),
            _ => 0b1111,
        };
        CandidateFact {
            candidate: known.map_or_else(|| candidate(number), |fact| fact.candidate),
            email: self.random.chance(300).then(|| email(number)),
            levels,
        }
    }

    fn load(&mut self) -> Planned {
        let count = match self.random.below(60) {
            0 => 0,
            1 => LOAD_CANDIDATES_MAX.saturating_add(1),
            _ => usize::try_from(self.random.between(1, 4)).unwrap_or(1),
        };
        let mut candidates: Vec<CandidateFact> = (0..count).map(|_| self.fact()).collect();
        if self.random.chance(100)
            && let Some(first) = candidates.first().cloned()
        {
            // The same one twice: the last counts.
            candidates.push(CandidateFact { levels: 1, ..first });
        }
        Action::from(LoadCandidates { candidates }).into()
    }

    fn admit(&mut self) -> Planned {
        let mut known = if self.random.chance(40) { None } else { self.known_candidate() };
        if let Some(fact) = &known
            && self.sale.live_booking_of(&fact.candidate).is_some()
            && self.random.chance(800)
        {
            let booked: BTreeSet<CandidateId> =
                self.sale.bookings.values().filter(|booking| booking.is_live()).map(|booking| booking.candidate).collect();
            let free: Vec<_> = self.sale.candidates.values().filter(|fact| !booked.contains(&fact.candidate)).collect();
            known = self.random.pick(&free).map(|fact| (*fact).clone()).or(known);
        }
        let email = match (self.random.below(12), &known) {
            (0, _) => None,
            (1, _) => Some(fingerprint_of(next(self.fresh))),
            (_, known) => known.as_ref().and_then(|fact| fact.email),
        };
        let candidate = known.map_or_else(|| candidate(next(self.fresh)), |fact| fact.candidate);
        Action::from(Admit { candidate, email, level: self.level() }).into()
    }

    /// A booking: one in the wanted state if there is one, any other, or none at all.
    fn booking(&mut self, wanted: &[BookingState]) -> (Position, Option<TwinBooking>) {
        let unknown = (Position { epoch: 0, seq: self.random.number() >> 12 }, None);
        let all: Vec<_> = self.sale.bookings.iter().collect();
        let found: Vec<_> = all.iter().copied().filter(|(_, booking)| wanted.contains(&booking.state)).collect();
        let bookings = match self.random.below(24) {
            0 => return unknown,
            1..4 => &all,
            _ if found.is_empty() => &all,
            _ => &found,
        };
        self.random.pick(bookings).map_or(unknown, |(id, booking)| (**id, Some((*booking).clone())))
    }

    /// The booking's payment, or what it would be, or a wrong one.
    fn payment(&mut self, id: Position) -> PaymentId {
        let id = if self.random.chance(60) { Position { epoch: id.epoch, seq: id.seq.wrapping_add(1) } } else { id };
        PaymentId::of(self.shard, id).expect("a name and a position are a payment id")
    }

    fn begin(&mut self) -> Planned {
        let wanted = if self.random.chance(100) { BookingState::Paying } else { BookingState::Admitted };
        let (booking, found) = self.booking(&[wanted]);
        let end = found.map_or(self.now_ms, |booking| booking.hold_expires_at);
        Planned { action: BeginPayment { booking }.into(), at_ms: self.edge(end, 60) }
    }

    /// Sometimes the instant itself, or the one before it, if it is still to come.
    fn edge(&mut self, instant: i64, per_mille: u64) -> Option<i64> {
        let at_ms = instant.saturating_sub(i64::from(self.random.chance(500)));
        (at_ms >= self.now_ms && self.random.chance(per_mille)).then_some(at_ms)
    }

    fn attach(&mut self) -> Planned {
        let (booking, found) = self.booking(&[BookingState::Paying, BookingState::Closing]);
        let same = found.and_then(|booking| booking.url).filter(|_| self.random.chance(300));
        let url = same.unwrap_or_else(|| url(next(self.fresh)));
        Action::from(AttachPayment { booking, payment: self.payment(booking), url }).into()
    }

    fn confirm(&mut self) -> Planned {
        let (booking, _) = self.booking(&[BookingState::Paying, BookingState::Closing]);
        Action::from(ConfirmPayment { booking, payment: self.payment(booking) }).into()
    }

    fn release(&mut self) -> Planned {
        let (booking, found) = self.booking(&[BookingState::Admitted, BookingState::Paying, BookingState::Closing]);
        let intent = found.as_ref().map_or_else(
            || BookingOwner::Intent { principal: principal(0), key: key(0) },
            |booking| BookingOwner::Intent { principal: booking.principal.clone(), key: booking.key.clone() },
        );
        let begun = found.as_ref().is_some_and(|booking| booking.payment.is_some());
        let owner = match self.random.below(10) {
            0 => BookingOwner::Intent { principal: principal(0), key: key(next(self.fresh)) },
            // The intent after a payment began, or a payment before.
            1 if begun => intent,
            1 => BookingOwner::Payment(self.payment(booking)),
            _ if begun => BookingOwner::Payment(self.payment(booking)),
            _ => intent,
        };
        let reason = self.random.pick(ReleaseReason::ALL).copied().unwrap_or(ReleaseReason::Operator);
        Action::from(ReleaseBooking { booking, owner, reason }).into()
    }

    /// A release whose reply was lost, the candidate admitted again, and the release a second time with another key.
    fn lost_seat(&mut self) -> Vec<Planned> {
        let (booking, found) = self.booking(&[BookingState::Admitted]);
        let Some(found) = found else { return vec![self.admit()] };
        let email = self.sale.candidates.get(&found.candidate).and_then(|fact| fact.email);
        let release = ReleaseBooking {
            booking,
            owner: BookingOwner::Intent { principal: found.principal, key: found.key },
            reason: ReleaseReason::Cancelled,
        };
        let admit = Admit { candidate: found.candidate, email, level: found.level };
        vec![Action::from(release.clone()).into(), Action::from(admit).into(), Action::from(release).into()]
    }

    fn expire(&mut self) -> Planned {
        let count = match self.random.below(30) {
            0 => 0,
            1 => EXPIRE_HOLDS_MAX.saturating_add(1),
            _ => usize::try_from(self.random.between(1, 5)).unwrap_or(1),
        };
        let mut bookings: Vec<Position> = Vec::new();
        let mut end = None;
        for _ in 0..count {
            let (id, found) = self.booking(&[BookingState::Admitted, BookingState::Paying]);
            end = found.map(|booking| booking.hold_expires_at).max(end);
            bookings.push(id);
        }
        if self.random.chance(100) {
            bookings.extend(bookings.first().copied());
        }
        Planned { action: ExpireHolds { bookings }.into(), at_ms: end.and_then(|end| self.edge(end, 300)) }
    }

    fn set_caps(&mut self) -> Planned {
        let level = self.level();
        let (live, total) = (self.sale.live(Some(&level)), self.sale.live(None));
        let seats = self.options.seats;
        let cap = match self.random.below(12) {
            0 => Some(-1),
            1 => None,
            2 => Some(live.saturating_sub(1)),
            3 => Some(live),
            _ => Some(self.random.between(live, live.saturating_add(seats))),
        };
        let total_cap = match self.random.below(12) {
            0 => Some(total),
            1 => Some(total.saturating_sub(1)),
            2 => Some(SEATS_MAX.saturating_add(1)),
            3 => Some(self.sale.total_cap),
            4 | 5 => Some(self.random.between(total, total.saturating_add(seats / 2))),
            6 | 7 => Some(total.saturating_add(seats)),
            _ => None,
        };
        let levels = if self.random.chance(300) { Vec::new() } else { vec![LevelCap { level, cap }] };
        Action::from(SetCaps { levels, total_cap }).into()
    }
}
