//! Sales on the wire.

use nevertwice_core as core;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Level;
use crate::person::reference;

/// Reads a member that may be absent but not null: a null that somebody's code made of a missing owner must not name nobody.
fn named<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Reads a member that may be null but not absent.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Option::deserialize(deserializer)
}

/// A level and its cap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelCap {
    /// Its name.
    pub level: String,
    /// The most live bookings on it; null: the total bounds it; 0: nobody is admitted. It has to be there: a member that was
    /// forgotten must not lift a cap.
    #[serde(deserialize_with = "said")]
    #[schema(required = true)]
    pub cap: Option<i64>,
}

/// `POST /v1/sales`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenSale {
    /// Its name.
    pub sale: String,
    /// Its levels, each named once.
    pub levels: Vec<LevelCap>,
    /// The most live bookings over all levels.
    pub total_cap: i64,
    /// How long a hold lasts, in milliseconds; the server's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<i64>,
    /// When its window begins, in milliseconds since 1970.
    pub opens_at: i64,
    /// When its window ends.
    pub closes_at: i64,
    /// How long an accepted intent is remembered, in milliseconds; the server's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_ms: Option<i64>,
}

/// A sale was opened; its doors are closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SaleOpened {
    /// Its name.
    pub sale: String,
    /// Its levels.
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
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A level now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LevelState {
    /// Its name.
    pub level: String,
    /// The most live bookings on it.
    pub cap: Option<i64>,
    /// Live bookings.
    pub live: i64,
}

/// `GET /v1/sales/{sale}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sale {
    /// Its name.
    pub sale: String,
    /// Whether its doors are open.
    pub open: bool,
    /// When its window begins.
    pub opens_at: i64,
    /// When its window ends.
    pub closes_at: i64,
    /// How long a hold lasts, in milliseconds.
    pub hold_ms: i64,
    /// The most live bookings.
    pub total_cap: i64,
    /// Live bookings.
    pub live: i64,
    /// Its levels.
    pub levels: Vec<LevelState>,
    /// Candidates on the list.
    pub candidates: u64,
    /// Bookings ever made.
    pub bookings: u64,
}

/// One candidate of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateLine {
    /// The code: trimmed and upper-cased before anything looks at it.
    pub code: String,
    /// The e-mail address that a booking must come with, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The levels that may be booked; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
}

/// `POST /v1/sales/{sale}/candidates`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadCandidates {
    /// At most 256 candidates.
    pub candidates: Vec<CandidateLine>,
}

/// Candidates were added or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CandidatesLoaded {
    /// How many.
    pub loaded: u64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST /v1/sales/{sale}/open`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSaleOpen {
    /// Whether the doors are to be open.
    pub open: bool,
}

/// The doors were opened or closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SaleOpenSet {
    /// Whether they are open.
    pub open: bool,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST /v1/sales/{sale}/caps`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    /// Levels and their new caps.
    #[serde(default)]
    pub levels: Vec<LevelCap>,
    /// The new total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_cap: Option<i64>,
}

/// Caps were changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapsSet {
    /// Levels and their new caps.
    pub levels: Vec<LevelCap>,
    /// The total after.
    pub total_cap: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// How far a booking is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BookingState {
    /// A seat is held; no payment began.
    Admitted,
    /// A payment was begun.
    Paying,
    /// The hold's time is over while a payment is under way.
    Closing,
    /// It ended paid.
    Paid,
    /// It ended released.
    Released,
}

impl From<core::BookingState> for BookingState {
    fn from(state: core::BookingState) -> Self {
        match state {
            core::BookingState::Admitted => Self::Admitted,
            core::BookingState::Paying => Self::Paying,
            core::BookingState::Closing => Self::Closing,
            core::BookingState::Paid => Self::Paid,
            core::BookingState::Released => Self::Released,
        }
    }
}

/// `POST /v1/sales/{sale}/bookings`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The candidate's code: trimmed and upper-cased before anything looks at it.
    pub code: String,
    /// The candidate's e-mail address; needed where the list has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// On which level.
    pub level: String,
    /// Leave it empty. People don't see this field; programs that fill in everything give themselves away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
}

/// The admission of a candidate to a seat: made from the entry, the same in every replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Admission {
    /// The booking's id: the entry's position, unique in the sale.
    pub booking: String,
    /// What the person can read out: the first 12 base32 letters of the candidate's digest.
    pub reference: String,
    /// On which level.
    pub level: String,
    /// To which seat.
    pub seat: u32,
    /// Until when the seat is held, in milliseconds since 1970.
    pub hold_expires_at: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

impl Admission {
    /// Renders the admission from its entry alone; `None` if the entry is not one of an admission.
    #[must_use]
    pub fn of(entry: &core::Entry) -> Option<Self> {
        let [core::Event::CandidateAdmitted(admitted)] = entry.events.as_slice() else { return None };
        Some(Self {
            booking: entry.position.to_string(),
            reference: reference(&admitted.candidate),
            level: admitted.level.to_string(),
            seat: admitted.seat,
            hold_expires_at: admitted.hold_expires_at,
            position: entry.position.to_string(),
            at_ms: entry.at_ms,
        })
    }
}

/// `GET /v1/sales/{sale}/bookings/{booking}`; and what stands beside an admission's `result` as `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Booking {
    /// The booking's id.
    pub booking: String,
    /// What the person can read out.
    pub reference: String,
    /// On which level.
    pub level: String,
    /// Its seat.
    pub seat: u32,
    /// How far it is.
    pub state: BookingState,
    /// When the hold ends, in milliseconds since 1970.
    pub hold_expires_at: i64,
    /// Its payment, once it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<String>,
    /// Where it can be paid, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_url: Option<String>,
}

impl From<&core::BookingView> for Booking {
    fn from(view: &core::BookingView) -> Self {
        Self {
            booking: view.booking.to_string(),
            reference: reference(&view.candidate),
            level: view.level.to_string(),
            seat: view.seat,
            state: view.state.into(),
            hold_expires_at: view.hold_expires_at,
            payment: view.payment.as_ref().map(ToString::to_string),
            payment_url: view.url.as_ref().map(ToString::to_string),
        }
    }
}

/// The answer to `POST /v1/sales/{sale}/bookings`: an envelope with the booking's present state beside the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookingAnswer {
    /// The admission: made from the entry alone, the same in every replay.
    pub result: Admission,
    /// Whether it had happened before, with the same key.
    pub replayed: bool,
    /// The shard's position as of which this is said, `epoch-seq`.
    pub position: String,
    /// The levels that this position has reached.
    pub levels: Vec<Level>,
    /// The booking now. If it is `released`, this key has done its work: book again with a new one.
    pub state: Booking,
}

/// `GET /v1/sales/{sale}/bookings?cursor=`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BookingPage {
    /// Bookings, ended ones included; a piece of a scan may be empty although more follow.
    pub bookings: Vec<Booking>,
    /// The `cursor` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// `POST /v1/sales/{sale}/bookings/{booking}/confirm`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    /// By which payment.
    pub payment: String,
}

/// A booking ended paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Confirmed {
    /// Which booking.
    pub booking: String,
    /// By which payment.
    pub payment: String,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST /v1/sales/{sale}/bookings/{booking}/release`: by the payment, or, while none began, by the key that booked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The payment that owns the booking.
    #[serde(default, deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub payment: Option<String>,
    /// The idempotency key with which the same principal booked.
    #[serde(default, deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub booked_with: Option<String>,
}

/// A booking ended released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Released {
    /// Which booking.
    pub booking: String,
    /// Its seat, which is free now.
    pub seat: u32,
    /// Why: `cancelled`, `payment_failed`, `operator` or `expired`.
    pub reason: String,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}
