//! The JSON of the HTTP API.
//!
//! Amounts, prices and quantities are whole numbers in the market's unit. Unknown members of a request are refused: a typo in
//! `limit_price` can't become an order without a limit. A `result` is made from the entry alone, so a replay repeats it member
//! for member; what stands beside it may differ.
//!
//! Which route takes and answers which of these types, who may ask, and which headers there are: `docs/http-api.md`, made from the
//! server's table of routes. Every error is a [`Problem`] of type `application/problem+json`.

mod audit;
mod common;
mod explain;
mod journal;
mod keys;
mod market;
mod problem;
mod sale;

pub use audit::{AuditFact, AuditPage, Caller};
pub use common::{AckLevels, Envelope, Health, Read};
pub use explain::{Attempt, Attempts, Explanation, JournalRead, Later, Told};
pub use journal::{
    JournalListing, JournalNote, JournalReader, JournalSegment, JournalSnapshot, KeysSnapshot, Promote, Promoted, Standby, StandbyShard,
};
pub use keys::{
    CompleteKey, HeaderLine, KeptAnswer, KeyCompleted, KeyRecord, KeyRegistered, KeyReleased, KeyState, LapsePolicy, LeaseRenewed,
    RegisterKey, Registration, ReleaseKey, RenewLease,
};
pub use market::{
    Account, AccountClass, AccountOpened, BatchAnswer, BatchOrder, FreezeInstrument, HoldersPaid, Holding, HoldingPage, Instrument,
    InstrumentFrozen, InstrumentListed, InstrumentPage, InstrumentRepriced, InstrumentSettled, InstrumentState, ListInstrument, Market,
    MarketLimits, MarketMode, MarketOpened, ModeSet, OpenAccount, OpenMarket, Order, Payout, PlaceOrder, Quote, Reprice, SetMode, Settle,
    Side,
};
pub use problem::Problem;
pub use sale::{
    Admission, Book, Booking, BookingAnswer, BookingPage, BookingState, CandidateLine, CandidatesLoaded, Caps, CapsSet, Confirm, Confirmed,
    LevelCap, LevelState, LoadCandidates, OpenSale, Release, Released, Sale, SaleOpenSet, SaleOpened, SetSaleOpen,
};
