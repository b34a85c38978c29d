//! The linear bonding curve, in closed form.
//!
//! `price(net) = base + slope * net`. The n-th share from `net` costs `price(net + n)`; so buying `n` costs
//! `n*base + slope*(n*net + n(n+1)/2)`, and selling the same shares brings exactly that again.

use crate::amount::bounded;
use crate::limits::HOLDING_MAX;

/// The price after `net` shares were sold by the house: `base + slope * net`. `None` where it exceeds `AMOUNT_MAX`.
#[must_use]
pub const fn price(base: i64, slope: i64, net: i64) -> Option<i64> {
    bounded((base as i128).saturating_add((slope as i128).saturating_mul(net as i128)))
}

/// What the shares `from + 1 ..= from + quantity` cost together, which is also what selling them brings.
///
/// `None` if `from` or `quantity` is negative, `from + quantity` exceeds `HOLDING_MAX`, or the sum exceeds `AMOUNT_MAX`.
#[must_use]
pub const fn sum(base: i64, slope: i64, from: i64, quantity: i64) -> Option<i64> {
    if from < 0 || quantity < 0 || from.saturating_add(quantity) > HOLDING_MAX {
        return None;
    }
    let (from, quantity) = (from as i128, quantity as i128);
    // Both factors are at most HOLDING_MAX: nothing here comes near the end of i128.
    let steps = quantity.saturating_mul(from).saturating_add(quantity.saturating_mul(quantity.saturating_add(1)) / 2);
    bounded(quantity.saturating_mul(base as i128).saturating_add((slope as i128).saturating_mul(steps)))
}

/// What it would cost the house to buy all `net` shares back: the curve's integral from 0 to `net`.
#[must_use]
pub const fn integral(base: i64, slope: i64, net: i64) -> Option<i64> {
    sum(base, slope, 0, net)
}
