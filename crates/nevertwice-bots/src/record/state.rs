//! The server's final state, as it was read over HTTP.

use std::collections::BTreeMap;

use super::Position;

/// One account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountState {
    /// What it was opened with.
    pub opening_balance: i64,
    /// Its money now.
    pub balance: i64,
    /// Its shares by instrument; none of zero.
    pub holdings: BTreeMap<String, i64>,
}

/// One instrument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstrumentState {
    /// Shares that the house has sold and not bought back.
    pub net: i64,
    /// The house's cash from it.
    pub cash: i64,
    /// Its price now.
    pub price: i64,
}

/// A market.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarketState {
    /// All accounts.
    pub accounts: BTreeMap<String, AccountState>,
    /// All instruments.
    pub instruments: BTreeMap<String, InstrumentState>,
    /// The balance of the fees account.
    pub fees: i64,
    /// The balance of the issuance account.
    pub issuance: i64,
}

/// How far a booking is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BookingStage {
    /// Its seat is held.
    Admitted,
    /// Its payment has begun.
    Paying,
    /// Its hold is over, its payment not.
    Closing,
    /// It ended paid.
    Paid,
    /// It ended released.
    Released,
}

impl BookingStage {
    /// Whether it has a seat.
    pub fn is_live(self) -> bool {
        self != Self::Released
    }

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Paying => "paying",
            Self::Closing => "closing",
            Self::Paid => "paid",
            Self::Released => "released",
        }
    }
}

/// One booking, live or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookingState {
    /// The candidate, by whatever the API shows of him; the same for all his bookings.
    pub candidate: String,
    /// Its level.
    pub level: String,
    /// Its seat.
    pub seat: u64,
    /// How far it is.
    pub stage: BookingStage,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelState {
    /// The most live bookings; none: the total bounds it.
    pub cap: Option<i64>,
    /// Live bookings, as the server counts them.
    pub live: i64,
}

/// A sale.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaleState {
    /// Its levels.
    pub levels: BTreeMap<String, LevelState>,
    /// The most live bookings.
    pub total_cap: i64,
    /// Live bookings, as the server counts them.
    pub live: i64,
    /// All bookings, ended ones included, by id.
    pub bookings: BTreeMap<Position, BookingState>,
}
