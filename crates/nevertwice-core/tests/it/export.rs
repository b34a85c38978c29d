//! State out and in; entries that do not fit.

use nevertwice_core::model::{Violation, WorkloadOptions, audit_records};
use nevertwice_core::*;

use crate::support::{Bench, Shard, candidate, limits, name, order, records_of};

#[test]
fn a_round_trip_gives_the_same_hash_and_a_clean_audit() {
    let mut bench = Bench::new(31, WorkloadOptions::default());
    for number in 0..3_000 {
        let (step, _) = bench.step();
        if number % 40 > 0 {
            continue;
        }
        let state = &bench.states[&step.shard];
        let records = records_of(state);
        let audited = audit_records(records.clone()).unwrap_or_else(|violation| panic!("step {number}: {violation}"));
        assert_eq!(audited.hash, state.state_hash());
        assert_eq!((audited.shard.position, audited.records), (state.position(), records.len() as u64));
        let again = State::import((8, 9), records).expect("what was exported fits");
        assert_eq!(again.state_hash(), state.state_hash());
        assert_eq!((again.position(), again.at_ms(), again.is_open()), (state.position(), state.at_ms(), state.is_open()));
    }
}

#[test]
fn a_state_is_what_its_entries_made_of_nothing() {
    let mut bench = Bench::new(32, WorkloadOptions::default());
    let mut entries = Vec::new();
    for _ in 0..3_000 {
        if let (_, Decision::Accepted(entry)) = bench.step() {
            entries.push(entry);
        }
    }
    for (shard, state) in &bench.states {
        let mut again = State::new(shard.clone(), 0, (5, 5));
        for entry in entries.iter().filter(|entry| entry.shard == *shard) {
            again.apply(entry).expect("it was applied before");
        }
        assert_eq!(again.state_hash(), state.state_hash());
    }
}

fn sale_records() -> Vec<Record> {
    let mut sale = Shard::sale();
    sale.admit(1, "a");
    sale.admit(2, "b");
    sale.records()
}

fn market_records() -> Vec<Record> {
    let mut market = Shard::market(25, limits(100, 1_000, 0));
    market.list("i", 100, 10);
    market.open("a", 100_000);
    market.accept(order("a", Side::Buy, "i", 3));
    market.records()
}

fn import(records: Vec<Record>) -> Result<StateHash, ImportError> {
    State::import((1, 1), records).map(|state| state.state_hash())
}

#[test]
fn the_record_of_the_shard_comes_first() {
    assert_eq!(import(vec![]), Err(ImportError::NoShard));
    let mut records = market_records();
    records.rotate_left(1);
    assert_eq!(import(records), Err(ImportError::NoShard));
}

#[test]
fn no_record_comes_twice() {
    for records in [market_records(), sale_records()] {
        assert!(import(records.clone()).is_ok());
        for record in &records {
            let mut doubled = records.clone();
            doubled.push(record.clone());
            assert!(import(doubled).is_err(), "{record:?}");
        }
    }
}

#[test]
fn a_set_without_its_market_or_sale_is_no_state() {
    for records in [market_records(), sale_records()] {
        let only_the_shard = records.iter().take(1).cloned().collect();
        assert!(matches!(import(only_the_shard), Err(ImportError::Unfit(ApplyError::Unknown(_)))));
        let without = records.iter().filter(|record| !matches!(record, Record::Market(_) | Record::Sale(_))).cloned().collect();
        assert!(import(without).is_err());
    }
}

#[test]
fn a_forged_count_of_seats_fills_no_memory() {
    let with_seats = |seats| {
        let records = sale_records().into_iter().map(move |record| match record {
            Record::Sale(sale) => Record::Sale(SaleRecord { seats, ..sale }),
            other => other,
        });
        records.collect()
    };
    assert_eq!(import(with_seats(u32::MAX)), Err(ImportError::Unfit(ApplyError::OutOfRange("seats"))));
    // A live booking with a seat past the highest one.
    assert_eq!(import(with_seats(1)), Err(ImportError::Unfit(ApplyError::Inconsistent("seat"))));
}

#[test]
fn entries_that_are_not_the_next_are_refused() {
    let mut market = Shard::market(0, limits(100, 1_000, 0));
    let command = Command::new(market.intent(), SetMode { mode: MarketMode::Halted });
    let Decision::Accepted(entry) = market.state.decide(&command, market.at_ms) else { panic!("it is a change") };
    let position = entry.position;
    let gap = |next| Err(ApplyError::Gap { last: Position { epoch: 3, seq: 1 }, next });
    let hash = market.state.state_hash();
    for next in [Position { seq: 1, ..position }, Position { seq: 3, ..position }, Position { epoch: 2, ..position }] {
        assert_eq!(market.state.apply(&Entry { position: next, ..entry.clone() }), gap(next));
    }
    let other = ShardId::sale(name("m"));
    assert_eq!(market.state.apply(&Entry { shard: other, ..entry.clone() }), Err(ApplyError::OtherShard));
    assert_eq!(market.state.apply(&Entry { at_ms: market.at_ms - 1, ..entry.clone() }), Err(ApplyError::TimeRunsBackwards));
    assert_eq!(market.state.apply(&Entry { events: vec![], ..entry.clone() }), Err(ApplyError::Empty));
    let doors = vec![Event::SaleOpenSet(SaleOpenSet { open: true })];
    assert_eq!(market.state.apply(&Entry { events: doors, ..entry.clone() }), Err(ApplyError::WrongShardKind));
    assert_eq!(market.state.state_hash(), hash);
    // An adoption raises the epoch without a gap.
    assert_eq!(market.state.apply(&Entry { position: Position { epoch: 5, ..position }, ..entry }), Ok(()));
    assert_eq!(market.state.epoch(), 5);
}

#[test]
fn an_adopted_state_goes_on_in_the_higher_epoch() {
    let mut sale = Shard::sale();
    sale.state.adopt(2);
    assert_eq!(sale.admit(1, "a").position, Position { epoch: 3, seq: 4 });
    sale.state.adopt(7);
    let entry = sale.admit(2, "a");
    assert_eq!(entry.position, Position { epoch: 7, seq: 5 });
    sale.accept(BeginPayment { booking: entry.position });
}

#[test]
fn positions_of_the_last_adoptions_are_known_and_those_of_another_history_are_not() {
    let mut market = Shard::market(0, limits(100, 1_000, 0));
    let first = market.state.position();
    let mut modes = [MarketMode::Halted, MarketMode::Open].into_iter().cycle();
    for epoch in 10..10 + nevertwice_core::limits::ADOPTIONS_MAX as u32 {
        market.state.adopt(epoch);
        market.accept(SetMode { mode: modes.next().expect("without end") });
        let last = market.accept(SetMode { mode: modes.next().expect("without end") }).position;
        assert!(market.state.contains(last));
        assert!(!market.state.contains(Position { epoch: epoch - 1, ..last }), "another history at the same seq");
        assert!(!market.state.contains(Position { seq: last.seq + 1, ..last }), "not yet");
    }
    assert!(!market.state.contains(first), "its epoch is no longer remembered");
    assert_eq!(import(market.records()), Ok(market.state.state_hash()));
}

#[test]
fn an_audit_needs_the_shard_and_what_it_consists_of() {
    assert_eq!(audit_records([]), Err(Violation::NoShard));
    assert_eq!(audit_records(sale_records().into_iter().take(1)), Err(Violation::NoShard));
    let nothing = State::new(ShardId::sale(name("s")), 0, (0, 0));
    assert_eq!(audit_records(records_of(&nothing)).map(|audited| audited.records), Ok(1));
}

#[test]
fn scans_show_everything_once() {
    let mut sale = Shard::sale();
    for id in 1..=5 {
        let entry = sale.admit(id, "b");
        if id > 2 {
            let Intent { principal, key, .. } = entry.intent.clone();
            let owner = BookingOwner::Intent { principal, key };
            sale.accept(ReleaseBooking { booking: entry.position, owner, reason: ReleaseReason::Operator });
        }
    }
    let (mut cursor, mut seen) = (Some(ScanCursor::default()), Vec::new());
    while let Some(at) = cursor {
        let Ok(View::Bookings(bookings, next)) = sale.state.read(&Query::Bookings { cursor: at }) else { panic!("a sale") };
        seen.extend(bookings.into_iter().map(|booking| booking.booking));
        cursor = next;
    }
    seen.sort_unstable();
    assert_eq!(seen.len(), 5);
    seen.dedup();
    assert_eq!(seen.len(), 5);
    assert_eq!(sale.state.read(&Query::BookingOf { candidate: candidate(3) }), Err(Rejection::UnknownBooking));
}
