//! Where a command came from and what it found: beside the facts, and never a part of them.

use nevertwice_core::fields::Fields as _;
use nevertwice_core::*;
use proptest::prelude::*;

use crate::support::{Shard, candidate, intent, name, order};

fn operator() -> Option<Box<Origin>> {
    Some(Box::new(Origin {
        caller: CallerName::new("desk").expect("it is a name"),
        role: CallerRole::Operator,
        address: Some(PeerAddress::new("127.0.0.1:5000").expect("it is an address")),
        trace: None,
    }))
}

fn told(shard: &mut Shard, action: impl Into<Action>) -> Entry {
    let command = Command::new(shard.intent(), action).with_origin(operator());
    match shard.send(&command) {
        Decision::Accepted(entry) => entry,
        other => panic!("expected an accepted decision: {other:?}"),
    }
}

fn before(shard: &mut Shard, action: impl Into<Action>) -> Option<Before> {
    let entry = told(shard, action);
    assert_eq!(entry.origin, operator());
    entry.before.map(|before| *before)
}

fn trading() -> Shard {
    let mut market = Shard::market(25, crate::support::limits(100, 1_000, 10_000));
    market.list("i", 100, 10);
    market.open("a", 10_000);
    market.accept(order("a", Side::Buy, "i", 5));
    market
}

#[test]
fn an_entry_tells_what_an_instrument_was_before() {
    let mut market = trading();
    let instrument = |state, base, price, house_loss| Some(Before::Instrument(InstrumentBefore { state, base, price, house_loss }));
    let reprice = before(&mut market, Reprice { instrument: name("i"), base: 90 });
    assert_eq!(reprice, instrument(InstrumentState::Active, 100, 150, 0));
    assert_eq!(before(&mut market, Freeze { instrument: name("i") }), None, "its event says that it was active");
    let settle = before(&mut market, SettleInstrument { instrument: name("i"), price: 7 });
    assert_eq!(settle, instrument(InstrumentState::Frozen, 90, 140, -50));
}

#[test]
fn an_entry_tells_what_a_sale_was_before() {
    let mut sale = Shard::sale();
    let level = |level: &str, cap| LevelCap { level: name(level), cap };
    let changes = vec![level("none", None), level("a", Some(1))];
    let caps = before(&mut sale, SetCaps { levels: changes, total_cap: Some(9) });
    let levels = vec![level("none", Some(0)), level("a", Some(2))];
    assert_eq!(caps, Some(Before::Caps(CapsBefore { levels, total_cap: 5 })));

    // A new one, a known one, and the known one again: of several with one id the last counts.
    let fact = |id, levels| CandidateFact { candidate: candidate(id), email: Some([9; 32]), levels };
    let loaded = before(&mut sale, LoadCandidates { candidates: vec![fact(99, 1), fact(1, 1), fact(1, 2)] });
    let known = Some(KnownCandidate { email: None, levels: 0b111 });
    assert_eq!(loaded, Some(Before::Candidates(CandidatesBefore { known: vec![None, known.clone(), known] })));
    let again = before(&mut sale, LoadCandidates { candidates: vec![fact(1, 7)] });
    let known = Some(KnownCandidate { email: Some([9; 32]), levels: 2 });
    assert_eq!(again, Some(Before::Candidates(CandidatesBefore { known: vec![known] })));

    let booking = sale.admit(2, "b").position;
    sale.accept(BeginPayment { booking });
    let payment = PaymentId::of(sale.state.shard(), booking).expect("it is a payment id");
    let confirmed = before(&mut sale, ConfirmPayment { booking, payment });
    assert_eq!(confirmed, Some(Before::Booking(BookingBefore { state: BookingState::Paying })));
    let Entry { position: booking, intent: Intent { principal, key, .. }, .. } = sale.admit(3, "b");
    let owner = BookingOwner::Intent { principal, key };
    let released = before(&mut sale, ReleaseBooking { booking, owner, reason: ReleaseReason::Operator });
    assert_eq!(released, Some(Before::Booking(BookingBefore { state: BookingState::Admitted })));
}

/// The same commands with and without an origin: the same facts, the same state, the same replay.
#[test]
fn an_origin_is_no_part_of_what_is_decided() {
    let (mut plain, mut told) = (trading(), trading());
    let command = Command::new(intent("once", 1), Reprice { instrument: name("i"), base: 90 });
    let from_elsewhere = command.clone().with_origin(operator());
    let (Decision::Accepted(entry), Decision::Accepted(told_entry)) = (plain.send(&command), told.send(&from_elsewhere)) else {
        panic!("both are accepted")
    };
    assert_eq!((&entry.origin, &entry.before), (&None, &None));
    assert_eq!(told_entry.origin, operator());
    assert_eq!(Entry { origin: None, before: None, ..told_entry.clone() }, entry);
    assert_eq!(plain.state.state_hash(), told.state.state_hash());
    // It is not remembered with the intent, and another way is no other request.
    assert_eq!(told.send(&command), Decision::Replayed(entry.clone()));
    assert_eq!(plain.send(&from_elsewhere), Decision::Replayed(entry));
}

#[test]
fn an_order_finds_nothing_that_it_would_have_to_tell() {
    let mut market = trading();
    assert_eq!(before(&mut market, order("a", Side::Buy, "i", 1)), None);
}

/// What an operator alone can do is the operator's, told or not; what others do too is only where an operator is told.
#[test]
fn it_is_told_what_operators_did() {
    let mut market = trading();
    assert!(!market.accept(order("a", Side::Buy, "i", 1)).is_operators());
    assert!(!told(&mut market, order("a", Side::Buy, "i", 1)).is_operators(), "an order is an order, whoever sends it");
    assert!(market.accept(Freeze { instrument: name("i") }).is_operators());
    assert!(market.accept(SettleInstrument { instrument: name("i"), price: 90 }).is_operators());
    assert!(!market.accept(PayHolders { instrument: name("i"), holders: vec![name("a")] }).is_operators());
    let mut sale = Shard::sale();
    let mut release = |reason, origin: Option<CallerRole>| {
        let Entry { position: booking, intent: Intent { principal, key, .. }, .. } = sale.admit(1, "b");
        let owner = BookingOwner::Intent { principal, key };
        let origin = origin.map(|role| Box::new(Origin { role, ..*operator().expect("it is told") }));
        let command = Command::new(sale.intent(), ReleaseBooking { booking, owner, reason }).with_origin(origin);
        let Decision::Accepted(entry) = sale.send(&command) else { panic!("it is released") };
        entry.is_operators()
    };
    assert!(!release(ReleaseReason::Cancelled, None));
    assert!(!release(ReleaseReason::Cancelled, Some(CallerRole::Service)));
    assert!(release(ReleaseReason::Cancelled, Some(CallerRole::Operator)));
    assert!(release(ReleaseReason::Operator, None));
}

#[test]
fn an_event_names_the_command_that_made_it() {
    let mut bench = crate::support::Bench::new(43, nevertwice_core::model::WorkloadOptions::default());
    let mut words = std::collections::BTreeSet::new();
    for _ in 0..8_000 {
        let (step, decision) = bench.step();
        if let Decision::Accepted(entry) = decision {
            assert_eq!(entry.events[0].command(), step.command.action.word());
            words.insert(entry.events[0].command());
        }
    }
    assert_eq!(words.len(), 20, "{words:?}");
}

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_trace_context_is_read_as_the_header_has_it() {
    let trace: TraceContext = TRACE.parse().expect("it is one");
    assert_eq!(trace.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!((trace.parent_id(), trace.flags()), (0x00f0_67aa_0ba9_02b7, 1));
    assert_eq!(trace.to_string(), TRACE);
    let later = trace.child(7).expect("the step has an id");
    assert_eq!(later.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01");
    assert_eq!(trace.child(0), None);
    // Of a newer version what version 00 defines counts, and flags that it does not define are dropped.
    for newer in [
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later",
        "fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fd",
    ] {
        assert_eq!(newer.parse(), Ok(trace), "{newer}");
    }
}

#[test]
fn what_is_no_trace_context_is_ignored() {
    for text in [
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
        "0X-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "+0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e47-00f067aa0ba902b7-0001",
        "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
    ] {
        assert_eq!(text.parse::<TraceContext>(), Err(NotATrace), "{text}");
    }
}

proptest! {
    #[test]
    fn every_trace_context_goes_there_and_back(trace_id in 1_u128.., parent_id in 1_u64.., flags in any::<u8>()) {
        let trace = TraceContext::new(trace_id, parent_id, flags).expect("neither is zero");
        prop_assert_eq!(trace.to_string().parse(), Ok(trace));
        prop_assert_eq!((trace.trace_id(), trace.parent_id(), trace.flags()), (trace_id, parent_id, flags & TraceContext::FLAGS));
        let bytes = crate::fields::put(&trace);
        prop_assert_eq!(bytes.len(), 25);
        prop_assert_eq!(TraceContext::take(&mut crate::fields::Reader(&bytes)), Ok(trace));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,70}") {
        let _ = text.parse::<TraceContext>();
    }
}
