//! Arithmetic that is slow and obvious, in 128 bits: what the core computes in closed form is counted here.

/// Orders up to this many shares are counted share by share; larger ones as the mean of the first and the last price.
const COUNTED_MAX: i64 = 2_048;

/// `base + slope * net`.
pub(crate) fn price(base: i64, slope: i64, net: i64) -> i128 {
    i128::from(base).saturating_add(i128::from(slope).saturating_mul(i128::from(net)))
}

/// What the shares `from + 1 ..= from + quantity` cost together.
pub(crate) fn sum_of_prices(base: i64, slope: i64, from: i64, quantity: i64) -> i128 {
    let last = from.saturating_add(quantity);
    if quantity > COUNTED_MAX {
        let ends = price(base, slope, from.saturating_add(1)).saturating_add(price(base, slope, last));
        return ends.saturating_mul(i128::from(quantity)) / 2;
    }
    let mut sum = 0_i128;
    let mut share = from;
    while share < last {
        share = share.saturating_add(1);
        sum = sum.saturating_add(price(base, slope, share));
    }
    sum
}

/// `notional * fee_bps / 10000`, rounded up.
pub(crate) fn fee(notional: i128, fee_bps: i64) -> i128 {
    let product = notional.saturating_mul(i128::from(fee_bps));
    let whole = product / 10_000;
    if product % 10_000 > 0 { whole.saturating_add(1) } else { whole }
}

/// `cost * sold / held`, rounded down; 0 if nothing is held.
pub(crate) fn released_cost(cost: i64, sold: i64, held: i64) -> i128 {
    i128::from(cost).saturating_mul(i128::from(sold)).checked_div(i128::from(held)).unwrap_or(0)
}

/// The sum of all.
pub(crate) fn total(figures: impl IntoIterator<Item = i64>) -> i128 {
    figures.into_iter().fold(0_i128, |sum, figure| sum.saturating_add(i128::from(figure)))
}
