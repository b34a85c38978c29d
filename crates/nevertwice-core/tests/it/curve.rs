//! The curve against a loop over shares; the two divisions and the slippage against 128-bit arithmetic.

use nevertwice_core::limits::{AMOUNT_MAX, HOLDING_MAX, NOTIONAL_MAX};
use nevertwice_core::{curve, fee, released_cost, within_slippage};
use proptest::prelude::*;

fn price(base: i64, slope: i64, net: i64) -> i128 {
    i128::from(base) + i128::from(slope) * i128::from(net)
}

fn amount(figure: i128) -> Option<i64> {
    (figure.abs() <= i128::from(AMOUNT_MAX)).then_some(figure as i64)
}

fn looped(base: i64, slope: i64, from: i64, quantity: i64) -> Option<i64> {
    amount((from + 1..=from + quantity).map(|share| price(base, slope, share)).sum())
}

/// Small figures, and figures at the end of what an amount can be.
fn figure(max: i64) -> impl Strategy<Value = i64> {
    prop_oneof![0..=max.min(1_000), 0..=max, (max - max.min(10))..=max]
}

proptest! {
    #[test]
    fn the_sum_is_that_of_a_loop(base in figure(AMOUNT_MAX), slope in figure(AMOUNT_MAX), from in 0..5_000_i64, quantity in 0..400_i64) {
        prop_assert_eq!(curve::sum(base, slope, from, quantity), looped(base, slope, from, quantity));
    }

    #[test]
    fn the_integral_is_that_of_a_loop(base in 0..10_000_i64, slope in 0..1_000_i64, net in 0..3_000_i64) {
        prop_assert_eq!(curve::integral(base, slope, net), looped(base, slope, 0, net));
    }

    #[test]
    fn the_price_is_an_amount_or_none(base in figure(AMOUNT_MAX), slope in figure(AMOUNT_MAX), net in figure(HOLDING_MAX)) {
        prop_assert_eq!(curve::price(base, slope, net), amount(price(base, slope, net)));
    }

    #[test]
    fn two_halves_cost_what_the_whole_does(base in figure(NOTIONAL_MAX), slope in 0..100_i64, from in figure(1_000_000), parts in (0..1_000_i64, 0..1_000_i64)) {
        let whole = curve::sum(base, slope, from, parts.0 + parts.1);
        let halves = curve::sum(base, slope, from, parts.0).zip(curve::sum(base, slope, from + parts.0, parts.1));
        if let Some(whole) = whole {
            prop_assert_eq!(halves.map(|(a, b)| a + b), Some(whole));
        }
    }

    #[test]
    fn a_fee_is_rounded_up(notional in figure(NOTIONAL_MAX), bps in 0..=10_000_i64) {
        let exact = i128::from(notional) * i128::from(bps);
        let fee = fee(notional, bps).expect("both are in range");
        prop_assert!(i128::from(fee) * 10_000 >= exact && (i128::from(fee) - 1) * 10_000 < exact);
        prop_assert!(fee <= notional);
    }

    #[test]
    fn a_released_cost_is_rounded_down(cost in figure(AMOUNT_MAX), held in 1..=HOLDING_MAX, part in 0..=1_000_000_i64) {
        let sold = i64::try_from(i128::from(held) * i128::from(part) / 1_000_000).expect("a part of the holding");
        let exact = i128::from(cost) * i128::from(sold) / i128::from(held);
        prop_assert_eq!(released_cost(cost, sold, held).map(i128::from), Some(exact));
        prop_assert_eq!(released_cost(cost, held, held), Some(cost));
    }

    #[test]
    fn slippage_is_a_comparison_of_exact_products(
        buys: bool, notional in figure(NOTIONAL_MAX), expected in figure(AMOUNT_MAX), quantity in 1..=HOLDING_MAX, bps in 0..=10_000_i64,
    ) {
        let worst = i128::from(expected) * i128::from(quantity) * if buys { 10_000 + i128::from(bps) } else { 10_000 - i128::from(bps) };
        let paid = i128::from(notional) * 10_000;
        prop_assert_eq!(within_slippage(buys, notional, expected, quantity, bps), if buys { paid <= worst } else { paid >= worst });
    }
}

#[test]
fn figures_out_of_range_give_none() {
    assert_eq!(curve::sum(1, 1, -1, 1), None);
    assert_eq!(curve::sum(1, 1, 0, -1), None);
    assert_eq!(curve::sum(1, 0, HOLDING_MAX, 1), None);
    assert_eq!(curve::sum(1, 0, 0, HOLDING_MAX), Some(HOLDING_MAX));
    assert_eq!(curve::sum(AMOUNT_MAX, 0, 0, 1), Some(AMOUNT_MAX));
    assert_eq!(curve::sum(AMOUNT_MAX, 1, 0, 1), None);
    assert_eq!(curve::sum(i64::MAX, i64::MAX, i64::MAX, i64::MAX), None);
    assert_eq!(curve::price(i64::MAX, i64::MAX, i64::MAX), None);
    assert_eq!(curve::price(i64::MIN, 0, 0), None);
    assert_eq!(fee(-1, 1), None);
    assert_eq!(fee(NOTIONAL_MAX, 10_000), Some(NOTIONAL_MAX));
    assert_eq!(fee(NOTIONAL_MAX + 1, 1), None);
    assert_eq!(fee(1, 10_001), None);
    assert_eq!(fee(1, -1), None);
    assert_eq!(released_cost(1, 0, 0), None);
    assert_eq!(released_cost(1, 2, 1), None);
    assert_eq!(released_cost(-1, 1, 1), None);
    assert_eq!(released_cost(AMOUNT_MAX, HOLDING_MAX - 1, HOLDING_MAX).map(i128::from), {
        Some(i128::from(AMOUNT_MAX) * i128::from(HOLDING_MAX - 1) / i128::from(HOLDING_MAX))
    });
    assert_eq!(released_cost(1, 1, HOLDING_MAX + 1), None);
}
