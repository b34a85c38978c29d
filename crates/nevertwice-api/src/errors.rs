//! The catalogue of everything that can go wrong, with a stable code and a page for each.

use std::fmt;
use std::str::FromStr;

use nevertwice_core::Rejection;
use nevertwice_core::keys::KeyRejection;

macro_rules! catalogue {
    ($($name:ident = $code:literal, $status:literal, $retry:ident, $title:literal;)*) => {
        /// Everything that can go wrong. The codes are stable: clients act on them, never on a text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $(#[doc = $title] $name),*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code, as the API, the metrics and the pages have it.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// The HTTP status of an answer with it; 0 for what only the command line shows.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }

            /// Whether the same request with the same key may well get another answer soon, without anybody changing anything.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$name => catalogue!(@$retry)),* }
            }

            /// What is wrong, in one line.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }

            /// Its page: what was wrong, what was done, what to do.
            #[must_use]
            pub const fn page(self) -> &'static str {
                match self { $(Self::$name => include_str!(concat!("../../../docs/errors/", $code, ".md"))),* }
            }
        }
    };
    (@retry) => { true };
    (@final) => { false };
}

catalogue! {
    // What comes in.
    HeadMalformed = "head_malformed", 400, final, "The request's head is not well-formed HTTP/1.1";
    IdempotencyKeyMissing = "idempotency_key_missing", 400, final, "The Idempotency-Key header is missing";
    IdempotencyKeyInvalid = "idempotency_key_invalid", 400, final, "The Idempotency-Key header is not one key of 1 to 255 visible ASCII characters";
    PrincipalMissing = "principal_missing", 400, final, "The request does not say on whose behalf it is made";
    PrincipalInvalid = "principal_invalid", 400, final, "The principal is not 1 to 128 visible ASCII characters";
    IntentExpiresInvalid = "intent_expires_invalid", 400, final, "The Idempotency-Expires header is not an instant in milliseconds since 1970";
    BodyMalformed = "body_malformed", 400, final, "The body is not one JSON text";
    BodyInvalid = "body_invalid", 400, final, "The body does not have the members and types that this endpoint takes";
    BodyTooLarge = "body_too_large", 413, final, "The body is larger than this endpoint takes";
    BatchTooLong = "batch_too_long", 413, final, "The batch has more lines than this endpoint takes";
    HeadersTooLarge = "headers_too_large", 431, final, "The headers are larger than the server takes";
    UriTooLong = "uri_too_long", 414, final, "The path and query are longer than the server reads";
    MediaTypeUnsupported = "media_type_unsupported", 415, final, "The body's media type is not the one that this endpoint takes";
    NameInvalid = "name_invalid", 400, final, "A name is not 1 to 64 of the letters, digits and signs that names may have";
    CodeInvalid = "code_invalid", 400, final, "A candidate's code is not 1 to 64 visible ASCII characters";
    PositionInvalid = "position_invalid", 400, final, "A position is not written epoch-seq";
    QueryInvalid = "query_invalid", 400, final, "A query parameter is unknown, missing or not what it should be";
    LevelInvalid = "level_invalid", 400, final, "An acknowledgement level is none of the four";
    LevelUnavailable = "level_unavailable", 400, final, "This backend does not offer that acknowledgement level";
    RouteUnknown = "route_unknown", 404, final, "There is nothing at this path";
    MethodNotAllowed = "method_not_allowed", 405, final, "This path does not take this method";
    CredentialsMissing = "credentials_missing", 401, final, "The request carries no credentials that the server knows";
    CredentialsExpired = "credentials_expired", 401, final, "The credentials are known, and their time is over";
    CredentialsInvalid = "credentials_invalid", 401, final, "The credentials are a JWT that does not hold here";
    CredentialsRevoked = "credentials_revoked", 401, final, "The credentials are known, and were revoked";
    RoleInsufficient = "role_insufficient", 403, final, "The credentials do not allow this";
    ScopeInsufficient = "scope_insufficient", 403, final, "The credentials are for other shards";
    RequestTimeout = "request_timeout", 408, retry, "The request did not arrive whole in time";

    // The intent.
    FingerprintMismatch = "fingerprint_mismatch", 422, final, "The key was used for something else";
    IntentExpired = "intent_expired", 410, final, "The intent's time has run out, and nothing is known of its key";
    IntentExpiryTooFar = "intent_expiry_too_far", 400, final, "The intent would outlive the memory of its key";
    IntentsFull = "intents_full", 503, retry, "The shard remembers as many intents as it may";
    InstantOutOfRange = "instant_out_of_range", 503, retry, "The server's clock shows an instant outside the range it accepts";

    // The shard.
    UnknownMarket = "unknown_market", 404, final, "There is no such market";
    MarketExists = "market_exists", 409, final, "A market of that name is open already";
    UnknownSale = "unknown_sale", 404, final, "There is no such sale";
    SaleExists = "sale_exists", 409, final, "A sale of that name exists already";
    WrongShardKind = "wrong_shard_kind", 400, final, "The command belongs to the other kind of shard";
    SettingOutOfRange = "setting_out_of_range", 400, final, "A setting is outside its range";
    NoChange = "no_change", 409, final, "It is so already";

    // Markets.
    MarketClosed = "market_closed", 409, final, "The market's mode does not allow this order";
    UnknownAccount = "unknown_account", 404, final, "There is no such account";
    AccountExists = "account_exists", 409, final, "An account of that name is open already";
    AccountsFull = "accounts_full", 409, final, "The market has as many accounts as it may";
    IssuanceExceeded = "issuance_exceeded", 409, final, "More would be issued than a market may issue";
    UnknownInstrument = "unknown_instrument", 404, final, "There is no such instrument";
    InstrumentExists = "instrument_exists", 409, final, "An instrument of that name is listed already";
    InstrumentsFull = "instruments_full", 409, final, "The market has as many instruments as it may";
    InstrumentSettled = "instrument_settled", 409, final, "The instrument is settled and does not trade any more";
    InstrumentFrozen = "instrument_frozen", 409, final, "The instrument is frozen";
    InstrumentNotSettled = "instrument_not_settled", 409, final, "The instrument is not settled, so nobody is paid";
    QuantityOutOfRange = "quantity_out_of_range", 400, final, "The quantity is not a whole number from 1 to the market's largest order";
    PriceGuardInvalid = "price_guard_invalid", 400, final, "A price guard is out of range, or one of expected_price and max_slippage_bps came without the other";
    AmountTooLarge = "amount_too_large", 409, final, "A figure would be larger than an amount can be";
    LimitPriceExceeded = "limit_price_exceeded", 409, final, "The price of the last share is beyond the limit";
    SlippageExceeded = "slippage_exceeded", 409, final, "The notional is further from the expected price than the slippage allows";
    InsufficientHolding = "insufficient_holding", 409, final, "The account holds fewer shares than it would sell";
    HoldingTooLarge = "holding_too_large", 409, final, "More shares would be held than the market allows";
    InsufficientBalance = "insufficient_balance", 409, final, "The account has less money than the order moves";
    HouseLossExceeded = "house_loss_exceeded", 409, final, "It could cost the house more than it may lose";
    NothingDue = "nothing_due", 409, final, "None of those named is due";

    // Sales.
    AlreadyBooked = "already_booked", 409, final, "The candidate has a live booking, made with another key";
    SaleClosed = "sale_closed", 409, final, "The sale's doors are closed";
    SaleNotStarted = "sale_not_started", 409, final, "The sale's window has not begun";
    SaleEnded = "sale_ended", 409, final, "The sale's window is over";
    UnknownCandidate = "unknown_candidate", 404, final, "The candidate is not on the list";
    EmailMismatch = "email_mismatch", 403, final, "The e-mail address is not the one on the list";
    CandidatesFull = "candidates_full", 409, final, "The sale has as many candidates as it may";
    UnknownLevel = "unknown_level", 404, final, "The sale has no such level";
    LevelNotAllowed = "level_not_allowed", 403, final, "The candidate may not book that level";
    LevelFull = "level_full", 409, final, "The level has no seat left";
    SaleFull = "sale_full", 409, final, "The sale has no seat left";
    BookingsFull = "bookings_full", 409, final, "The sale remembers as many bookings as it may";
    CapBelowLive = "cap_below_live", 409, final, "A cap would be below what is live";
    UnknownBooking = "unknown_booking", 404, final, "There is no such booking";
    NotOwner = "not_owner", 403, final, "The booking belongs to another payment or intent";
    HoldExpired = "hold_expired", 409, final, "The hold's time is over, so no payment may begin";
    BookingNotPayable = "booking_not_payable", 409, final, "The booking is in a state that does not allow it";
    AlreadyPaid = "already_paid", 409, final, "The booking is paid";
    AlreadyReleased = "already_released", 409, final, "The booking is released";
    GatewayFailed = "gateway_failed", 502, retry, "The payment gateway gave no usable answer";

    // Keys.
    KeyInProgress = "key_in_progress", 409, retry, "A request with this key is being worked on";
    AnswerNotKept = "answer_not_kept", 409, final, "The request was carried out, and its answer was not kept";
    UnknownKey = "unknown_key", 404, final, "Nothing is known of the key, or no longer";
    StaleOwner = "stale_owner", 409, final, "Another attempt owns the key";
    KeyCompleted = "key_completed", 409, final, "The key has its answer already";
    KeyReleased = "key_released", 409, final, "The key was given back already";
    GenerationsExhausted = "generations_exhausted", 409, final, "The key was claimed as often as can be counted";
    KeysFull = "keys_full", 503, retry, "The key store holds as many keys as it may";
    KeyStoreUnavailable = "key_store_unavailable", 503, retry, "The key store can't be used, so nothing was run";
    UpstreamUnreachable = "upstream_unreachable", 502, retry, "The service behind the proxy can't be reached, and nothing was sent to it";
    UpstreamLost = "upstream_lost", 502, retry, "The service behind the proxy was sent the request and gave no whole answer";
    UpstreamTimeout = "upstream_timeout", 504, retry, "The service behind the proxy did not answer in time";

    // The server.
    RateLimited = "rate_limited", 429, retry, "The caller asks more often than it may";
    InFlightLimited = "in_flight_limited", 429, retry, "The caller has as many requests under way as it may";
    Overloaded = "overloaded", 503, retry, "Too much is waiting";
    JournalFailed = "journal_failed", 503, retry, "The journal can't be written, and nothing is decided until a restart";
    StorageFull = "storage_full", 503, retry, "The disk is full, and nothing is decided until there is space";
    OutcomeUnknown = "outcome_unknown", 503, retry, "The answer did not come in time; the same key tells what became of it";
    ShuttingDown = "shutting_down", 503, retry, "The server is about to stop";
    ReplicasShort = "replicas_short", 503, retry, "Too few replicas confirm, and nothing is decided at that level until they do";
    LedgerBehind = "ledger_behind", 503, retry, "The ledger is further behind than it may be, and nothing is decided until it has caught up";
    LedgerStopped = "ledger_stopped", 503, retry, "The ledger contradicts what was decided, and takes nothing more of the shard";
    StandbyFollows = "standby_follows", 503, retry, "The server is a standby, and decides nothing";
    BackendUnavailable = "backend_unavailable", 503, retry, "The server that decides can't be used, and nothing is decided until it can";
    NotStandby = "not_standby", 409, final, "The server is no standby";
    HistoryDiffers = "history_differs", 409, final, "The journal is another history than the copy";
    BatchesPruned = "batches_pruned", 410, final, "The batches that come next are not kept any more";
    SnapshotUnknown = "snapshot_unknown", 404, final, "There is no such snapshot";
    ReadersFull = "readers_full", 503, retry, "As many readers of the journal have a name as may";
    PositionUnknown = "position_unknown", 404, final, "The position is not one of the shard's history";
    HistoryUnavailable = "history_unavailable", 501, final, "This backend keeps no history that could be shown";
    HistoryUnreadable = "history_unreadable", 503, retry, "What has happened can't be read now";
    HistoryDamaged = "history_damaged", 500, final, "What has happened is not on the disk as it was written";
    InvariantBroken = "invariant_broken", 500, final, "A counter would have fallen below zero";
    Internal = "internal", 500, final, "A fault of the server";

    // Start-up and the command line.
    DataFolderInUse = "data_folder_in_use", 0, final, "Another process uses the data folder";
    DataFolderInvalid = "data_folder_invalid", 0, final, "The data folder can't be used";
    DataTooNew = "data_too_new", 0, final, "A newer version wrote the data";
    JournalDamaged = "journal_damaged", 0, final, "The journal is damaged where it was known to be durable";
    ClockBehind = "clock_behind", 0, final, "The clock is far behind the last entry";
    LedgerUnusable = "ledger_unusable", 0, final, "The ledger can't be used";
    ConfigurationInvalid = "configuration_invalid", 0, final, "The configuration has nonsense in it";
    CredentialsRequired = "credentials_required", 0, final, "Without credentials the server binds to loopback only";
    BackupInvalid = "backup_invalid", 0, final, "The backup can't be used";
    SourceUnusable = "source_unusable", 0, final, "What is to be copied gives nothing that can be used";
    AddressInUse = "address_in_use", 0, final, "The address can't be bound";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A text that is no code of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownErrorCode;

impl fmt::Display for UnknownErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such error code")
    }
}

impl std::error::Error for UnknownErrorCode {}

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, UnknownErrorCode> {
        Self::ALL.iter().copied().find(|code| code.code() == text).ok_or(UnknownErrorCode)
    }
}

impl From<&Rejection> for ErrorCode {
    fn from(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::FingerprintMismatch { .. } => Self::FingerprintMismatch,
            Rejection::IntentExpired { .. } => Self::IntentExpired,
            Rejection::IntentExpiryTooFar { .. } => Self::IntentExpiryTooFar,
            Rejection::IntentsFull => Self::IntentsFull,
            Rejection::InstantOutOfRange => Self::InstantOutOfRange,
            Rejection::UnknownMarket => Self::UnknownMarket,
            Rejection::MarketExists => Self::MarketExists,
            Rejection::UnknownSale => Self::UnknownSale,
            Rejection::SaleExists => Self::SaleExists,
            Rejection::WrongShardKind => Self::WrongShardKind,
            Rejection::SettingOutOfRange { .. } => Self::SettingOutOfRange,
            Rejection::NoChange => Self::NoChange,
            Rejection::MarketClosed { .. } => Self::MarketClosed,
            Rejection::UnknownAccount => Self::UnknownAccount,
            Rejection::AccountExists => Self::AccountExists,
            Rejection::AccountsFull => Self::AccountsFull,
            Rejection::IssuanceExceeded { .. } => Self::IssuanceExceeded,
            Rejection::UnknownInstrument => Self::UnknownInstrument,
            Rejection::InstrumentExists => Self::InstrumentExists,
            Rejection::InstrumentsFull => Self::InstrumentsFull,
            Rejection::InstrumentSettled { .. } => Self::InstrumentSettled,
            Rejection::InstrumentFrozen => Self::InstrumentFrozen,
            Rejection::InstrumentNotSettled => Self::InstrumentNotSettled,
            Rejection::QuantityOutOfRange { .. } => Self::QuantityOutOfRange,
            Rejection::PriceGuardInvalid => Self::PriceGuardInvalid,
            Rejection::AmountTooLarge => Self::AmountTooLarge,
            Rejection::LimitPriceExceeded { .. } => Self::LimitPriceExceeded,
            Rejection::SlippageExceeded { .. } => Self::SlippageExceeded,
            Rejection::InsufficientHolding { .. } => Self::InsufficientHolding,
            Rejection::HoldingTooLarge { .. } => Self::HoldingTooLarge,
            Rejection::InsufficientBalance { .. } => Self::InsufficientBalance,
            Rejection::HouseLossExceeded { .. } => Self::HouseLossExceeded,
            Rejection::NothingDue => Self::NothingDue,
            Rejection::AlreadyBooked { .. } => Self::AlreadyBooked,
            Rejection::SaleClosed => Self::SaleClosed,
            Rejection::SaleNotStarted { .. } => Self::SaleNotStarted,
            Rejection::SaleEnded { .. } => Self::SaleEnded,
            Rejection::UnknownCandidate => Self::UnknownCandidate,
            Rejection::EmailMismatch => Self::EmailMismatch,
            Rejection::CandidatesFull => Self::CandidatesFull,
            Rejection::UnknownLevel => Self::UnknownLevel,
            Rejection::LevelNotAllowed => Self::LevelNotAllowed,
            Rejection::LevelFull { .. } => Self::LevelFull,
            Rejection::SaleFull { .. } => Self::SaleFull,
            Rejection::BookingsFull => Self::BookingsFull,
            Rejection::CapBelowLive { .. } => Self::CapBelowLive,
            Rejection::UnknownBooking => Self::UnknownBooking,
            Rejection::NotOwner => Self::NotOwner,
            Rejection::HoldExpired { .. } => Self::HoldExpired,
            Rejection::BookingNotPayable { .. } => Self::BookingNotPayable,
            Rejection::AlreadyPaid => Self::AlreadyPaid,
            Rejection::AlreadyReleased => Self::AlreadyReleased,
            Rejection::InvariantBroken { .. } => Self::InvariantBroken,
        }
    }
}

impl From<&KeyRejection> for ErrorCode {
    fn from(rejection: &KeyRejection) -> Self {
        match rejection {
            KeyRejection::InstantOutOfRange => Self::InstantOutOfRange,
            KeyRejection::SettingOutOfRange { .. } => Self::SettingOutOfRange,
            KeyRejection::UnknownKey => Self::UnknownKey,
            KeyRejection::StaleOwner { .. } => Self::StaleOwner,
            KeyRejection::KeyCompleted => Self::KeyCompleted,
            KeyRejection::KeyReleased => Self::KeyReleased,
            KeyRejection::FingerprintMismatch { .. } => Self::FingerprintMismatch,
            KeyRejection::KeyInProgress { .. } => Self::KeyInProgress,
            KeyRejection::KeyLapsed { .. } => Self::OutcomeUnknown,
            KeyRejection::IntentExpired { .. } => Self::IntentExpired,
            KeyRejection::IntentExpiryTooFar { .. } => Self::IntentExpiryTooFar,
            KeyRejection::GenerationsExhausted => Self::GenerationsExhausted,
        }
    }
}
