//! From the words of a refusal to the core's rejection, with its figures.

use nevertwice_api::encoding::decode_fields;
use nevertwice_core::fields::{Fields, Malformed, Sink, Source};
use nevertwice_core::{BookingView, MarketMode, Name, Position, Quote, Rejection};

use super::fields::BookingFields;

/// The settings that scripts name. A rejection carries a name that lives as long as the program.
const SETTINGS: &[&str] = &[
    "decimals",
    "fee_bps",
    "quantity_max",
    "holding_max",
    "house_loss_max",
    "retention_ms",
    "slope",
    "base",
    "opening_balance",
    "holders",
    "price",
    "levels",
    "levels of one name",
    "cap",
    "total_cap",
    "hold_ms",
    "opens_at",
    "closes_at",
    "candidates",
    "bookings",
];

/// What a script may find broken.
const BROKEN: &[&str] = &["net", "live bookings"];

/// A text of a script's own, of those that it may say.
struct Said(String);

impl Fields for Said {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.text(&self.0);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        source.text(64).map(|text| Self(text.to_owned()))
    }
}

impl Said {
    fn one_of(self, known: &[&'static str]) -> Result<&'static str, Malformed> {
        known.iter().copied().find(|known| *known == self.0).ok_or(Malformed::Text)
    }
}

/// Two values, one after the other.
struct Both<A, B>(A, B);

impl<A: Fields, B: Fields> Fields for Both<A, B> {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        self.0.put(sink);
        self.1.put(sink);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(Self(A::take(source)?, B::take(source)?))
    }
}

type Figures = Both<i64, i64>;

/// A quote's figures, from its seven numbers.
pub(super) fn quote(detail: &[u8]) -> Result<Quote, Malformed> {
    type Seven = Both<Both<Figures, Figures>, Both<Figures, i64>>;
    let Both(Both(Both(notional, fee), Both(total, last_price)), Both(Both(price_before, price_after), net_after)) =
        decode_fields::<Seven>(detail)?;
    Ok(Quote { notional, fee, total, last_price, price_before, price_after, net_after })
}

fn booking(detail: &[u8]) -> Result<BookingView, Malformed> {
    let Both(id, booking) = decode_fields::<Both<Position, BookingFields>>(detail)?;
    Ok(booking.view(id))
}

/// The rejection of that code. None if no script says it.
pub(super) fn rejection(code: &str, detail: &[u8]) -> Result<Option<Rejection>, Malformed> {
    let figure = || decode_fields::<i64>(detail);
    let figures = || decode_fields::<Figures>(detail);
    Ok(Some(match code {
        "fingerprint_mismatch" => Rejection::FingerprintMismatch { position: decode_fields(detail)? },
        "instant_out_of_range" => Rejection::InstantOutOfRange,
        "intent_expired" => Rejection::IntentExpired { expires_at: figure()? },
        "intent_expiry_too_far" => Rejection::IntentExpiryTooFar { expires_at_max: figure()? },
        "unknown_market" => Rejection::UnknownMarket,
        "market_exists" => Rejection::MarketExists,
        "unknown_sale" => Rejection::UnknownSale,
        "sale_exists" => Rejection::SaleExists,
        "wrong_shard_kind" => Rejection::WrongShardKind,
        "setting_out_of_range" => {
            let Both(setting, Both(min, max)) = decode_fields::<Both<Said, Figures>>(detail)?;
            Rejection::SettingOutOfRange { setting: setting.one_of(SETTINGS)?, min, max }
        }
        "market_closed" => Rejection::MarketClosed { mode: decode_fields::<MarketMode>(detail)? },
        "unknown_account" => Rejection::UnknownAccount,
        "account_exists" => Rejection::AccountExists,
        "accounts_full" => Rejection::AccountsFull,
        "issuance_exceeded" => Rejection::IssuanceExceeded { remaining: figure()? },
        "unknown_instrument" => Rejection::UnknownInstrument,
        "instrument_exists" => Rejection::InstrumentExists,
        "instruments_full" => Rejection::InstrumentsFull,
        "instrument_settled" => Rejection::InstrumentSettled { price: figure()? },
        "instrument_frozen" => Rejection::InstrumentFrozen,
        "instrument_not_settled" => Rejection::InstrumentNotSettled,
        "quantity_out_of_range" => Rejection::QuantityOutOfRange { quantity_max: figure()? },
        "price_guard_invalid" => Rejection::PriceGuardInvalid,
        "amount_too_large" => Rejection::AmountTooLarge,
        "limit_price_exceeded" => Rejection::LimitPriceExceeded { quote: Box::new(quote(detail)?) },
        "slippage_exceeded" => Rejection::SlippageExceeded { quote: Box::new(quote(detail)?) },
        "insufficient_holding" => Rejection::InsufficientHolding { holding: figure()? },
        "holding_too_large" => Rejection::HoldingTooLarge { holding_max: figure()? },
        "insufficient_balance" => {
            let Both(balance, required) = figures()?;
            Rejection::InsufficientBalance { balance, required }
        }
        "house_loss_exceeded" => {
            let Both(loss, house_loss_max) = figures()?;
            Rejection::HouseLossExceeded { loss, house_loss_max }
        }
        "nothing_due" => Rejection::NothingDue,
        "already_booked" => Rejection::AlreadyBooked { booking: Box::new(booking(detail)?) },
        "sale_closed" => Rejection::SaleClosed,
        "sale_not_started" => Rejection::SaleNotStarted { opens_at: figure()? },
        "sale_ended" => Rejection::SaleEnded { closed_at: figure()? },
        "unknown_candidate" => Rejection::UnknownCandidate,
        "email_mismatch" => Rejection::EmailMismatch,
        "candidates_full" => Rejection::CandidatesFull,
        "unknown_level" => Rejection::UnknownLevel,
        "level_not_allowed" => Rejection::LevelNotAllowed,
        "level_full" => Rejection::LevelFull { cap: figure()? },
        "sale_full" => Rejection::SaleFull { cap: figure()? },
        "bookings_full" => Rejection::BookingsFull,
        "cap_below_live" => {
            let Both(level, live) = decode_fields::<Both<Option<Name>, i64>>(detail)?;
            Rejection::CapBelowLive { level, live }
        }
        "unknown_booking" => Rejection::UnknownBooking,
        "not_owner" => Rejection::NotOwner,
        "booking_not_payable" => Rejection::BookingNotPayable { state: decode_fields(detail)? },
        "already_paid" => Rejection::AlreadyPaid,
        "already_released" => Rejection::AlreadyReleased,
        "hold_expired" => Rejection::HoldExpired { hold_expires_at: figure()? },
        "no_change" => Rejection::NoChange,
        "invariant_broken" => Rejection::InvariantBroken { what: decode_fields::<Said>(detail)?.one_of(BROKEN)? },
        _ => return Ok(None),
    }))
}
