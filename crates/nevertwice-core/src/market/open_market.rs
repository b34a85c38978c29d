//! Opens a market.

use crate::fields::{fields, words};
use crate::limits::{BPS, DECIMALS_MAX, HOLDING_MAX, HOUSE_LOSS_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN};
use crate::{Rejection, decide::in_range};

words! {
    /// What a market lets through.
    pub enum MarketMode {
        /// Buying and selling.
        1 => Open = "open",
        /// Selling only.
        2 => ReduceOnly = "reduce_only",
        /// No orders.
        3 => Halted = "halted",
    }
}

fields! {
    /// The bounds of a market.
    #[derive(Copy)]
    pub struct MarketLimits {
        /// Shares in one order: 1 to `HOLDING_MAX`.
        pub quantity_max: i64,
        /// Shares of one instrument that all accounts hold together, and so also one account: 1 to `HOLDING_MAX`.
        pub holding_max: i64,
        /// What repricing and settling may cost the house: 0 to `HOUSE_LOSS_MAX`, in the market's unit.
        pub house_loss_max: i64,
    }
}

/// Opens a market. Its unit is fixed with it: every amount in it is a whole number of `10^-decimals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMarket {
    /// Decimals of the unit, 0 to `DECIMALS_MAX`.
    pub decimals: u8,
    /// The fee on each notional, in basis points, 0 to 10,000.
    pub fee_bps: i64,
    /// The bounds.
    pub limits: MarketLimits,
    /// The mode to begin with.
    pub mode: MarketMode,
    /// How long an accepted intent is remembered, in milliseconds.
    pub retention_ms: i64,
}

fields! {
    /// A market was opened.
    pub struct MarketOpened {
        /// Decimals of its unit.
        pub decimals: u8,
        /// The fee on each notional, in basis points.
        pub fee_bps: i64,
        /// Its bounds.
        pub limits: MarketLimits,
        /// Its mode.
        pub mode: MarketMode,
        /// How long an accepted intent is remembered, in milliseconds.
        pub retention_ms: i64,
    }
}

impl OpenMarket {
    pub(crate) fn decide(&self) -> Result<MarketOpened, Rejection> {
        in_range("decimals", i64::from(self.decimals), 0, i64::from(DECIMALS_MAX))?;
        in_range("fee_bps", self.fee_bps, 0, BPS)?;
        in_range("quantity_max", self.limits.quantity_max, 1, HOLDING_MAX)?;
        in_range("holding_max", self.limits.holding_max, 1, HOLDING_MAX)?;
        in_range("house_loss_max", self.limits.house_loss_max, 0, HOUSE_LOSS_MAX)?;
        in_range("retention_ms", self.retention_ms, RETENTION_MS_MIN, RETENTION_MS_MAX)?;
        Ok(MarketOpened {
            decimals: self.decimals,
            fee_bps: self.fee_bps,
            limits: self.limits,
            mode: self.mode,
            retention_ms: self.retention_ms,
        })
    }
}
