//! Sets a market's mode.

use super::{Market, MarketMode};
use crate::Rejection;
use crate::fields::fields;

/// Sets a market's mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMode {
    /// The new mode.
    pub mode: MarketMode,
}

fields! {
    /// The market's mode was set.
    pub struct ModeSet {
        /// The mode before.
        pub mode_before: MarketMode,
        /// The mode after.
        pub mode: MarketMode,
    }
}

impl SetMode {
    pub(crate) fn decide(&self, market: &Market) -> Result<ModeSet, Rejection> {
        if market.mode == self.mode {
            return Err(Rejection::NoChange);
        }
        Ok(ModeSet { mode_before: market.mode, mode: self.mode })
    }
}

impl ModeSet {
    pub(crate) const fn apply(&self, market: &mut Market) {
        market.mode = self.mode;
    }
}
