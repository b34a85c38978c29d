//! Orders: cycles, splits, guards and balances at their edges.

use nevertwice_core::limits::{AMOUNT_MAX, BPS, HOLDING_MAX, NOTIONAL_MAX};
use nevertwice_core::{Event, MarketMode, Query, Rejection, Reprice, SetMode, Side, View};
use proptest::prelude::*;

use crate::support::{Shard, filled, limits, name, order};

fn market(fee_bps: i64, base: i64, slope: i64) -> Shard {
    let mut market = Shard::market(fee_bps, limits(10_000, 100_000, 0));
    market.list("i", base, slope);
    for account in ["a", "b"] {
        market.open(account, 1_000_000_000_000);
    }
    market
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_closed_cycle_returns_what_was_paid_less_fees(
        base in 0..5_000_i64, slope in 1..50_i64, fee_bps in 0..=500_i64, buys in prop::collection::vec(1..60_i64, 1..6), cut in 1..40_i64,
    ) {
        let mut market = market(fee_bps, base, slope);
        market.accept(order("b", Side::Buy, "i", 7));
        let before = (market.instrument("i"), market.account("a").balance);
        let (mut fees, mut held) = (0, 0);
        for quantity in buys {
            fees += filled(&market.accept(order("a", Side::Buy, "i", quantity))).fee;
            held += quantity;
        }
        while held > 0 {
            let quantity = held.min(cut);
            fees += filled(&market.accept(order("a", Side::Sell, "i", quantity))).fee;
            held -= quantity;
        }
        prop_assert_eq!(market.instrument("i"), before.0);
        prop_assert_eq!(market.account("a").balance, before.1 - fees);
        prop_assert_eq!(market.account("a").holdings, 0);
        prop_assert_eq!(market.account("a").marked_score, 0);
    }

    #[test]
    fn splitting_an_order_never_pays_the_trader(
        base in 1..5_000_i64, slope in 0..50_i64, fee_bps in 0..=10_000_i64, one in 1..80_i64, other in 1..80_i64,
    ) {
        let (mut whole, mut split) = (market(fee_bps, base, slope), market(fee_bps, base, slope));
        for (side, first, second) in [(Side::Buy, one, other), (Side::Sell, other, one)] {
            let total = filled(&whole.accept(order("a", side, "i", one + other))).clone();
            let parts = [first, second].map(|quantity| filled(&split.accept(order("a", side, "i", quantity))).clone());
            prop_assert_eq!(total.notional, parts[0].notional + parts[1].notional);
            prop_assert!(total.fee <= parts[0].fee + parts[1].fee);
            prop_assert_eq!(total.net, parts[1].net);
            prop_assert_eq!(total.price_after, parts[1].price_after);
            prop_assert!(whole.account("a").balance >= split.account("a").balance);
        }
    }

    #[test]
    fn a_limit_is_the_price_of_the_last_share(base in 1..5_000_i64, slope in 0..50_i64, quantity in 1..100_i64, beyond in 1..50_i64) {
        let mut market = market(10, base, slope);
        let last = base + slope * quantity;
        let buy = |limit| nevertwice_core::PlaceOrder { limit_price: Some(limit), ..order("a", Side::Buy, "i", quantity) };
        let refused = market.refuse(buy((last - beyond).max(0)));
        let Rejection::LimitPriceExceeded { quote } = refused else { panic!("{refused:?}") };
        prop_assert_eq!(quote.last_price, last);
        market.accept(buy(last));
        let sell = |limit| nevertwice_core::PlaceOrder { limit_price: Some(limit), ..order("a", Side::Sell, "i", quantity) };
        // The last share that is sold is the first that was bought.
        let refused = market.refuse(sell(base + slope + beyond));
        let Rejection::LimitPriceExceeded { quote } = refused else { panic!("{refused:?}") };
        prop_assert_eq!(quote.last_price, base + slope);
        market.accept(sell(base + slope));
    }

    #[test]
    fn slippage_passes_at_equality_and_not_beyond(base in 1..5_000_i64, slope in 0..50_i64, quantity in 1..100_i64, bps in 0..=BPS) {
        let mut market = market(10, base, slope);
        for side in [Side::Buy, Side::Sell] {
            let quote = match market.state.read(&Query::Quote { instrument: name("i"), side, quantity }) {
                Ok(View::Quote(quote)) => quote,
                other => panic!("{other:?}"),
            };
            // The expected price nearest to the one at which the order just passes.
            let factor = if side == Side::Buy { BPS + bps } else { BPS - bps };
            let product = quote.notional * BPS;
            let just = match side {
                Side::Buy => (product + quantity * factor - 1) / (quantity * factor),
                Side::Sell => product.checked_div(quantity * factor).unwrap_or(AMOUNT_MAX),
            };
            let beyond = if side == Side::Buy { just - 1 } else { just + 1 };
            let guarded = |expected| nevertwice_core::PlaceOrder {
                expected_price: Some(expected), max_slippage_bps: Some(bps), ..order("a", side, "i", quantity)
            };
            if (0..=AMOUNT_MAX).contains(&beyond) {
                let refused = market.refuse(guarded(beyond));
                prop_assert!(matches!(refused, Rejection::SlippageExceeded { .. }), "{:?}", refused);
            }
            market.accept(guarded(just));
        }
    }

    #[test]
    fn a_balance_that_is_just_enough_is_enough(base in 1..5_000_i64, slope in 0..50_i64, fee_bps in 0..=BPS, quantity in 1..100_i64) {
        let mut market = market(fee_bps, base, slope);
        let entry = market.accept(order("a", Side::Buy, "i", quantity));
        let total = filled(&entry).total();
        market.accept(order("a", Side::Sell, "i", quantity));
        market.open("short", total - 1);
        market.open("just", total);
        let required = total;
        prop_assert_eq!(
            market.refuse(order("short", Side::Buy, "i", quantity)),
            Rejection::InsufficientBalance { balance: total - 1, required }
        );
        market.accept(order("just", Side::Buy, "i", quantity));
        prop_assert_eq!(market.account("just").balance, 0);
    }
}

#[test]
fn a_score_is_marked_at_the_accounts_own_last_trade() {
    let mut market = market(0, 100, 10);
    market.accept(order("a", Side::Buy, "i", 2));
    // 110 + 120 paid, two shares at 120.
    assert_eq!(market.account("a").marked_score, 10);
    market.accept(order("b", Side::Buy, "i", 8));
    assert_eq!(market.account("a").marked_score, 10, "the trades of others leave it");
    market.accept(order("a", Side::Sell, "i", 1));
    // The share left cost 115 and is worth 190.
    assert_eq!(market.account("a").marked_score, 75);
}

#[test]
fn quantities_outside_the_market_are_refused() {
    let mut market = market(0, 100, 10);
    for quantity in [0, -1, 10_001, i64::MAX, i64::MIN] {
        for side in [Side::Buy, Side::Sell] {
            assert_eq!(market.refuse(order("a", side, "i", quantity)), Rejection::QuantityOutOfRange { quantity_max: 10_000 });
        }
    }
}

#[test]
fn nobody_sells_what_is_not_held() {
    let mut market = market(0, 100, 10);
    market.accept(order("b", Side::Buy, "i", 5));
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 1)), Rejection::InsufficientHolding { holding: 0 });
    market.accept(order("a", Side::Buy, "i", 2));
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 3)), Rejection::InsufficientHolding { holding: 2 });
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 10)), Rejection::InsufficientHolding { holding: 2 });
}

#[test]
fn the_largest_order_is_decided_like_the_smallest() {
    let mut market = Shard::market(0, limits(HOLDING_MAX, HOLDING_MAX, 0));
    market.list("i", 9_000, 0);
    market.open("a", AMOUNT_MAX / 4);
    market.accept(order("a", Side::Buy, "i", HOLDING_MAX));
    assert_eq!(market.refuse(order("a", Side::Buy, "i", 1)), Rejection::HoldingTooLarge { holding_max: HOLDING_MAX });
    market.accept(order("a", Side::Sell, "i", HOLDING_MAX));
    market.list("dear", NOTIONAL_MAX, 0);
    market.accept(order("a", Side::Buy, "dear", 1));
    assert_eq!(market.refuse(order("a", Side::Buy, "dear", 2)), Rejection::AmountTooLarge);
}

#[test]
fn reduce_only_sells_and_halted_does_nothing() {
    let mut market = market(0, 100, 10);
    market.accept(order("a", Side::Buy, "i", 2));
    market.accept(SetMode { mode: MarketMode::ReduceOnly });
    assert_eq!(market.refuse(order("a", Side::Buy, "i", 1)), Rejection::MarketClosed { mode: MarketMode::ReduceOnly });
    market.accept(order("a", Side::Sell, "i", 1));
    market.accept(SetMode { mode: MarketMode::Halted });
    assert_eq!(market.refuse(order("a", Side::Sell, "i", 1)), Rejection::MarketClosed { mode: MarketMode::Halted });
    // A halted market can still be repriced: nobody trades on it.
    assert_eq!(market.refuse(Reprice { instrument: name("i"), base: 100 }), Rejection::NoChange);
}

#[test]
fn an_entry_tells_what_the_state_shows() {
    let mut market = market(25, 100, 10);
    let entry = market.accept(order("a", Side::Buy, "i", 3));
    let [Event::OrderFilled(filled)] = entry.events.as_slice() else { panic!("{entry:?}") };
    let (account, instrument) = (market.account("a"), market.instrument("i"));
    assert_eq!((filled.balance, filled.marked_score), (account.balance, account.marked_score));
    assert_eq!((filled.net, filled.price_after), (instrument.net, instrument.price));
    assert_eq!((filled.notional, filled.fee, filled.total()), (360, 1, 361));
}
