//! Every *no* of the core, in the order in which the checks are made.

use alloc::boxed::Box;

use crate::sale::{BookingState, BookingView};
use crate::{MarketMode, Name, Position, Quote};

macro_rules! rejections {
    ($($(#[$meta:meta])* $name:ident $({ $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })? = $code:literal),* $(,)?) => {
        /// Why an attempt was refused; nothing was changed and nothing is remembered of it.
        ///
        /// The order of declaration is the order of the checks: where several would refuse, the first one answers. The set is
        /// closed, and the codes are stable.
        ///
        /// One check is made earlier than its place says: an order for which the curve has no price (it sells more than the
        /// instrument's `net`, or buys beyond [`HOLDING_MAX`](crate::limits::HOLDING_MAX)) is refused for its holding before its
        /// amounts, its limit price and its slippage are looked at, for there is no quote to compare them with.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Rejection { $($(#[$meta])* $name $({ $($(#[$field_meta])* $field: $ty),* })?),* }

        impl Rejection {
            /// All codes, in the order of the checks.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// The stable code, as the API and the metrics show it.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                match self { $(Self::$name { .. } => $code),* }
            }
        }
    };
}

rejections! {
    // -- the intent ---------------------------------------------------------------------------------------------------------
    /// The key was used for something else.
    FingerprintMismatch {
        /// What the key did.
        position: Position,
    } = "fingerprint_mismatch",
    /// The clock shows an instant that the core doesn't accept.
    InstantOutOfRange = "instant_out_of_range",
    /// The intent's time has run out, and nothing is known of its key.
    IntentExpired {
        /// When it ran out.
        expires_at: i64,
    } = "intent_expired",
    /// The intent would outlive the memory of its key.
    IntentExpiryTooFar {
        /// The latest instant that would do.
        expires_at_max: i64,
    } = "intent_expiry_too_far",
    /// The shard remembers as many intents as it may.
    IntentsFull = "intents_full",

    // -- the shard ----------------------------------------------------------------------------------------------------------
    /// There is no such market.
    UnknownMarket = "unknown_market",
    /// The market is open already.
    MarketExists = "market_exists",
    /// There is no such sale.
    UnknownSale = "unknown_sale",
    /// The sale exists already.
    SaleExists = "sale_exists",
    /// The command belongs to the other kind of shard.
    WrongShardKind = "wrong_shard_kind",
    /// A setting is outside its range.
    SettingOutOfRange {
        /// Which one.
        setting: &'static str,
        /// The least it may be.
        min: i64,
        /// The most it may be.
        max: i64,
    } = "setting_out_of_range",

    // -- market -------------------------------------------------------------------------------------------------------------
    /// The market's mode doesn't allow it.
    MarketClosed {
        /// The mode.
        mode: MarketMode,
    } = "market_closed",
    /// There is no such account.
    UnknownAccount = "unknown_account",
    /// There is an account of that name.
    AccountExists = "account_exists",
    /// The market has as many accounts as it may.
    AccountsFull = "accounts_full",
    /// More would be issued than a market may issue.
    IssuanceExceeded {
        /// What may still be issued.
        remaining: i64,
    } = "issuance_exceeded",
    /// There is no such instrument.
    UnknownInstrument = "unknown_instrument",
    /// There is an instrument of that name.
    InstrumentExists = "instrument_exists",
    /// The market has as many instruments as it may.
    InstrumentsFull = "instruments_full",
    /// The instrument's trading has ended.
    InstrumentSettled {
        /// Its last price.
        price: i64,
    } = "instrument_settled",
    /// The instrument is frozen.
    InstrumentFrozen = "instrument_frozen",
    /// The instrument is not settled, so nobody is paid.
    InstrumentNotSettled = "instrument_not_settled",
    /// The quantity is not a whole number from 1 to the market's largest order.
    QuantityOutOfRange {
        /// The largest order.
        quantity_max: i64,
    } = "quantity_out_of_range",
    /// A price is outside 0 to `AMOUNT_MAX`, or slippage outside 0 to 10,000 basis points, or one of them came without the other.
    PriceGuardInvalid = "price_guard_invalid",
    /// The notional of one order, or a figure that follows from it, would be larger than an amount can be.
    AmountTooLarge = "amount_too_large",
    /// The price of the last share is beyond the limit.
    LimitPriceExceeded {
        /// What it would cost or bring now.
        quote: Box<Quote>,
    } = "limit_price_exceeded",
    /// The notional is further from the expected price than the slippage allows.
    SlippageExceeded {
        /// What it would cost or bring now.
        quote: Box<Quote>,
    } = "slippage_exceeded",
    /// The account, or all accounts together, hold fewer shares than it would sell.
    InsufficientHolding {
        /// What it holds.
        holding: i64,
    } = "insufficient_holding",
    /// The account, or the instrument, would hold more shares than the market allows.
    HoldingTooLarge {
        /// The most it may be.
        holding_max: i64,
    } = "holding_too_large",
    /// The account has less money than the order moves.
    InsufficientBalance {
        /// What it has.
        balance: i64,
        /// What the order moves, fee included.
        required: i64,
    } = "insufficient_balance",
    /// It could cost the house more than it may lose.
    HouseLossExceeded {
        /// What it could cost.
        loss: i64,
        /// What it may.
        house_loss_max: i64,
    } = "house_loss_exceeded",
    /// Of the named holders, holds or candidates none is due.
    NothingDue = "nothing_due",

    // -- sale ---------------------------------------------------------------------------------------------------------------
    /// The candidate has a live booking, made with another key.
    AlreadyBooked {
        /// That booking.
        booking: Box<BookingView>,
    } = "already_booked",
    /// The doors are closed.
    SaleClosed = "sale_closed",
    /// The window has not begun.
    SaleNotStarted {
        /// When it begins.
        opens_at: i64,
    } = "sale_not_started",
    /// The window is over.
    SaleEnded {
        /// When it ended.
        closed_at: i64,
    } = "sale_ended",
    /// The candidate is not on the list.
    UnknownCandidate = "unknown_candidate",
    /// The e-mail address is not the one that the list has for the candidate.
    EmailMismatch = "email_mismatch",
    /// The sale has as many candidates as it may.
    CandidatesFull = "candidates_full",
    /// There is no such level.
    UnknownLevel = "unknown_level",
    /// The candidate may not book that level.
    LevelNotAllowed = "level_not_allowed",
    /// The level has no seat left.
    LevelFull {
        /// Its cap.
        cap: i64,
    } = "level_full",
    /// The sale has no seat left.
    SaleFull {
        /// The total cap.
        cap: i64,
    } = "sale_full",
    /// The sale remembers as many bookings as it may.
    BookingsFull = "bookings_full",
    /// A cap would be below what is live.
    CapBelowLive {
        /// The level; none for the total.
        level: Option<Name>,
        /// What is live.
        live: i64,
    } = "cap_below_live",
    /// There is no such booking.
    UnknownBooking = "unknown_booking",
    /// Somebody else's payment or intent owns the booking, or none does any more.
    NotOwner = "not_owner",
    /// The booking is in a state that doesn't allow it.
    BookingNotPayable {
        /// The state.
        state: BookingState,
    } = "booking_not_payable",
    /// The booking is paid; it is not paid again and not released.
    AlreadyPaid = "already_paid",
    /// The booking is released; what is paid now has to be given back.
    AlreadyReleased = "already_released",
    /// The hold's time is over, so no payment may begin.
    HoldExpired {
        /// When it ended.
        hold_expires_at: i64,
    } = "hold_expired",

    // -- any shard ----------------------------------------------------------------------------------------------------------
    /// It is so already.
    NoChange = "no_change",
    /// A counter would fall below zero. Nothing was done, and somebody has to look.
    InvariantBroken {
        /// What would have been broken.
        what: &'static str,
    } = "invariant_broken",
}
