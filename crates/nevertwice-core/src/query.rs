//! Reads: bounded, and as of the state's position.

use alloc::vec::Vec;

use crate::limits::{ACCOUNTS_MAX, BOOKINGS_MAX, CANDIDATES_MAX, INSTRUMENTS_MAX, PAGE_MAX, SCAN_ROWS_MAX};
use crate::market::Market;
use crate::record::IntentRecord;
use crate::sale::Sale;
use crate::state::Body;
use crate::table::Table;
use crate::{
    AccountView, BookingView, CandidateId, DueHolds, HoldingView, IdempotencyKey, InstrumentView, MarketView, Name, Position, Principal,
    Quote, Rejection, SaleView, ShardKind, Side, State,
};

/// Where a scan goes on; opaque to callers. A scan sees everything that was there when it began, once, however much comes meanwhile;
/// of the order it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ScanCursor(pub u32);

/// What can be read of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// A market's own figures.
    Market,
    /// Instruments in the order of listing, at most `PAGE_MAX` of them.
    Instruments {
        /// How many to pass over.
        from: u32,
    },
    /// One instrument.
    Instrument {
        /// Which.
        instrument: Name,
    },
    /// What an order would cost or bring.
    Quote {
        /// Of what.
        instrument: Name,
        /// Which way.
        side: Side,
        /// How many shares.
        quantity: i64,
    },
    /// One account.
    Account {
        /// Which.
        account: Name,
    },
    /// One account's holdings in the order of listing, at most `PAGE_MAX` of them.
    Holdings {
        /// Whose.
        account: Name,
        /// How many to pass over.
        from: u32,
    },
    /// Accounts that hold an instrument: a scan.
    Holders {
        /// Of what.
        instrument: Name,
        /// Where to go on; the default to begin.
        cursor: ScanCursor,
    },
    /// A sale's own figures.
    Sale,
    /// One booking.
    Booking {
        /// Which.
        booking: Position,
    },
    /// A candidate's live booking.
    BookingOf {
        /// Whose.
        candidate: CandidateId,
    },
    /// Bookings that `ExpireHolds` has something to do with at an instant: a scan.
    DueHolds {
        /// The instant.
        at_ms: i64,
        /// Where to go on; the default to begin.
        cursor: ScanCursor,
    },
    /// All bookings, ended ones included: a scan.
    Bookings {
        /// Where to go on; the default to begin.
        cursor: ScanCursor,
    },
    /// What a key did.
    Intent {
        /// Whose key.
        principal: Principal,
        /// Which key.
        key: IdempotencyKey,
    },
}

/// A page of instruments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrumentPage {
    /// The instruments.
    pub instruments: Vec<InstrumentView>,
    /// Where the next page begins; none: this was the last.
    pub next: Option<u32>,
}

/// A piece of a scan over the holders of an instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderPage {
    /// Holders; a piece may be empty although more follow.
    pub holders: Vec<HoldingView>,
    /// Where to go on; none: the scan is over.
    pub next: Option<ScanCursor>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// A market's own figures.
    Market(MarketView),
    /// A page of instruments.
    Instruments(InstrumentPage),
    /// One instrument.
    Instrument(InstrumentView),
    /// What an order would cost or bring.
    Quote(Quote),
    /// One account.
    Account(AccountView),
    /// A page of one account's holdings, and where the next begins.
    Holdings(Vec<HoldingView>, Option<u32>),
    /// A piece of a scan over holders.
    Holders(HolderPage),
    /// A sale's own figures.
    Sale(SaleView),
    /// One booking.
    Booking(BookingView),
    /// A piece of a scan for holds whose time is over.
    DueHolds(DueHolds, Option<ScanCursor>),
    /// A piece of a scan over bookings.
    Bookings(Vec<BookingView>, Option<ScanCursor>),
    /// What a key did; none: it is not remembered.
    Intent(Option<IntentRecord>),
}

impl State {
    /// Reads, as of [`State::position`].
    ///
    /// # Errors
    /// If the shard, or what the query names in it, does not exist.
    pub fn read(&self, query: &Query) -> Result<View, Rejection> {
        if let Query::Intent { principal, key } = query {
            return Ok(View::Intent(self.intents.find(principal, key, self.at_ms)));
        }
        match (&self.body, self.kind()) {
            (Body::Market(market), _) => market.read(query),
            (Body::Sale(sale), _) => sale.read(query),
            (Body::Unopened, ShardKind::Market) => Err(Rejection::UnknownMarket),
            (Body::Unopened, ShardKind::Sale) => Err(Rejection::UnknownSale),
        }
    }
}

impl Market {
    fn read(&self, query: &Query) -> Result<View, Rejection> {
        match query {
            Query::Market => Ok(View::Market(self.view())),
            Query::Instruments { from } => {
                let instruments: Vec<_> = self.instruments().iter().skip(*from as usize).take(PAGE_MAX).map(|it| it.view()).collect();
                let next = next_page(*from, instruments.len(), self.instruments().len());
                Ok(View::Instruments(InstrumentPage { instruments, next }))
            }
            Query::Instrument { instrument } => {
                let (_, instrument) = self.instrument(instrument).ok_or(Rejection::UnknownInstrument)?;
                Ok(View::Instrument(instrument.view()))
            }
            Query::Quote { instrument, side, quantity } => {
                let (_, instrument) = self.instrument(instrument).ok_or(Rejection::UnknownInstrument)?;
                instrument.check_trades()?;
                let quantity_max = self.limits.quantity_max;
                if *quantity < 1 || *quantity > quantity_max {
                    return Err(Rejection::QuantityOutOfRange { quantity_max });
                }
                let quote = Quote::of(self, instrument, *side, *quantity)?;
                if *side == Side::Buy {
                    quote.check_holding(self)?;
                }
                Ok(View::Quote(quote))
            }
            Query::Account { account } => Ok(View::Account(self.account(account).ok_or(Rejection::UnknownAccount)?.view())),
            Query::Holdings { account, from } => {
                let account = self.account(account).ok_or(Rejection::UnknownAccount)?;
                let page = account.holdings().iter().skip(*from as usize).take(PAGE_MAX);
                let holdings: Vec<_> = page.filter_map(|(number, holding)| self.holding_view(account, *number, holding)).collect();
                let next = next_page(*from, holdings.len(), account.holdings().len());
                Ok(View::Holdings(holdings, next))
            }
            Query::Holders { instrument, cursor } => {
                let (number, _) = self.instrument(instrument).ok_or(Rejection::UnknownInstrument)?;
                let (mut holders, next) = scan_piece(self.accounts(), *cursor, |account| {
                    let holding = account.holding(number);
                    if holding.shares > 0 { self.holding_view(account, number, &holding) } else { None }
                });
                holders.sort_unstable_by(|a, b| a.account.cmp(&b.account));
                Ok(View::Holders(HolderPage { holders, next }))
            }
            _ => Err(Rejection::WrongShardKind),
        }
    }
}

impl Sale {
    fn read(&self, query: &Query) -> Result<View, Rejection> {
        match query {
            Query::Sale => Ok(View::Sale(self.view())),
            Query::Booking { booking } => Ok(View::Booking(self.find_booking(*booking)?.view())),
            Query::BookingOf { candidate } => Ok(View::Booking(self.booking_of(candidate).ok_or(Rejection::UnknownBooking)?.view())),
            Query::DueHolds { at_ms, cursor } => {
                let (mut bookings, next) = scan_piece(self.bookings(), *cursor, |booking| booking.is_due(*at_ms).then_some(booking.id));
                bookings.sort_unstable();
                Ok(View::DueHolds(DueHolds { bookings }, next))
            }
            Query::Bookings { cursor } => {
                let (mut bookings, next) = scan_piece(self.bookings(), *cursor, |booking| Some(booking.view()));
                bookings.sort_unstable_by_key(|booking| booking.booking);
                Ok(View::Bookings(bookings, next))
            }
            _ => Err(Rejection::WrongShardKind),
        }
    }
}

fn next_page(from: u32, shown: usize, all: usize) -> Option<u32> {
    let next = (from as usize).checked_add(shown)?;
    if shown > 0 && next < all { u32::try_from(next).ok() } else { None }
}

/// Shows what it wants of the next rows, at most `PAGE_MAX` of at most `SCAN_ROWS_MAX`, and says where to go on.
fn scan_piece<T, S>(table: &Table<T>, cursor: ScanCursor, mut show: impl FnMut(&T) -> Option<S>) -> (Vec<S>, Option<ScanCursor>) {
    let mut shown = Vec::new();
    let mut next = cursor.0;
    for row in table.iter_from(cursor.0).take(SCAN_ROWS_MAX) {
        next = next.saturating_add(1);
        shown.extend(show(row));
        if shown.len() >= PAGE_MAX {
            break;
        }
    }
    (shown, if (next as usize) < table.len() { Some(ScanCursor(next)) } else { None })
}

const _: () = assert!(INSTRUMENTS_MAX <= u32::MAX as usize);
const _: () = assert!(ACCOUNTS_MAX <= u32::MAX as usize);
const _: () = assert!(CANDIDATES_MAX <= u32::MAX as usize);
const _: () = assert!(BOOKINGS_MAX <= u32::MAX as usize);
