//! The auditor can fail: each planted fault is found, and called by its name.

use nevertwice_core::model::{Auditor, Violation, audit_records};
use nevertwice_core::*;

use crate::support::{RETENTION_MS, START_MS, Shard, candidate, intent, limits, name, order};

/// Two accounts hold 5 and 3 shares of `i`; `j` is settled with one share still to be paid.
fn market() -> Shard {
    let mut market = Shard::market(25, limits(100, 1_000, 1_000));
    market.list("i", 100, 10);
    market.list("j", 50, 0);
    for account in ["a", "b"] {
        market.open(account, 10_000);
    }
    market.accept(order("a", Side::Buy, "i", 5));
    market.accept(order("b", Side::Buy, "i", 3));
    market.accept(order("b", Side::Buy, "j", 1));
    market.accept(SettleInstrument { instrument: name("j"), price: 40 });
    market
}

/// Candidates 1 and 2 on `a`, 3 on `b` and paying, 4 released.
fn sale() -> Shard {
    let mut sale = Shard::sale();
    sale.admit(1, "a");
    sale.admit(2, "a");
    let paying = sale.admit(3, "b").position;
    sale.accept(BeginPayment { booking: paying });
    let released = sale.admit(4, "b");
    let Intent { principal, key, .. } = released.intent;
    let owner = BookingOwner::Intent { principal, key };
    sale.accept(ReleaseBooking { booking: released.position, owner, reason: ReleaseReason::Cancelled });
    sale
}

/// What an audit says once `doctor` has changed some of the records; it returns whether it did.
fn doctored(shard: &Shard, mut doctor: impl FnMut(&mut Record) -> bool) -> Violation {
    let mut records = shard.records();
    assert!(audit_records(records.clone()).is_ok(), "sound before");
    let changed = records.iter_mut().map(&mut doctor).filter(|changed| *changed).count();
    assert!(changed > 0, "something was changed");
    let violation = audit_records(records).expect_err("a planted fault is found");
    assert!(!violation.to_string().is_empty());
    violation
}

macro_rules! doctor {
    ($kind:ident, $record:ident if $which:expr => $change:expr) => {
        |record| match record {
            Record::$kind($record) if $which => {
                $change;
                true
            }
            _ => false,
        }
    };
}

#[test]
fn planted_faults_in_a_market_are_found() {
    let market = market();
    assert_eq!(doctored(&market, doctor!(Account, it if it.account == name("a") => it.balance += 1)), Violation::NotConserved { sum: 1 });
    assert_eq!(doctored(&market, doctor!(Market, it if true => it.fees += 2)), Violation::NotConserved { sum: 2 });
    let minted = doctored(&market, doctor!(Account, it if it.account == name("a") => it.balance = -1));
    assert_eq!(minted, Violation::NegativeBalance { account: name("a"), balance: -1 });
    let shares = doctored(&market, doctor!(Holding, it if it.account == name("a") => it.shares += 1));
    assert_eq!(shares, Violation::HoldingsNotNet { instrument: name("i"), holdings: 9, net: 8 });
    let net = doctored(&market, doctor!(Instrument, it if it.instrument == name("i") => it.net -= 1));
    assert_eq!(net, Violation::HoldingsNotNet { instrument: name("i"), holdings: 8, net: 7 });
    let moved = |record: &mut Record| match record {
        Record::Holding(it) if it.instrument == name("i") => {
            it.shares += if it.account == name("a") { 4 } else { -4 };
            true
        }
        _ => false,
    };
    assert!(matches!(doctored(&market, moved), Violation::NoShares { shares: -1, .. }));
    let score = doctored(&market, doctor!(Holding, it if it.account == name("a") => it.marked_profit += 1));
    assert!(matches!(score, Violation::ScoreNotSum { account, score, sum } if account == name("a") && sum == i128::from(score) + 1));
    let loss = doctored(&market, doctor!(Market, it if true => it.house_loss += 1));
    assert_eq!(loss, Violation::HouseLossMiscounted { found: -9, counted: -10 });
    let base = doctored(&market, doctor!(Instrument, it if it.instrument == name("i") => it.base += 1));
    assert_eq!(base, Violation::HouseLossMiscounted { found: -10, counted: -2 });
    let at_risk = |record: &mut Record| match record {
        Record::Instrument(it) if it.instrument == name("j") => {
            it.settled_price = 1_051;
            true
        }
        Record::Market(it) => {
            it.house_loss = 1_001;
            true
        }
        _ => false,
    };
    assert_eq!(doctored(&market, at_risk), Violation::HouseLossExceeded { loss: 1_001, house_loss_max: 1_000 });
    let lost = doctored(&market, doctor!(Holding, it if it.account == name("a") => it.account = name("c")));
    assert!(matches!(lost, Violation::Dangling { names: "account", .. }));
    let price = doctored(&market, doctor!(Instrument, it if it.instrument == name("i") => it.settled_price = 1));
    assert!(matches!(price, Violation::OutOfRange { figure: "settled_price", found: 1, .. }));
}

#[test]
fn planted_faults_in_a_sale_are_found() {
    let sale = sale();
    let of = |id| candidate(id);
    let cap = doctored(&sale, doctor!(Level, it if it.level == name("a") => it.cap = Some(1)));
    assert_eq!(cap, Violation::LevelOverCap { level: name("a"), live: 2, cap: 1 });
    assert_eq!(doctored(&sale, doctor!(Sale, it if true => it.total_cap = 2)), Violation::SaleOverCap { live: 3, cap: 2 });
    let counter = doctored(&sale, doctor!(Sale, it if true => it.live -= 1));
    assert!(matches!(counter, Violation::Miscounted { found: 2, counted: 3, .. }));
    let counter = doctored(&sale, doctor!(Level, it if it.level == name("b") => it.live = 0));
    assert!(matches!(counter, Violation::Miscounted { found: 0, counted: 1, .. }));
    let seats = doctored(&sale, doctor!(Sale, it if true => it.seats += 1));
    assert!(matches!(seats, Violation::Miscounted { found: 5, counted: 4, .. }));
    let seat = doctored(&sale, doctor!(Booking, it if it.candidate == of(2) => it.seat = 1));
    assert!(matches!(seat, Violation::SeatTakenTwice { seat: 1, .. }));
    let twice = doctored(&sale, doctor!(Booking, it if it.candidate == of(2) => it.candidate = of(1)));
    assert!(matches!(twice, Violation::CandidateBookedTwice { .. }));
    let unpaid = doctored(&sale, doctor!(Booking, it if it.candidate == of(1) => it.state = BookingState::Paid));
    assert!(matches!(unpaid, Violation::PaymentMismatch { state: BookingState::Paid, .. }));
    let payment = PaymentId::new("s.1-1").expect("a payment id");
    let foreign = doctored(&sale, doctor!(Booking, it if it.candidate == of(3) => it.payment = Some(payment.clone())));
    assert!(matches!(foreign, Violation::PaymentMismatch { state: BookingState::Paying, .. }));
    let revived = doctored(&sale, doctor!(Booking, it if it.candidate == of(4) => it.state = BookingState::Admitted));
    assert!(matches!(revived, Violation::Miscounted { .. }));
    let nobody = doctored(&sale, doctor!(Booking, it if it.candidate == of(4) => it.candidate = of(99)));
    assert!(matches!(nobody, Violation::Dangling { names: "candidate", .. }));
    let late = doctored(&sale, doctor!(Booking, it if it.candidate == of(4) => it.booking.seq = 99));
    assert!(matches!(late, Violation::Gap { .. }));
    let bits = doctored(&sale, doctor!(Candidate, it if it.candidate == of(1) => it.levels = 0b1000));
    assert!(matches!(bits, Violation::Dangling { names: "level", .. }));
}

#[test]
fn planted_faults_in_the_memory_of_intents_are_found() {
    let market = market();
    let mut records = market.records();
    let Some(Record::Intent(last)) = records.last().cloned() else { panic!("intents come last") };
    records.push(Record::Intent(IntentRecord { position: Position { epoch: 3, seq: 1 }, ..last.clone() }));
    let violation = audit_records(records).expect_err("a key is remembered twice");
    assert!(matches!(violation, Violation::AcceptedTwice { first, again } if first.seq == 1 && again == last.position));
    let stale = doctored(&market, doctor!(Intent, it if it.position == last.position => it.at_ms = START_MS - RETENTION_MS));
    assert!(matches!(stale, Violation::OutOfRange { figure: "instant", .. }));
    let late = doctored(&market, doctor!(Intent, it if it.position == last.position => it.intent.expires_at = Some(START_MS)));
    assert_eq!(late, Violation::AcceptedOutOfTime { expires_at: START_MS, at_ms: START_MS });
    let ahead = doctored(&market, doctor!(Intent, it if it.position == last.position => it.position.seq = 1_000));
    assert!(matches!(ahead, Violation::OutOfRange { figure: "seq", .. }));
    let same = doctored(&market, doctor!(Intent, it if it.position == last.position => it.position.seq = 1));
    assert!(matches!(same, Violation::Gap { .. }));
}

/// What an auditor that followed all says of one more entry, made of a real decision by `doctor`.
fn follow(shard: &mut Shard, action: impl Into<Action>, doctor: impl Fn(&mut Entry)) -> Violation {
    let command = Command::new(shard.intent(), action);
    let Decision::Accepted(entry) = shard.state.decide(&command, shard.at_ms) else { panic!("it is accepted") };
    let mut wrong = entry.clone();
    doctor(&mut wrong);
    assert_ne!(wrong, entry, "something was changed");
    let violation = shard.auditor.judge(&command, shard.at_ms, &Decision::Accepted(wrong)).expect_err("a planted fault is found");
    assert!(!violation.to_string().is_empty());
    violation
}

macro_rules! event {
    ($kind:ident, $event:ident => $change:expr) => {
        |entry: &mut Entry| match entry.events.as_mut_slice() {
            [Event::$kind($event)] => $change,
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn planted_faults_in_an_order_are_found() {
    let buy = || order("a", Side::Buy, "i", 2);
    let figure = |violation| match violation {
        Violation::WrongFigure { figure, found, expected } => (figure, found - expected),
        other => panic!("{other:?}"),
    };
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.notional -= 1))), ("notional", -1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.fee -= 1))), ("fee", -1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.balance += 1))), ("balance", 1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.net += 1))), ("net", 1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.holding += 1))), ("holding", 1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.price_after += 1))), ("price after", 1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.cost += 1))), ("cost", 1));
    assert_eq!(figure(follow(&mut market(), buy(), event!(OrderFilled, it => it.marked_score += 1))), ("marked score", 1));
    let other = follow(&mut market(), buy(), event!(OrderFilled, it => it.quantity = 1));
    assert_eq!(other, Violation::NotWhatWasAsked { what: "quantity" });
    assert!(matches!(follow(&mut market(), buy(), |it| it.position.seq += 1), Violation::Gap { .. }));
    assert!(matches!(follow(&mut market(), buy(), |it| it.position.epoch -= 1), Violation::Gap { .. }));
    assert!(matches!(follow(&mut market(), buy(), |it| it.at_ms -= 1), Violation::WrongFigure { figure: "instant", .. }));
    assert_eq!(follow(&mut market(), buy(), |it| it.intent.fingerprint = [0; 32]), Violation::OtherIntent);
    assert_eq!(follow(&mut market(), buy(), |it| it.events.clear()), Violation::NotWhatWasAsked { what: "number of events" });
    let elsewhere = follow(&mut market(), buy(), |it| it.shard = ShardId::sale(name("m")));
    assert!(matches!(elsewhere, Violation::OtherShard { .. }));
    let pay = PayHolders { instrument: name("j"), holders: vec![name("b")] };
    assert_eq!(figure(follow(&mut market(), pay, event!(HoldersPaid, it => it.payouts[0].amount += 1))), ("payout", 1));
    let loss = follow(&mut market(), Reprice { instrument: name("i"), base: 90 }, event!(InstrumentRepriced, it => it.house_loss += 1));
    assert_eq!(figure(loss), ("house loss", 1));
}

#[test]
fn planted_faults_in_an_admission_are_found() {
    let admit = || Admit { candidate: candidate(5), email: None, level: name("b") };
    let taken = follow(&mut sale(), admit(), event!(CandidateAdmitted, it => it.seat = 1));
    assert!(matches!(taken, Violation::SeatTakenTwice { seat: 1, .. }));
    let higher = follow(&mut sale(), admit(), event!(CandidateAdmitted, it => it.seat = 5));
    assert_eq!(higher, Violation::SeatNotLowest { seat: 5, lowest: 4 });
    let twice = follow(&mut sale(), admit(), event!(CandidateAdmitted, it => it.candidate = candidate(1)));
    assert_eq!(twice, Violation::NotWhatWasAsked { what: "candidate" });
    let counter = follow(&mut sale(), admit(), event!(CandidateAdmitted, it => it.live += 1));
    assert!(matches!(counter, Violation::WrongFigure { figure: "live bookings", .. }));

    // Entries alone, as a journal has them.
    let entry = |sale: &mut Shard, event: Event| Entry {
        shard: sale.state.shard().clone(),
        position: Position { epoch: 3, seq: sale.state.position().seq + 1 },
        at_ms: sale.at_ms,
        intent: sale.intent(),
        events: vec![event],
        origin: None,
        before: None,
    };
    let admitted = |id, level: &str| {
        let hold_expires_at = START_MS + crate::support::HOLD_MS;
        Event::CandidateAdmitted(CandidateAdmitted {
            candidate: candidate(id),
            level: name(level),
            seat: 4,
            hold_expires_at,
            level_live: 3,
            live: 4,
        })
    };
    let mut sale = sale();
    let over = entry(&mut sale, admitted(5, "a"));
    assert_eq!(sale.auditor.follow(&over), Err(Violation::LevelOverCap { level: name("a"), live: 3, cap: 2 }));
    let again = entry(&mut sale, admitted(1, "b"));
    assert!(matches!(sale.auditor.follow(&again), Err(Violation::CandidateBookedTwice { .. })));
    let released = Position { epoch: 3, seq: 8 };
    let ended = entry(&mut sale, Event::BookingReleased(BookingReleased { booking: released, seat: 4, reason: ReleaseReason::Operator }));
    assert_eq!(sale.auditor.follow(&ended), Err(Violation::EndedTwice { booking: released, ended: BookingState::Released }));
    let early = Position { epoch: 3, seq: 4 };
    let hold = HoldEnd { booking: early, seat: 1, state: BookingState::Released };
    let expired = entry(&mut sale, Event::HoldsExpired(HoldsExpired { holds: vec![hold] }));
    assert!(matches!(sale.auditor.follow(&expired), Err(Violation::EndedEarly { booking, .. }) if booking == early));
    let payment = PaymentId::of(sale.state.shard(), early).expect("a payment id");
    let stolen = entry(&mut sale, Event::PaymentConfirmed(PaymentConfirmed { booking: Position { epoch: 3, seq: 6 }, payment }));
    assert!(matches!(sale.auditor.follow(&stolen), Err(Violation::NotItsOwner { .. })));
}

#[test]
fn a_release_by_a_stranger_is_found() {
    let mut sale = sale();
    let booking = Position { epoch: 3, seq: 4 };
    let stranger = intent("stranger", 1);
    let owner = BookingOwner::Intent { principal: stranger.principal.clone(), key: stranger.key.clone() };
    let command = Command::new(stranger, ReleaseBooking { booking, owner, reason: ReleaseReason::Cancelled });
    let entry = Entry {
        shard: sale.state.shard().clone(),
        position: Position { epoch: 3, seq: sale.state.position().seq + 1 },
        at_ms: sale.at_ms,
        intent: command.intent.clone(),
        events: vec![Event::BookingReleased(BookingReleased { booking, seat: 1, reason: ReleaseReason::Cancelled })],
        origin: None,
        before: None,
    };
    let judged = sale.auditor.judge(&command, sale.at_ms, &Decision::Accepted(entry));
    assert_eq!(judged, Err(Violation::NotItsOwner { booking }));
}

#[test]
fn wrong_answers_are_found() {
    let mut market = market();
    let command = Command::new(intent("once", 1), order("a", Side::Buy, "i", 1));
    let Decision::Accepted(entry) = market.send(&command) else { panic!("it is affordable") };
    let mut judge = |command: &Command, decision| market.auditor.judge(command, START_MS, &decision).expect_err("it is wrong");

    let mut other = entry.clone();
    other.events = vec![Event::ModeSet(ModeSet { mode_before: MarketMode::Open, mode: MarketMode::Halted })];
    let first = entry.position;
    assert_eq!(judge(&command, Decision::Replayed(other)), Violation::ReplayDiffers { first });
    let again = Position { seq: first.seq + 1, ..first };
    let twice = Entry { position: again, ..entry.clone() };
    assert_eq!(judge(&command, Decision::Accepted(twice)), Violation::AcceptedTwice { first, again });
    let no = |rejection| Decision::Rejected(rejection);
    assert_eq!(judge(&command, no(Rejection::UnknownAccount)), Violation::Forgotten { first });
    assert_eq!(judge(&command, no(Rejection::FingerprintMismatch { position: first })), Violation::Forgotten { first });
    let unknown = Command { intent: intent("never", 1), ..command.clone() };
    assert_eq!(judge(&unknown, Decision::Replayed(entry.clone())), Violation::ReplayOfUnknown { position: first });
    let mismatched = Command { intent: intent("once", 2), ..command.clone() };
    assert_eq!(judge(&mismatched, Decision::Replayed(entry)), Violation::NotWhatWasAsked { what: "fingerprint" });

    for untrue in [
        Rejection::InsufficientBalance { balance: 5, required: 6 },
        Rejection::InsufficientHolding { holding: 0 },
        Rejection::UnknownAccount,
        Rejection::UnknownInstrument,
        Rejection::InstrumentFrozen,
        Rejection::MarketClosed { mode: MarketMode::Open },
        Rejection::AmountTooLarge,
        Rejection::HoldingTooLarge { holding_max: 1_000 },
        Rejection::IntentExpired { expires_at: 0 },
        Rejection::InvariantBroken { what: "anything" },
    ] {
        let code = untrue.code();
        assert_eq!(judge(&unknown, no(untrue)), Violation::UntrueRejection { code });
    }
}

#[test]
fn untrue_rejections_of_an_admission_are_found() {
    let mut sale = sale();
    let admit = Admit { candidate: candidate(5), email: None, level: name("b") };
    let command = Command::new(intent("k", 1), admit);
    for untrue in [
        Rejection::SaleClosed,
        Rejection::SaleNotStarted { opens_at: START_MS },
        Rejection::SaleEnded { closed_at: START_MS + 100_000 },
        Rejection::UnknownCandidate,
        Rejection::EmailMismatch,
        Rejection::UnknownLevel,
        Rejection::LevelNotAllowed,
        Rejection::LevelFull { cap: 2 },
        Rejection::SaleFull { cap: 5 },
        Rejection::NotOwner,
    ] {
        let code = untrue.code();
        let judged = sale.auditor.judge(&command, START_MS, &Decision::Rejected(untrue));
        assert_eq!(judged, Err(Violation::UntrueRejection { code }));
    }
}

#[test]
fn an_answer_that_changed_the_state_is_found() {
    let mut market = market();
    market.refuse(order("nobody", Side::Buy, "i", 1));
    let refused = Command::new(intent("k", 1), order("nobody", Side::Buy, "i", 1));
    let decision = market.state.decide(&refused, START_MS);
    // Something else happened to the state beside the answer.
    let Decision::Accepted(entry) = market.state.decide(&Command::new(intent("x", 1), SetMode { mode: MarketMode::Halted }), START_MS)
    else {
        panic!("it is a change")
    };
    market.state.apply(&entry).expect("it fits");
    let checked = market.auditor.check(&market.state, &refused, START_MS, &decision);
    assert_eq!(checked.map(|_| ()), Err(Violation::AnswerChangedState { answer: "unknown_account" }));
}

#[test]
fn a_state_that_does_not_follow_from_its_history_is_found() {
    let mut market = market();
    let mut other = Auditor::new(market.state.shard().clone());
    let compared = other.compare(&market.state);
    assert!(matches!(compared, Err(Violation::RecordDiffers { .. } | Violation::RecordUnexpected { .. })), "{compared:?}");
    // Sound in itself, but not what happened: two accounts swapped their figures.
    let records = market.records().into_iter().map(|record| match record {
        Record::Account(it) if it.class == AccountClass::Player => Record::Account(AccountRecord { class: AccountClass::Bot, ..it }),
        other => other,
    });
    let state = State::import((1, 1), records).expect("the records fit");
    assert!(matches!(market.auditor.compare(&state), Err(Violation::RecordDiffers { .. })));
    let without = market.records().into_iter().filter(|record| !matches!(record, Record::Intent(_)));
    let state = State::import((1, 1), without).expect("the records fit");
    assert!(matches!(market.auditor.compare(&state), Err(Violation::RecordMissing { .. })));
}
