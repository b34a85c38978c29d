//! Markets: instruments on linear bonding curves, and accounts that trade them with the house.
//!
//! One file a command, all of one shape: what is asked, the checks in order, the fact, and how the fact is applied.

mod freeze;
mod list_instrument;
mod open_account;
mod open_market;
mod pay_holders;
mod place_order;
mod reprice;
mod set_mode;
mod settle_instrument;
mod state;
mod view;

pub use freeze::{Freeze, InstrumentFrozen, InstrumentUnfrozen, Unfreeze};
pub use list_instrument::{InstrumentListed, ListInstrument};
pub use open_account::{AccountClass, AccountOpened, OpenAccount};
pub use open_market::{MarketLimits, MarketMode, MarketOpened, OpenMarket};
pub use pay_holders::{HoldersPaid, PayHolders, Payout};
pub use place_order::{OrderFilled, PlaceOrder, Quote, Side};
pub use reprice::{InstrumentRepriced, Reprice};
pub use set_mode::{ModeSet, SetMode};
pub use settle_instrument::{InstrumentSettled, SettleInstrument};
pub use state::InstrumentState;
pub(crate) use state::{Account, Holding, Instrument, Market};
pub use view::{AccountView, HoldingView, InstrumentView, MarketView};
