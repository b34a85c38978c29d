//! Repricing, settling and paying out, at the bounds of what the house may lose and an amount can be.

use nevertwice_core::limits::{AMOUNT_MAX, HOUSE_LOSS_MAX, ISSUANCE_MAX, NOTIONAL_MAX, PAY_HOLDERS_MAX};
use nevertwice_core::*;

use crate::support::{Shard, limits, name, order, records_of};

fn reprice(base: i64) -> Reprice {
    Reprice { instrument: name("i"), base }
}

fn settle(price: i64) -> SettleInstrument {
    SettleInstrument { instrument: name("i"), price }
}

fn pay(holders: &[&str]) -> PayHolders {
    PayHolders { instrument: name("i"), holders: holders.iter().map(|holder| name(holder)).collect() }
}

/// Ten shares of `i` at base 100, slope 10 are held; the house may lose 1,000.
fn market() -> Shard {
    let mut market = Shard::market(0, limits(100, 1_000, 1_000));
    market.list("i", 100, 10);
    for account in ["a", "b"] {
        market.open(account, 100_000);
    }
    market.accept(order("a", Side::Buy, "i", 6));
    market.accept(order("b", Side::Buy, "i", 4));
    market
}

#[test]
fn repricing_stops_at_what_the_house_may_lose() {
    let mut market = market();
    assert_eq!(market.refuse(reprice(201)), Rejection::HouseLossExceeded { loss: 1_010, house_loss_max: 1_000 });
    market.accept(reprice(200));
    market.accept(order("a", Side::Sell, "i", 6));
    // What was lost by selling at the higher base stays lost.
    assert_eq!(market.refuse(reprice(201)), Rejection::HouseLossExceeded { loss: 1_004, house_loss_max: 1_000 });
    market.accept(reprice(0));
    assert_eq!(market.refuse(reprice(0)), Rejection::NoChange);
    market.accept(order("b", Side::Sell, "i", 4));
    // A share that costs more than an order may move could not be sold any more.
    assert_eq!(market.refuse(reprice(NOTIONAL_MAX + 1)), Rejection::AmountTooLarge);
    market.accept(reprice(NOTIONAL_MAX));
}

#[test]
fn a_settled_instrument_is_settled_once_and_for_all() {
    let mut market = market();
    // 10 * 255 is owed, 1,550 was paid: the loss is just what it may be.
    assert_eq!(market.refuse(settle(256)), Rejection::HouseLossExceeded { loss: 1_010, house_loss_max: 1_000 });
    assert_eq!(market.refuse(pay(&["a"])), Rejection::InstrumentNotSettled);
    market.accept(settle(255));
    let settled = Rejection::InstrumentSettled { price: 255 };
    assert_eq!(market.refuse(settle(255)), settled);
    assert_eq!(market.refuse(reprice(1)), settled);
    assert_eq!(market.refuse(Freeze { instrument: name("i") }), settled);
    assert_eq!(market.refuse(Unfreeze { instrument: name("i") }), settled);
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 1)), settled);

    let before = market.account("a").balance;
    market.accept(pay(&["nobody", "a", "a"]));
    assert_eq!((market.instrument("i").net, market.account("a").balance), (4, before + 6 * 255));
    assert_eq!(market.refuse(pay(&["a"])), Rejection::NothingDue);
    market.accept(pay(&["a", "b"]));
    assert_eq!((market.instrument("i").net, market.instrument("i").cash), (0, -1_000));
}

#[test]
fn a_frozen_instrument_can_be_repriced_and_settled() {
    let mut market = market();
    market.accept(Freeze { instrument: name("i") });
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 1)), Rejection::InstrumentFrozen);
    market.accept(reprice(90));
    market.accept(settle(0));
    market.accept(pay(&["a", "b"]));
}

#[test]
fn at_most_so_many_holders_are_paid_at_once() {
    let mut market = market();
    market.accept(settle(1));
    let many = |count| PayHolders { instrument: name("i"), holders: vec![name("a"); count] };
    for count in [0, PAY_HOLDERS_MAX + 1] {
        let refused = market.refuse(many(count));
        assert!(matches!(refused, Rejection::SettingOutOfRange { setting: "holders", .. }), "{refused:?}");
    }
    market.accept(many(PAY_HOLDERS_MAX));
}

#[test]
fn no_more_is_issued_than_a_market_may_issue() {
    let mut market = Shard::market(0, limits(1, 1, 0));
    let class = AccountClass::Bot;
    let open = |account: &str, opening_balance| OpenAccount { account: name(account), class, opening_balance };
    assert_eq!(market.refuse(open("a", ISSUANCE_MAX + 1)), Rejection::IssuanceExceeded { remaining: ISSUANCE_MAX });
    market.accept(open("a", ISSUANCE_MAX - 5));
    assert_eq!(market.refuse(open("b", 6)), Rejection::IssuanceExceeded { remaining: 5 });
    market.accept(open("b", 5));
    assert_eq!(market.refuse(open("c", 1)), Rejection::IssuanceExceeded { remaining: 0 });
    market.accept(open("c", 0));
}

/// A market whose house won very much with `i` and lost as much with `j`, as many repricings could make it.
fn lopsided(cash: i64) -> State {
    let mut market = Shard::market(0, limits(100, 1_000, HOUSE_LOSS_MAX));
    market.list("i", 100, 0);
    market.list("j", 100, 0);
    market.open("a", 100_000);
    market.accept(order("a", Side::Buy, "i", 10));
    market.accept(order("a", Side::Buy, "j", 10));
    let records = market.records().into_iter().map(|record| match record {
        Record::Instrument(it) if it.instrument == name("i") => Record::Instrument(InstrumentRecord { cash, ..it }),
        Record::Instrument(it) => Record::Instrument(InstrumentRecord { cash: 2_000 - cash, ..it }),
        other => other,
    });
    let state = State::import((1, 2), records).expect("the records fit");
    nevertwice_core::model::audit_records(records_of(&state)).expect("the house's loss is as before");
    state
}

fn ask(state: &mut State, key: &str, action: impl Into<Action>) -> Result<(), Rejection> {
    match state.decide(&Command::new(crate::support::intent(key, 1), action), 0) {
        Decision::Accepted(entry) => {
            state.apply(&entry).expect("what was accepted fits");
            Ok(())
        }
        Decision::Rejected(rejection) => Err(rejection),
        Decision::Replayed(_) => panic!("each key is fresh"),
    }
}

#[test]
fn an_accepted_order_fits_however_lopsided_the_houses_cash_is() {
    let mut state = lopsided(AMOUNT_MAX - 50);
    assert_eq!(ask(&mut state, "1", order("a", Side::Buy, "i", 1)), Err(Rejection::AmountTooLarge));
    assert_eq!(ask(&mut state, "2", order("a", Side::Sell, "j", 10)), Ok(()));
    assert_eq!(ask(&mut state, "3", order("a", Side::Sell, "i", 10)), Ok(()));
}

#[test]
fn nothing_is_fixed_that_could_not_be_paid() {
    // `j` has a cash of 2,050 - AMOUNT_MAX: 2,050 for ten shares can still be paid, and not one more each.
    let mut state = lopsided(AMOUNT_MAX - 50);
    let settle = |price| SettleInstrument { instrument: name("j"), price };
    assert_eq!(ask(&mut state, "1", settle(206)), Err(Rejection::AmountTooLarge));
    assert_eq!(ask(&mut state, "2", Reprice { instrument: name("j"), base: 206 }), Err(Rejection::AmountTooLarge));
    assert_eq!(ask(&mut state, "3", settle(205)), Ok(()));
    assert_eq!(ask(&mut state, "4", PayHolders { instrument: name("j"), holders: vec![name("a")] }), Ok(()));
}
