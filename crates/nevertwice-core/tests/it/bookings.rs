//! Bookings: caps, seats, owners, and exactly one end for each.

use std::collections::BTreeMap;

use nevertwice_core::model::WorkloadOptions;
use nevertwice_core::*;
use proptest::prelude::*;

use crate::support::{Bench, HOLD_MS, Shard, candidate, name};

fn payment(sale: &Shard, booking: Position) -> PaymentId {
    PaymentId::of(sale.state.shard(), booking).expect("a payment id")
}

fn by_payment(sale: &Shard, booking: Position) -> ReleaseBooking {
    ReleaseBooking { booking, owner: BookingOwner::Payment(payment(sale, booking)), reason: ReleaseReason::PaymentFailed }
}

fn by_intent(entry: &Entry) -> ReleaseBooking {
    let Intent { principal, key, .. } = entry.intent.clone();
    ReleaseBooking { booking: entry.position, owner: BookingOwner::Intent { principal, key }, reason: ReleaseReason::Cancelled }
}

fn url(text: &str) -> PaymentUrl {
    PaymentUrl::new(text).expect("a url")
}

fn seat(entry: &Entry) -> u32 {
    match entry.events.as_slice() {
        [Event::CandidateAdmitted(admitted)] => admitted.seat,
        other => panic!("{other:?}"),
    }
}

fn state_of(sale: &Shard, booking: Position) -> BookingState {
    match sale.state.read(&Query::Booking { booking }) {
        Ok(View::Booking(view)) => view.state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_admission_ends_at_most_once_and_one_way() {
    let options = WorkloadOptions { markets: 0, sales: 2, ..WorkloadOptions::default() };
    let mut bench = Bench::new(5, options);
    let mut ends: BTreeMap<(ShardId, Position), Vec<&str>> = BTreeMap::new();
    for _ in 0..8_000 {
        let (step, decision) = bench.step();
        let Decision::Accepted(entry) = decision else { continue };
        let shard = step.shard;
        for event in entry.events {
            match event {
                Event::CandidateAdmitted(_) => assert!(ends.insert((shard.clone(), entry.position), vec![]).is_none()),
                Event::PaymentConfirmed(event) => ends.get_mut(&(shard.clone(), event.booking)).expect("admitted").push("paid"),
                Event::BookingReleased(event) => ends.get_mut(&(shard.clone(), event.booking)).expect("admitted").push("released"),
                Event::HoldsExpired(event) => {
                    for hold in event.holds.iter().filter(|hold| hold.state == BookingState::Released) {
                        ends.get_mut(&(shard.clone(), hold.booking)).expect("admitted").push("released");
                    }
                }
                _ => {}
            }
        }
    }
    assert!(ends.len() > 300, "admissions: {}", ends.len());
    let ended = ends.values().filter(|ends| !ends.is_empty()).count();
    assert!(ended > 200, "ended: {ended}");
    for ((shard, booking), ends) in ends {
        assert!(ends.len() <= 1, "{shard} {booking} ended {ends:?}");
        let view = match bench.states[&shard].read(&Query::Booking { booking }) {
            Ok(View::Booking(view)) => view,
            other => panic!("{other:?}"),
        };
        assert_eq!(ends.first().copied(), [BookingState::Paid, BookingState::Released].contains(&view.state).then(|| view.state.word()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever comes and goes, no cap is passed and the lowest free seat is taken; the audit after each step counts.
    #[test]
    fn caps_hold_whatever_comes_and_goes(moves in prop::collection::vec((0..4_u8, 1..=20_u64), 1..120)) {
        let mut sale = Shard::sale();
        let mut live: BTreeMap<u64, Entry> = BTreeMap::new();
        for (what, id) in moves {
            let level = if id % 3 == 0 { "a" } else { "b" };
            match (what, live.remove(&id)) {
                (_, None) => match sale.ask(Admit { candidate: candidate(id), email: None, level: name(level) }) {
                    Decision::Accepted(entry) => { live.insert(id, entry); }
                    Decision::Rejected(Rejection::LevelFull { cap }) => {
                        prop_assert_eq!((level, cap), ("a", 2));
                    }
                    Decision::Rejected(Rejection::SaleFull { cap }) => prop_assert_eq!(cap, 5),
                    other => panic!("{other:?}"),
                },
                (0, Some(entry)) => {
                    let refused = sale.refuse(Admit { candidate: candidate(id), email: None, level: name(level) });
                    let right = matches!(&refused, Rejection::AlreadyBooked { booking } if booking.booking == entry.position);
                    prop_assert!(right, "{:?}", refused);
                    live.insert(id, entry);
                }
                (_, Some(entry)) => { sale.accept(by_intent(&entry)); }
            }
            prop_assert!(live.len() <= 5);
        }
    }
}

#[test]
fn a_released_seat_is_the_next_one_taken() {
    let mut sale = Shard::sale();
    let entries: Vec<_> = (1..=4).map(|id| sale.admit(id, "b")).collect();
    assert_eq!(entries.iter().map(seat).collect::<Vec<_>>(), [1, 2, 3, 4]);
    sale.accept(by_intent(&entries[2]));
    sale.accept(by_intent(&entries[0]));
    assert_eq!([5, 6, 7].map(|id| seat(&sale.admit(id, "b"))), [1, 3, 5]);
}

#[test]
fn a_release_of_long_ago_does_not_end_a_later_booking() {
    let mut sale = Shard::sale();
    let first = sale.admit(1, "b");
    sale.accept(by_intent(&first));
    let second = sale.admit(1, "b");
    assert_eq!(seat(&first), seat(&second));
    assert_eq!(sale.refuse(by_intent(&first)), Rejection::AlreadyReleased);
    assert_eq!(state_of(&sale, second.position), BookingState::Admitted);
    // Nor does the first one's owner own the second.
    let stale = ReleaseBooking { booking: second.position, ..by_intent(&first) };
    assert_eq!(sale.refuse(stale), Rejection::NotOwner);
}

#[test]
fn once_a_payment_began_it_owns_the_seat() {
    let mut sale = Shard::sale();
    let entry = sale.admit(1, "b");
    let booking = entry.position;
    assert_eq!(sale.refuse(by_payment(&sale, booking)), Rejection::NotOwner);
    sale.accept(BeginPayment { booking });
    assert_eq!(sale.refuse(BeginPayment { booking }), Rejection::BookingNotPayable { state: BookingState::Paying });
    assert_eq!(sale.refuse(by_intent(&entry)), Rejection::NotOwner);
    let attach = AttachPayment { booking, payment: payment(&sale, booking), url: url("https://pay.example/1") };
    sale.accept(attach.clone());
    assert_eq!(sale.refuse(attach), Rejection::NoChange);
    let refused = sale.refuse(Admit { candidate: candidate(1), email: None, level: name("b") });
    let Rejection::AlreadyBooked { booking: view } = refused else { panic!("{refused:?}") };
    assert_eq!((view.payment, view.url), (Some(payment(&sale, booking)), Some(url("https://pay.example/1"))));
    sale.accept(by_payment(&sale, booking));
    assert_eq!(sale.refuse(ConfirmPayment { booking, payment: payment(&sale, booking) }), Rejection::AlreadyReleased);
    assert_eq!(sale.refuse(by_payment(&sale, booking)), Rejection::AlreadyReleased);
}

#[test]
fn a_paid_booking_stays_paid() {
    let mut sale = Shard::sale();
    let entry = sale.admit(1, "b");
    let booking = entry.position;
    sale.accept(BeginPayment { booking });
    sale.accept(ConfirmPayment { booking, payment: payment(&sale, booking) });
    sale.at_ms += 10 * HOLD_MS;
    assert_eq!(sale.refuse(ConfirmPayment { booking, payment: payment(&sale, booking) }), Rejection::AlreadyPaid);
    assert_eq!(sale.refuse(by_payment(&sale, booking)), Rejection::AlreadyPaid);
    assert_eq!(sale.refuse(by_intent(&entry)), Rejection::NotOwner);
    assert_eq!(sale.refuse(ExpireHolds { bookings: vec![booking] }), Rejection::NothingDue);
}

#[test]
fn a_hold_ends_at_its_instant_and_not_before() {
    let mut sale = Shard::sale();
    let (idle, paying) = (sale.admit(1, "b").position, sale.admit(2, "b").position);
    let end = sale.at_ms + HOLD_MS;
    sale.at_ms = end - 1;
    sale.accept(BeginPayment { booking: paying });
    assert_eq!(sale.refuse(ExpireHolds { bookings: vec![idle, paying] }), Rejection::NothingDue);
    sale.at_ms = end;
    assert_eq!(sale.refuse(BeginPayment { booking: idle }), Rejection::HoldExpired { hold_expires_at: end });
    let unknown = Position { epoch: 9, seq: 9 };
    let entry = sale.accept(ExpireHolds { bookings: vec![unknown, paying, idle, idle, paying] });
    let [Event::HoldsExpired(HoldsExpired { holds })] = entry.events.as_slice() else { panic!("{entry:?}") };
    let ends: Vec<_> = holds.iter().map(|hold| (hold.booking, hold.state)).collect();
    assert_eq!(ends, [(paying, BookingState::Closing), (idle, BookingState::Released)]);
    // A closing booking holds its seat until the gateway has told how its payment ended.
    assert_eq!(seat(&sale.admit(3, "b")), 1);
    assert_eq!(seat(&sale.admit(4, "b")), 3);
    assert_eq!(sale.refuse(ExpireHolds { bookings: vec![paying, idle] }), Rejection::NothingDue);
    sale.accept(ConfirmPayment { booking: paying, payment: payment(&sale, paying) });
    assert_eq!(state_of(&sale, paying), BookingState::Paid);
}

#[test]
fn a_cap_of_none_is_the_total_and_a_cap_of_zero_admits_nobody() {
    let mut sale = Shard::sale();
    assert_eq!(sale.refuse(Admit { candidate: candidate(1), email: None, level: name("none") }), Rejection::LevelFull { cap: 0 });
    (1..=5).for_each(|id| {
        sale.admit(id, "b");
    });
    assert_eq!(sale.refuse(Admit { candidate: candidate(6), email: None, level: name("b") }), Rejection::SaleFull { cap: 5 });
}
