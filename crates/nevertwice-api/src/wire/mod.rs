//! The JSON of the HTTP API.
//!
//! Amounts, prices and quantities are whole numbers in the market's unit. Unknown members of a request are refused: a typo in
//! `limit_price` can't become an order without a limit. A `result` is made from the entry alone, so a replay repeats it member
//! for member; what stands beside it may differ.
//!
//! | method and path | body | answer |
//! |---|---|---|
//! | `POST /v1/markets` | [`OpenMarket`] | 201 [`Envelope`]`<`[`MarketOpened`]`>` |
//! | `GET /v1/markets/{market}` | | [`Read`]`<`[`Market`]`>` |
//! | `POST /v1/markets/{market}/mode` | [`SetMode`] | `Envelope<`[`ModeSet`]`>` |
//! | `POST /v1/markets/{market}/instruments` | [`ListInstrument`] | 201 `Envelope<`[`InstrumentListed`]`>` |
//! | `GET /v1/markets/{market}/instruments?from=` | | `Read<`[`InstrumentPage`]`>` |
//! | `GET /v1/markets/{market}/instruments/{instrument}` | | `Read<`[`Instrument`]`>` |
//! | `GET /v1/markets/{market}/instruments/{instrument}/quote?side=&quantity=` | | `Read<`[`Quote`]`>` |
//! | `GET /v1/markets/{market}/instruments/{instrument}/holders?cursor=` | | `Read<`[`HoldingPage`]`>` |
//! | `POST /v1/markets/{market}/instruments/{instrument}/reprice` | [`Reprice`] | `Envelope<`[`InstrumentRepriced`]`>` |
//! | `POST /v1/markets/{market}/instruments/{instrument}/freeze`, `.../unfreeze` | [`FreezeInstrument`] | `Envelope<`[`InstrumentFrozen`]`>` |
//! | `POST /v1/markets/{market}/instruments/{instrument}/settle` | [`Settle`] | `Envelope<`[`InstrumentSettled`]`>` |
//! | `POST /v1/markets/{market}/accounts` | [`OpenAccount`] | 201 `Envelope<`[`AccountOpened`]`>` |
//! | `GET /v1/markets/{market}/accounts/{account}` | | `Read<`[`Account`]`>` |
//! | `GET /v1/markets/{market}/accounts/{account}/holdings?from=` | | `Read<`[`HoldingPage`]`>` |
//! | `POST /v1/markets/{market}/orders` | [`PlaceOrder`] | 201 `Envelope<`[`Order`]`>` |
//! | `POST /v1/markets/{market}/orders/batch` (NDJSON) | [`BatchOrder`] a line | 200 [`BatchAnswer`] a line |
//! | `GET /v1/markets/{market}/acks/{position}?level=`, `GET /v1/sales/{sale}/acks/{position}?level=` | | [`AckLevels`] |
//! | `POST /v1/sales` | [`OpenSale`] | 201 `Envelope<`[`SaleOpened`]`>` |
//! | `GET /v1/sales/{sale}` | | `Read<`[`Sale`]`>` |
//! | `POST /v1/sales/{sale}/candidates` | [`LoadCandidates`] | `Envelope<`[`CandidatesLoaded`]`>` |
//! | `POST /v1/sales/{sale}/open` | [`SetSaleOpen`] | `Envelope<`[`SaleOpenSet`]`>` |
//! | `POST /v1/sales/{sale}/caps` | [`Caps`] | `Envelope<`[`CapsSet`]`>` |
//! | `POST /v1/sales/{sale}/bookings` | [`Book`] | 201 [`BookingAnswer`] |
//! | `GET /v1/sales/{sale}/bookings?cursor=` | | `Read<`[`BookingPage`]`>` |
//! | `GET /v1/sales/{sale}/bookings/{booking}` | | `Read<`[`Booking`]`>` |
//! | `POST /v1/sales/{sale}/bookings/{booking}/confirm` | [`Confirm`] | `Envelope<`[`Confirmed`]`>` |
//! | `POST /v1/sales/{sale}/bookings/{booking}/release` | [`Release`] | `Envelope<`[`Released`]`>` |
//! | `GET /healthz`, `GET /readyz` | | [`Health`] |
//! | `GET /metrics` | | Prometheus text |
//! | `GET /errors/{code}` | | the code's page |
//!
//! Every `POST` demands `Idempotency-Key` (quoted or bare) and takes `Idempotency-Expires` (milliseconds since 1970),
//! `Ack-Level` (further levels that the answer has to have reached, separated by commas) and `Principal` (on whose behalf a
//! service acts). An answer to a replay has status 200 and `Idempotent-Replayed: true`. A `GET` takes `?level=` to be answered
//! from a position that has reached less than the shard's own level. Every error is a [`Problem`] of type
//! `application/problem+json`.

mod common;
mod market;
mod problem;
mod sale;

pub use common::{AckLevels, Envelope, Health, Read};
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
