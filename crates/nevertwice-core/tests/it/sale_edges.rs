//! Candidates, levels and windows at their edges.

use nevertwice_core::limits::{EXPIRE_HOLDS_MAX, LEVELS_MAX, LOAD_CANDIDATES_MAX};
use nevertwice_core::*;

use crate::support::{RETENTION_MS, START_MS, Shard, candidate, name};

fn fact(id: u64, levels: u64) -> CandidateFact {
    CandidateFact { candidate: candidate(id), email: None, levels }
}

#[test]
fn a_window_has_its_first_instant_and_not_its_last() {
    let mut sale = Shard::new(ShardId::sale(name("s")));
    sale.accept(OpenSale {
        levels: vec![LevelCap { level: name("a"), cap: None }],
        total_cap: 9,
        hold_ms: 1,
        opens_at: START_MS + 10,
        closes_at: START_MS + 20,
        retention_ms: RETENTION_MS,
    });
    sale.accept(SetSaleOpen { open: true });
    sale.accept(LoadCandidates { candidates: (1..=4).map(|id| fact(id, 1)).collect() });
    let admit = |id| Admit { candidate: candidate(id), email: None, level: name("a") };
    sale.at_ms = START_MS + 9;
    assert_eq!(sale.refuse(admit(1)), Rejection::SaleNotStarted { opens_at: START_MS + 10 });
    sale.at_ms = START_MS + 10;
    sale.accept(admit(1));
    sale.at_ms = START_MS + 19;
    sale.accept(admit(2));
    sale.at_ms = START_MS + 20;
    assert_eq!(sale.refuse(admit(3)), Rejection::SaleEnded { closed_at: START_MS + 20 });
}

#[test]
fn a_candidate_may_book_the_levels_of_its_bits() {
    let mut sale = Shard::new(ShardId::sale(name("s")));
    let levels = (0..LEVELS_MAX).map(|number| LevelCap { level: name(&format!("l{number}")), cap: None });
    sale.accept(OpenSale {
        levels: levels.collect(),
        total_cap: 9,
        hold_ms: 1,
        opens_at: 0,
        closes_at: START_MS * 2,
        retention_ms: RETENTION_MS,
    });
    sale.accept(SetSaleOpen { open: true });
    // With all levels there is no bit that means none.
    sale.accept(LoadCandidates { candidates: vec![fact(1, 1 << 63), fact(2, u64::MAX), fact(3, 0)] });
    let admit = |id, level: &str| Admit { candidate: candidate(id), email: None, level: name(level) };
    assert_eq!(sale.refuse(admit(1, "l62")), Rejection::LevelNotAllowed);
    sale.accept(admit(1, "l63"));
    sale.accept(admit(2, "l0"));
    assert_eq!(sale.refuse(admit(3, "l0")), Rejection::LevelNotAllowed);
}

#[test]
fn candidates_are_loaded_by_the_batch_and_the_last_fact_counts() {
    let mut sale = Shard::sale();
    assert_eq!(sale.refuse(LoadCandidates { candidates: vec![fact(50, 1), fact(51, 0b1000)] }), Rejection::UnknownLevel);
    for count in [0, LOAD_CANDIDATES_MAX as u64 + 1] {
        let refused = sale.refuse(LoadCandidates { candidates: (0..count).map(|id| fact(100 + id, 1)).collect() });
        assert!(matches!(refused, Rejection::SettingOutOfRange { setting: "candidates", .. }), "{refused:?}");
    }
    let email = Some([7; 32]);
    sale.accept(LoadCandidates { candidates: vec![fact(50, 1), CandidateFact { email, ..fact(50, 0b10) }] });
    let admit = |email, level: &str| Admit { candidate: candidate(50), email, level: name(level) };
    assert_eq!(sale.refuse(admit(None, "b")), Rejection::EmailMismatch);
    assert_eq!(sale.refuse(admit(email, "a")), Rejection::LevelNotAllowed);
    let booking = sale.accept(admit(email, "b")).position;
    // What a candidate may book from now on leaves the booking as it is.
    sale.accept(LoadCandidates { candidates: vec![fact(50, 0)] });
    sale.accept(BeginPayment { booking });
}

#[test]
fn an_address_that_the_list_does_not_have_is_not_compared() {
    let mut sale = Shard::sale();
    sale.accept(Admit { candidate: candidate(1), email: Some([9; 32]), level: name("b") });
}

#[test]
fn at_most_so_many_holds_are_ended_at_once() {
    let mut sale = Shard::sale();
    let booking = sale.admit(1, "b").position;
    sale.at_ms += 10_000;
    for count in [0, EXPIRE_HOLDS_MAX + 1] {
        let refused = sale.refuse(ExpireHolds { bookings: vec![booking; count] });
        assert!(matches!(refused, Rejection::SettingOutOfRange { setting: "bookings", .. }), "{refused:?}");
    }
    sale.accept(ExpireHolds { bookings: vec![booking; EXPIRE_HOLDS_MAX] });
}

#[test]
fn an_entry_that_ends_a_hold_in_a_way_there_is_not_is_refused() {
    let mut sale = Shard::sale();
    let booking = sale.admit(1, "b").position;
    sale.accept(BeginPayment { booking });
    sale.at_ms += 10_000;
    let command = Command::new(sale.intent(), ExpireHolds { bookings: vec![booking] });
    let Decision::Accepted(mut entry) = sale.state.decide(&command, sale.at_ms) else { panic!("it is due") };
    let forged = |state| vec![Event::HoldsExpired(HoldsExpired { holds: vec![HoldEnd { booking, seat: 1, state }] })];
    for state in [BookingState::Paid, BookingState::Paying, BookingState::Admitted, BookingState::Released] {
        entry.events = forged(state);
        assert_eq!(sale.state.apply(&entry), Err(ApplyError::Inconsistent("hold")), "{state:?}");
    }
    entry.events = forged(BookingState::Closing);
    assert_eq!(sale.state.apply(&entry), Ok(()));
}
