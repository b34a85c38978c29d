//! Opens a sale.

use alloc::vec::Vec;

use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::{AT_MS_MAX, HOLD_MS_MAX, LEVELS_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN, SEATS_MAX};
use crate::{Name, Rejection};

fields! {
    /// A level and its cap.
    pub struct LevelCap {
        /// Its name.
        pub level: Name,
        /// The most live bookings on it; none: the total bounds it; 0: nobody is admitted.
        pub cap: Option<i64>,
    }
}

/// Opens a sale with its levels. Its doors are closed until `SetSaleOpen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSale {
    /// Its levels, 1 to `LEVELS_MAX`, each named once.
    pub levels: Vec<LevelCap>,
    /// The most live bookings over all levels, 0 to `SEATS_MAX`.
    pub total_cap: i64,
    /// How long a hold lasts, in milliseconds, 1 to `HOLD_MS_MAX`.
    pub hold_ms: i64,
    /// When its window begins, in milliseconds since 1970.
    pub opens_at: i64,
    /// When its window ends: the first instant at which nobody is admitted any more.
    pub closes_at: i64,
    /// How long an accepted intent is remembered, in milliseconds.
    pub retention_ms: i64,
}

fields! {
    /// A sale was opened.
    pub struct SaleOpened {
        /// Its levels, in the order of their numbers.
        pub levels: Vec<LevelCap>,
        /// The most live bookings over all levels.
        pub total_cap: i64,
        /// How long a hold lasts, in milliseconds.
        pub hold_ms: i64,
        /// When its window begins.
        pub opens_at: i64,
        /// When its window ends.
        pub closes_at: i64,
        /// How long an accepted intent is remembered, in milliseconds.
        pub retention_ms: i64,
    }
}

impl OpenSale {
    pub(crate) fn decide(&self) -> Result<SaleOpened, Rejection> {
        in_range("levels", self.levels.len() as i64, 1, LEVELS_MAX as i64)?;
        check_levels(&self.levels)?;
        in_range("total_cap", self.total_cap, 0, SEATS_MAX)?;
        in_range("hold_ms", self.hold_ms, 1, HOLD_MS_MAX)?;
        in_range("opens_at", self.opens_at, 0, AT_MS_MAX)?;
        in_range("closes_at", self.closes_at, self.opens_at, AT_MS_MAX)?;
        // A retry within the hold must find its booking.
        in_range("retention_ms", self.retention_ms, RETENTION_MS_MIN.max(self.hold_ms), RETENTION_MS_MAX)?;
        Ok(SaleOpened {
            levels: self.levels.clone(),
            total_cap: self.total_cap,
            hold_ms: self.hold_ms,
            opens_at: self.opens_at,
            closes_at: self.closes_at,
            retention_ms: self.retention_ms,
        })
    }
}

/// Every cap is a number of seats, and no level is named twice.
pub(super) fn check_levels(levels: &[LevelCap]) -> Result<(), Rejection> {
    for (number, LevelCap { level, cap }) in levels.iter().enumerate() {
        in_range("cap", cap.unwrap_or(0), 0, SEATS_MAX)?;
        if levels.iter().take(number).any(|earlier| earlier.level == *level) {
            return Err(Rejection::SettingOutOfRange { setting: "levels of one name", min: 1, max: 1 });
        }
    }
    Ok(())
}
