//! Whole numbers of a market's unit, and the two divisions that exist.

use crate::limits::{AMOUNT_MAX, BPS, HOLDING_MAX, NOTIONAL_MAX};

/// `value`, if its size is at most [`AMOUNT_MAX`].
pub(crate) const fn bounded(value: i128) -> Option<i64> {
    // In range, so the cast loses nothing.
    if value.unsigned_abs() <= AMOUNT_MAX as u128 { Some(value as i64) } else { None }
}

/// `a + b`, if its size is at most [`AMOUNT_MAX`].
pub(crate) const fn add(a: i64, b: i64) -> Option<i64> {
    match a.checked_add(b) {
        Some(sum) if sum.unsigned_abs() <= AMOUNT_MAX as u64 => Some(sum),
        _ => None,
    }
}

/// `a - b`, if its size is at most [`AMOUNT_MAX`].
pub(crate) const fn sub(a: i64, b: i64) -> Option<i64> {
    match b.checked_neg() {
        Some(negated) => add(a, negated),
        None => None,
    }
}

/// The fee on a notional: `ceil(notional * fee_bps / 10000)`, rounded against the trader.
///
/// `None` outside `0 <= notional <= NOTIONAL_MAX` and `0 <= fee_bps <= 10000`.
#[must_use]
pub const fn fee(notional: i64, fee_bps: i64) -> Option<i64> {
    if notional < 0 || notional > NOTIONAL_MAX || fee_bps < 0 || fee_bps > BPS {
        return None;
    }
    match notional.checked_mul(fee_bps) {
        // At most AMOUNT_MAX, so adding BPS - 1 stays far from the end of i64.
        Some(product) => Some(product.saturating_add(BPS - 1) / BPS),
        None => None,
    }
}

/// The cost that leaves with a partial sale: `floor(cost * sold / held)`, by quotient and remainder, so that no step leaves
/// the exact range of a double.
///
/// `None` unless `0 <= cost <= AMOUNT_MAX`, `0 < held <= HOLDING_MAX` and `0 <= sold <= held`.
#[must_use]
pub const fn released_cost(cost: i64, sold: i64, held: i64) -> Option<i64> {
    if cost < 0 || cost > AMOUNT_MAX || held <= 0 || held > HOLDING_MAX || sold < 0 || sold > held {
        return None;
    }
    let (Some(quotient), Some(remainder)) = (cost.checked_div(held), cost.checked_rem(held)) else { return None };
    // quotient * sold <= cost, and remainder * sold < held * held <= AMOUNT_MAX.
    let (Some(whole), Some(rest)) = (quotient.checked_mul(sold), remainder.checked_mul(sold)) else { return None };
    match rest.checked_div(held) {
        Some(part) => whole.checked_add(part),
        None => None,
    }
}

/// Whether a notional is within the slippage of what was expected, compared before the fee and without division; equality
/// passes. A buyer may pay at most `expected * (1 + bps)`, a seller gets at least `expected * (1 - bps)`.
#[must_use]
pub const fn within_slippage(buys: bool, notional: i64, expected_price: i64, quantity: i64, slippage_bps: i64) -> bool {
    let scaled = (notional as i128).saturating_mul(BPS as i128);
    let expected = (expected_price as i128).saturating_mul(quantity as i128);
    if buys {
        scaled <= expected.saturating_mul((BPS as i128).saturating_add(slippage_bps as i128))
    } else {
        scaled >= expected.saturating_mul((BPS as i128).saturating_sub(slippage_bps as i128))
    }
}
