//! Changes a sale's caps.

use alloc::vec::Vec;

use super::open_sale::check_levels;
use super::{LevelCap, Sale};
use crate::decide::in_range;
use crate::fields::fields;
use crate::limits::{LEVELS_MAX, SEATS_MAX};
use crate::{ApplyError, Rejection};

/// Changes caps: those of the named levels, and the total if one is given. None may be below what is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCaps {
    /// Levels and their new caps, each named once; a level without a cap is bounded by the total.
    pub levels: Vec<LevelCap>,
    /// The new total.
    pub total_cap: Option<i64>,
}

fields! {
    /// Caps were changed.
    pub struct CapsSet {
        /// Levels and their new caps.
        pub levels: Vec<LevelCap>,
        /// The total after.
        pub total_cap: i64,
    }
}

impl SetCaps {
    pub(crate) fn decide(&self, sale: &Sale) -> Result<CapsSet, Rejection> {
        in_range("levels", self.levels.len() as i64, 0, LEVELS_MAX as i64)?;
        let total_cap = self.total_cap.unwrap_or(sale.total_cap);
        in_range("total_cap", total_cap, 0, SEATS_MAX)?;
        check_levels(&self.levels)?;
        if self.levels.iter().any(|change| sale.level(&change.level).is_none()) {
            return Err(Rejection::UnknownLevel);
        }
        let mut changes = total_cap != sale.total_cap;
        for LevelCap { level: name, cap } in &self.levels {
            let (_, level) = sale.level(name).ok_or(Rejection::UnknownLevel)?;
            if cap.is_some_and(|cap| cap < level.live) {
                return Err(Rejection::CapBelowLive { level: Some(name.clone()), live: level.live });
            }
            changes |= *cap != level.cap;
        }
        if total_cap < sale.live {
            return Err(Rejection::CapBelowLive { level: None, live: sale.live });
        }
        if !changes {
            return Err(Rejection::NoChange);
        }
        Ok(CapsSet { levels: self.levels.clone(), total_cap })
    }
}

impl CapsSet {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        if self.levels.iter().any(|change| sale.level(&change.level).is_none()) {
            return Err(ApplyError::Unknown("level"));
        }
        for LevelCap { level: name, cap } in &self.levels {
            for level in sale.levels.iter_mut().filter(|level| level.name == *name) {
                level.cap = *cap;
            }
        }
        sale.total_cap = self.total_cap;
        Ok(())
    }
}
