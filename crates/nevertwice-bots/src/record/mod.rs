//! The clients' own record of what they were told, and the judge that holds the server to it.
//!
//! A [`Record`] keeps, for every intent, what was asked and what each attempt was told. When everything is quiet, the final
//! state is read over HTTP into [`MarketState`] and [`SaleState`], and [`judge`] compares. It needs nothing of the server's
//! inside, only that answers and reads mean what the API says:
//!
//! - **lost**: somebody was told yes, and the effect is not there.
//! - **doubled**: one intent has two effects, or there is an effect that nobody asked for.
//! - **oversold**: more live bookings than a cap, or one seat in two live bookings.
//! - **changed**: an intent was given two different answers, or no after yes, or the figures that followed one another in
//!   the answers do not add up.
//! - **not conserved**: the money of all accounts does not sum to zero, or the shares held are not those sold.
//! - **unsettled**: an intent whose fate the clients never learnt. A run must ask until it knows, so this is a failure of
//!   the run, not of the server; but such a run proves nothing about that intent.
//!
//! The judge is over plain data, so that tests can plant each of these and see it found.

mod chain;
mod finding;
mod judge;
mod judge_market;
mod judge_sale;
mod notes;
mod state;

pub use finding::{Finding, Kind, Verdict};
pub use judge::judge;
pub use notes::{Asked, Attempt, Effect, IntentId, IntentNotes, Position, PositionError, QUIET_US, Record, Side, Told};
pub use state::{AccountState, BookingStage, BookingState, InstrumentState, LevelState, MarketState, SaleState};
