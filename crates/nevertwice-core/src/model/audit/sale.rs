//! The invariants of a sale.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::books::{Books, check_range};
use crate::limits::{HOLD_MS_MAX, LEVELS_MAX, SEATS_MAX};
use crate::model::Violation;
use crate::{BookingState, CandidateId, Name, PaymentId, Position, SaleRecord};

impl Books {
    pub(super) fn check_sale(&self, sale: &SaleRecord) -> Result<(), Violation> {
        let the_sale = || format!("sale {}", self.shard.shard.name);
        check_range(the_sale, "total_cap", sale.total_cap, 0, SEATS_MAX)?;
        check_range(the_sale, "hold_ms", sale.hold_ms, 1, HOLD_MS_MAX)?;
        check_range(the_sale, "closes_at", sale.closes_at, sale.opens_at, i64::MAX)?;
        check_range(the_sale, "levels", count(self.levels.len()), 1, count(LEVELS_MAX))?;
        self.check_levels()?;
        self.check_candidates()?;
        self.check_bookings(sale)
    }

    fn check_levels(&self) -> Result<(), Violation> {
        let mut numbers: BTreeMap<u32, &Name> = BTreeMap::new();
        for (name, record) in &self.levels {
            check_range(|| format!("level {name}"), "cap", record.cap.unwrap_or(0), 0, SEATS_MAX)?;
            if numbers.insert(record.number, name).is_some() {
                return Err(Violation::RecordTwice { record: format!("level number {}", record.number) });
            }
        }
        for (expected, (number, name)) in (0_u32..).zip(&numbers) {
            check_range(|| format!("level {name}"), "number", i64::from(*number), i64::from(expected), i64::from(expected))?;
        }
        Ok(())
    }

    fn check_candidates(&self) -> Result<(), Violation> {
        for record in self.candidates.values() {
            let highest = u64::BITS.saturating_sub(record.levels.leading_zeros());
            if highest as usize > self.levels.len() {
                return Err(Violation::Dangling { record: format!("candidate {:?}", record.candidate), names: "level" });
            }
        }
        Ok(())
    }

    fn check_bookings(&self, sale: &SaleRecord) -> Result<(), Violation> {
        let mut seats: BTreeMap<u32, Position> = BTreeMap::new();
        let mut candidates: BTreeMap<CandidateId, Position> = BTreeMap::new();
        let mut live_on: BTreeMap<&Name, i64> = BTreeMap::new();
        let (mut live, mut highest) = (0_i64, 0_u32);
        for (id, record) in &self.bookings {
            let label = || format!("booking {id}");
            if !self.levels.contains_key(&record.level) {
                return Err(Violation::Dangling { record: label(), names: "level" });
            }
            if !self.candidates.contains_key(&record.candidate) {
                return Err(Violation::Dangling { record: label(), names: "candidate" });
            }
            if *id > self.shard.position || id.seq == 0 {
                return Err(Violation::Gap { last: self.shard.position, next: *id });
            }
            check_range(label, "seat", i64::from(record.seat), 1, i64::from(sale.seats))?;
            highest = highest.max(record.seat);
            let paid_for = match record.state {
                BookingState::Admitted => record.payment.is_none(),
                BookingState::Paying | BookingState::Closing | BookingState::Paid => record.payment.is_some(),
                BookingState::Released => true,
            };
            if !paid_for || (record.url.is_some() && record.payment.is_none()) {
                return Err(Violation::PaymentMismatch { booking: *id, state: record.state });
            }
            let made_of_it = |payment: &PaymentId| payment.as_str() == format!("{}.{id}", self.shard.shard.name);
            if !record.payment.as_ref().is_none_or(made_of_it) {
                return Err(Violation::PaymentMismatch { booking: *id, state: record.state });
            }
            if record.state == BookingState::Released {
                continue;
            }
            if let Some(first) = seats.insert(record.seat, *id) {
                return Err(Violation::SeatTakenTwice { seat: record.seat, first, other: *id });
            }
            if let Some(first) = candidates.insert(record.candidate, *id) {
                return Err(Violation::CandidateBookedTwice { first, other: *id });
            }
            live = live.saturating_add(1);
            let level = live_on.entry(&record.level).or_default();
            *level = level.saturating_add(1);
        }
        for (name, level) in &self.levels {
            let counted = live_on.get(name).copied().unwrap_or(0);
            check_counter(|| format!("live of level {name}"), level.live, counted)?;
            if let Some(cap) = level.cap.filter(|cap| counted > *cap) {
                return Err(Violation::LevelOverCap { level: name.clone(), live: counted, cap });
            }
        }
        check_counter(|| String::from("live of the sale"), sale.live, live)?;
        check_counter(|| String::from("seats of the sale"), i64::from(sale.seats), i64::from(highest))?;
        if live > sale.total_cap { Err(Violation::SaleOverCap { live, cap: sale.total_cap }) } else { Ok(()) }
    }
}

fn check_counter(counter: impl FnOnce() -> String, found: i64, counted: i64) -> Result<(), Violation> {
    if found == counted { Ok(()) } else { Err(Violation::Miscounted { counter: counter(), found, counted }) }
}

fn count(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}
