//! What became of one tap, out of the journal.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{Backend, Finding, LATER_MAX, Sought};
use nevertwice_core::{
    Admit, BeginPayment, CandidateFact, CandidateId, Entry, Event, ExpireHolds, IdempotencyKey, LoadCandidates, PayHolders, Principal,
    SetSaleOpen, SettleInstrument, Side,
};
use nevertwice_local::LocalBackend;
use nevertwice_local::inspect::Inspection;
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{
    START_MS, accepted, market, name, open, open_at, opening, order, remembered, request, sale, small_options, submit, told, wait, workload,
};

const LONG: Duration = Duration::from_secs(3_600);

fn sought(key: &str) -> Sought {
    let key = IdempotencyKey::new(key).unwrap();
    Sought { shard: None, principal: Principal::new("tests").unwrap(), key, known: Vec::new() }
}

fn follow(backend: &LocalBackend, sought: &Sought) -> Finding {
    backend.history().unwrap().follow(sought, LONG).unwrap()
}

fn kinds(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.events[0].command()).collect()
}

#[test]
fn an_order_is_followed_by_what_became_of_its_holding() {
    let storage = MemoryStorage::new(1);
    let (backend, _) = open(&storage).unwrap();
    opening().iter().for_each(|request| drop(accepted(submit(&backend, request))));
    let send =
        |key: &str, account: &str, side, quantity| accepted(submit(&backend, &request(market(), key, order(account, side, quantity))));
    send("before", "ann", Side::Buy, 5);
    let tap = told(request(market(), "tap", order("ann", Side::Buy, 3)));
    let filled = accepted(submit(&backend, &tap));
    send("other", "ben", Side::Buy, 1);
    send("sold", "ann", Side::Sell, 2);
    accepted(submit(&backend, &request(market(), "settle", SettleInstrument { instrument: name("messi"), price: 90 })));
    accepted(submit(&backend, &request(market(), "pay-ben", PayHolders { instrument: name("messi"), holders: vec![name("ben")] })));
    accepted(submit(&backend, &request(market(), "pay", PayHolders { instrument: name("messi"), holders: vec![name("ann")] })));

    let finding = follow(&backend, &sought("tap"));
    assert!(finding.is_read_to_end() && !finding.is_cut && finding.first_batch == 1);
    let [found] = finding.found.as_slice() else { panic!("{finding:?}") };
    assert_eq!((&found.entry, found.is_in_journal), (&filled, true));
    assert_eq!(found.entry.origin, tap.command.origin);
    assert_eq!(kinds(&found.later), ["place_order", "settle_instrument", "pay_holders"]);
    assert_eq!(found.later_left_out, 0);
    assert_eq!(follow(&backend, &sought("never")).found, []);
    let elsewhere = Sought { shard: Some(sale()), ..sought("tap") };
    assert_eq!(follow(&backend, &elsewhere).found, []);

    drop(backend);
    let inspection = Inspection::open(Arc::new(storage.clone())).unwrap();
    let offline = inspection.follow(&sought("tap")).unwrap().unwrap();
    assert_eq!(offline.found, finding.found);
    assert!(offline.is_read_to_end());
}

#[test]
fn a_booking_is_followed_to_its_end() {
    let storage = MemoryStorage::new(2);
    let (backend, _) = open(&storage).unwrap();
    // The workload's opening of a sale comes after those of the market.
    let opening = workload(1, 6);
    accepted(submit(&backend, opening.last().unwrap()));
    let fact = |id: u8| CandidateFact { candidate: CandidateId([id; 32]), email: None, levels: 1 };
    accepted(submit(&backend, &request(sale(), "load", LoadCandidates { candidates: vec![fact(1), fact(2)] })));
    accepted(submit(&backend, &request(sale(), "doors", SetSaleOpen { open: true })));
    let admit = |id: u8| Admit { candidate: CandidateId([id; 32]), email: None, level: name("stands") };
    let first = accepted(submit(&backend, &request(sale(), "first", admit(1)))).position;
    let second = accepted(submit(&backend, &request(sale(), "second", admit(2)))).position;
    accepted(submit(&backend, &request(sale(), "begin", BeginPayment { booking: first })));
    drop(backend);
    let (backend, _) = open_at(&storage, &small_options(), START_MS + 700_000).unwrap();
    accepted(submit(&backend, &request(sale(), "expire", ExpireHolds { bookings: vec![first, second] })));
    let later = |key: &str| kinds(&follow(&backend, &sought(key)).found[0].later);
    assert_eq!(later("first"), ["begin_payment", "expire_holds"]);
    assert_eq!(later("second"), ["expire_holds"]);
    assert_eq!(later("begin"), ["expire_holds"]);
    assert_eq!(later("doors"), [""; 0]);
}

#[test]
fn later_entries_are_bounded_and_the_newest_are_kept() {
    let storage = MemoryStorage::new(3);
    let (backend, _) = open(&storage).unwrap();
    opening().iter().for_each(|request| drop(accepted(submit(&backend, request))));
    let mut orders = Vec::new();
    for number in 0..LATER_MAX + 8 {
        let side = if number % 2 == 0 { Side::Buy } else { Side::Sell };
        orders.push(accepted(submit(&backend, &request(market(), &format!("o-{number}"), order("ann", side, 1)))));
    }
    let finding = follow(&backend, &sought("o-0"));
    assert_eq!(finding.found[0].later, orders[orders.len() - LATER_MAX..]);
    assert_eq!(finding.found[0].later_left_out, 7);
}

/// What the memory of intents still has is followed although the journal has lost it, and time is bounded.
#[test]
fn what_is_remembered_is_followed_beyond_the_beginning_of_the_journal() {
    let storage = MemoryStorage::new(4);
    let (backend, _) = open(&storage).unwrap();
    opening().iter().for_each(|request| drop(accepted(submit(&backend, request))));
    let first = accepted(submit(&backend, &request(market(), "tap", order("ann", Side::Buy, 3))));
    for number in 0..120 {
        accepted(submit(&backend, &request(market(), &format!("o-{number}"), order("ben", Side::Buy, 1))));
        if number % 40 == 39 {
            wait(backend.snapshot()).unwrap();
        }
    }
    let last = accepted(submit(&backend, &request(market(), "last", order("ann", Side::Sell, 3))));
    let forgotten = follow(&backend, &sought("tap"));
    assert!(forgotten.first_batch > 1, "{}", forgotten.first_batch);
    assert_eq!(forgotten.found, []);
    let known = follow(&backend, &Sought { known: vec![remembered(&first)], ..sought("tap") });
    let [found] = known.found.as_slice() else { panic!("{known:?}") };
    assert_eq!((&found.entry, found.is_in_journal, found.later.as_slice()), (&remembered(&first), false, &[last][..]));
    assert!(matches!(found.later[0].events[0], Event::OrderFilled(_)));

    let hurried = backend.history().unwrap().follow(&sought("tap"), Duration::ZERO).unwrap();
    assert!(!hurried.is_read_to_end() && hurried.read_to >= hurried.first_batch, "{hurried:?}");
}
