//! The records that lie under a shard's keys, as Lua's `struct` packs them: fixed widths, little-endian, as in the encoding of
//! entries. `lua/README.md` has them in a table.

use nevertwice_core::fields::{Fields, Malformed, Sink, Source};
use nevertwice_core::{
    AccountClass, BookingState, BookingView, CandidateId, IdempotencyKey, InstrumentState, MarketLimits, MarketMode, Name, PaymentId,
    PaymentUrl, Position, Principal,
};

/// The newest version of a head that this program knows.
pub(crate) const HEAD_VERSION: u8 = 1;

macro_rules! records {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name { $(pub(crate) $field: $ty),* }

        impl Fields for $name {
            fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
                $(self.$field.put(sink);)*
            }
            fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
                Ok(Self { $($field: Fields::take(source)?),* })
            }
        }
    )*};
}

records! {
    /// How far a shard is.
    Head { version: u8, adopted: u32, position: Position, at_ms: i64, final_at_ms: i64, retention_ms: i64 }
    /// A market's terms and counters.
    MarketFields {
        decimals: u8, fee_bps: i64, limits: MarketLimits, mode: MarketMode, issuance: i64, house_loss: i64, instruments: u32, accounts: u32,
    }
    /// An instrument.
    InstrumentFields { listed: u32, base: i64, slope: i64, state: InstrumentState, settled_price: i64, net: i64, cash: i64 }
    /// An account.
    AccountFields { class: AccountClass, balance: i64, marked_score: i64, holdings: u32 }
    /// An account's shares of an instrument.
    HoldingFields { shares: i64, cost: i64, marked_profit: i64 }
    /// A sale's terms.
    SaleFields { open: bool, opens_at: i64, closes_at: i64, hold_ms: i64, total_cap: i64, levels: u32, candidates: u32 }
    /// A sale's counters.
    CountFields { live: i64, seats: u32, bookings: u32 }
    /// A level. Its cap counts if it has one.
    LevelFields { number: u32, has_cap: bool, cap: i64, live: i64 }
    /// A booking.
    BookingFields {
        seat: u32, state: BookingState, hold_expires_at: i64, candidate: CandidateId, level: Name, principal: Principal, key: IdempotencyKey,
        payment: Option<PaymentId>, url: Option<PaymentUrl>,
    }
}

impl LevelFields {
    pub(crate) fn cap(&self) -> Option<i64> {
        self.has_cap.then_some(self.cap)
    }
}

impl BookingFields {
    pub(crate) fn view(self, booking: Position) -> BookingView {
        let Self { seat, state, hold_expires_at, candidate, level, principal, key, payment, url } = self;
        BookingView { booking, candidate, level, seat, state, principal, key, hold_expires_at, payment, url }
    }
}

/// A candidate: the levels that may be booked, the position of the live booking, and the e-mail's digest if there is one.
pub(crate) struct CandidateFields {
    pub(crate) email: Option<[u8; 32]>,
    pub(crate) levels: u64,
}

impl CandidateFields {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let (levels, rest) = bytes.split_first_chunk().ok_or(Malformed::CutShort)?;
        let (_, email) = rest.split_at_checked(12).ok_or(Malformed::CutShort)?;
        let email = match email {
            [] => None,
            email => Some(email.try_into().map_err(|_| Malformed::CutShort)?),
        };
        Ok(Self { email, levels: u64::from_le_bytes(*levels) })
    }
}

/// The first position of each epoch, one after the other.
pub(crate) struct Adoptions(pub(crate) Vec<Position>);

impl Adoptions {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let positions = bytes.chunks(12).map(nevertwice_api::encoding::decode_fields);
        positions.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a position is that of one of this history's entries, the last of which is `last`.
    pub(crate) fn contains(&self, position: Position, last: Position) -> bool {
        let after = self.0.partition_point(|first| first.epoch <= position.epoch);
        let Some(first) = after.checked_sub(1).and_then(|at| self.0.get(at)) else { return false };
        let before_next = self.0.get(after).is_none_or(|next| position.seq < next.seq);
        first.epoch == position.epoch && position.seq >= first.seq && before_next && position.seq <= last.seq
    }
}
