//! The decisions of nevertwice, and nothing else.
//!
//! A *shard* (one market or one sale) is a [`State`]. [`State::decide`] looks at it and at a [`Command`] and returns a
//! [`Decision`]; an accepted one is an [`Entry`], a list of facts; [`State::apply`] takes entries, whether they were
//! decided here a microsecond ago or read from a journal years later. Deciding changes nothing, applying knows no rules.
//!
//! The crate has no clock, no I/O, no randomness, no floating point and no async: time comes in as `at_ms`, and the seed of
//! the hash tables is given at construction. The host (a backend) does the rest. What an answer looks like to a person, how
//! entries lie on disk and when "yes" may be said is the business of `nevertwice-api` and of the backends.
//!
//! Where to start: [`State`], then one command, for instance [`PlaceOrder`], in `market/place_order.rs`.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]
#![deny(clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::iter_over_hash_type, clippy::unwrap_used, clippy::panic)]

extern crate alloc;

mod amount;
mod apply;
mod before;
mod code;
mod command;
pub mod curve;
mod decide;
mod entry;
mod export;
pub mod fields;
mod hash;
mod index;
mod intent;
mod intents;
pub mod keys;
pub mod limits;
mod market;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "mutants")]
mod mutants;
mod origin;
mod packed;
mod position;
mod query;
mod record;
mod rejection;
mod rows;
mod sale;
mod shard;
mod state;
mod table;
mod text;

pub use amount::{fee, released_cost, within_slippage};
pub use apply::ApplyError;
pub use before::{Before, BookingBefore, CandidatesBefore, CapsBefore, InstrumentBefore, KnownCandidate};
pub use code::{Code, CodeError};
pub use command::{Action, Command};
pub use decide::Decision;
pub use entry::{Entry, Event};
pub use export::ImportError;
pub use hash::StateHash;
pub use intent::Intent;
pub use market::{
    AccountClass, AccountOpened, AccountView, Freeze, HoldersPaid, HoldingView, InstrumentFrozen, InstrumentListed, InstrumentRepriced,
    InstrumentSettled, InstrumentState, InstrumentUnfrozen, InstrumentView, ListInstrument, MarketLimits, MarketMode, MarketOpened,
    MarketView, ModeSet, OpenAccount, OpenMarket, OrderFilled, PayHolders, Payout, PlaceOrder, Quote, Reprice, SetMode, SettleInstrument,
    Side, Unfreeze,
};
#[cfg(feature = "mutants")]
pub use mutants::Mutant;
pub use origin::{CallerRole, NotATrace, Origin, TraceContext};
pub use position::{NotAPosition, Position};
pub use query::{HolderPage, InstrumentPage, Query, ScanCursor, View};
pub use record::{
    AccountRecord, BookingRecord, CandidateRecord, HoldingRecord, InstrumentRecord, IntentRecord, LevelRecord, MarketRecord, Record,
    SaleRecord, ShardRecord,
};
pub use rejection::Rejection;
pub use sale::{
    Admit, AttachPayment, BeginPayment, BookingOwner, BookingReleased, BookingState, BookingView, CandidateAdmitted, CandidateFact,
    CandidateId, CandidatesLoaded, CapsSet, ConfirmPayment, DueHolds, ExpireHolds, HoldEnd, HoldsExpired, LevelCap, LevelView,
    LoadCandidates, OpenSale, PaymentAttached, PaymentBegun, PaymentConfirmed, ReleaseBooking, ReleaseReason, SaleOpenSet, SaleOpened,
    SaleView, SetCaps, SetSaleOpen,
};
pub use shard::{NotAShard, ShardId, ShardKind};
pub use state::State;
pub use text::{CallerName, IdempotencyKey, Name, PaymentId, PaymentUrl, PeerAddress, Principal, TextError};
