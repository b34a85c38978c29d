//! From what the server replied to a query to what it shows.

use nevertwice_api::encoding::decode_fields;
use nevertwice_core::fields::Fields;
use nevertwice_core::{
    AccountView, BookingView, DueHolds, HolderPage, HoldingView, InstrumentPage, InstrumentState, InstrumentView, LevelView, MarketView,
    Name, Position, Query, Rejection, SaleView, ScanCursor, ShardId, ShardKind, View,
};
use redis::Value;

use super::fields::{
    AccountFields, BookingFields, CountFields, Head, HoldingFields, InstrumentFields, LevelFields, MarketFields, SaleFields,
};
use super::rejections::{quote, rejection};
use super::reply::{Odd, intent_record, number, parts};

/// What was read, and the shard's head as of which; none if it is not open.
pub(crate) struct Read {
    pub(crate) view: Result<View, Rejection>,
    pub(crate) head: Option<Head>,
}

/// The head of a shard; none if it is not open.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<Head>, Odd> {
    // A newer version's head may be of any shape behind its first byte.
    match bytes.first() {
        None => Ok(None),
        Some(&version) if version > super::HEAD_VERSION => Err(Odd::TooNew),
        Some(_) => Ok(Some(decode_fields(bytes)?)),
    }
}

/// What the reply to a query shows.
pub(crate) fn read(shard: &ShardId, query: &Query, value: &Value) -> Result<Read, Odd> {
    let parts = parts(value)?;
    let (first, rest) = parts.split_first().ok_or_else(|| Odd::Shape("an empty reply".into()))?;
    let head = head(first)?;
    let view = match &head {
        _ if matches!(query, Query::Intent { .. }) => Ok(intent(head.as_ref(), rest)?),
        None => Err(match shard.kind {
            ShardKind::Market => Rejection::UnknownMarket,
            ShardKind::Sale => Rejection::UnknownSale,
        }),
        Some(_) if kind(query) != Some(shard.kind) => Err(Rejection::WrongShardKind),
        Some(_) => show(query, rest)?,
    };
    Ok(Read { view, head })
}

const fn kind(query: &Query) -> Option<ShardKind> {
    match query {
        Query::Market
        | Query::Instruments { .. }
        | Query::Instrument { .. }
        | Query::Quote { .. }
        | Query::Account { .. }
        | Query::Holdings { .. }
        | Query::Holders { .. } => Some(ShardKind::Market),
        Query::Sale | Query::Booking { .. } | Query::BookingOf { .. } | Query::DueHolds { .. } | Query::Bookings { .. } => {
            Some(ShardKind::Sale)
        }
        Query::Intent { .. } => None,
    }
}

fn intent(head: Option<&Head>, rest: &[&[u8]]) -> Result<View, Odd> {
    let (Some(head), [record]) = (head, rest) else { return Ok(View::Intent(None)) };
    if record.is_empty() {
        return Ok(View::Intent(None));
    }
    let record = intent_record(record)?;
    let is_live = record.at_ms.saturating_add(head.retention_ms) > head.at_ms;
    Ok(View::Intent(is_live.then_some(record)))
}

fn show(query: &Query, rest: &[&[u8]]) -> Result<Result<View, Rejection>, Odd> {
    Ok(Ok(match (query, rest) {
        (Query::Market, [market, fees]) => View::Market(market_view(&decode_fields(market)?, decode_fields(fees)?)),
        (Query::Instruments { from }, [market, rows @ ..]) => {
            let market: MarketFields = decode_fields(market)?;
            let instruments = pairs(rows, |name, record: InstrumentFields| instrument_view(name, &record))?;
            let next = next_page(*from, instruments.len(), market.instruments);
            View::Instruments(InstrumentPage { instruments, next })
        }
        (Query::Instrument { .. } | Query::Account { .. }, [_, []]) => return Ok(Err(unknown(query))),
        (Query::Instrument { instrument }, [_, record]) => View::Instrument(instrument_view(instrument.clone(), &decode_fields(record)?)),
        (Query::Quote { .. }, [b"quote", figures]) => View::Quote(quote(figures)?),
        (Query::Quote { .. }, [code, detail]) => {
            let code = String::from_utf8_lossy(code);
            return Ok(Err(rejection(&code, detail)?.ok_or_else(|| Odd::Shape(format!("a refusal `{code}`")))?));
        }
        (Query::Account { account }, [_, record]) => {
            let AccountFields { class, balance, marked_score, holdings } = decode_fields(record)?;
            View::Account(AccountView { account: account.clone(), class, balance, marked_score, holdings: holdings as usize })
        }
        (Query::Holdings { .. }, [[]]) | (Query::Holders { .. }, [_]) => return Ok(Err(unknown(query))),
        (Query::Holdings { account, from }, [known, rows @ ..]) => {
            let known: AccountFields = decode_fields(known)?;
            let holdings = pairs(rows, |instrument, record| holding_view(account.clone(), instrument, &record))?;
            let next = next_page(*from, holdings.len(), known.holdings);
            View::Holdings(holdings, next)
        }
        (Query::Holders { instrument, cursor }, [market, _, looked_at, rows @ ..]) => {
            let market: MarketFields = decode_fields(market)?;
            let mut holders = pairs(rows, |account, record| holding_view(account, instrument.clone(), &record))?;
            holders.sort_unstable_by(|a, b| a.account.cmp(&b.account));
            View::Holders(HolderPage { holders, next: next_piece(*cursor, number(looked_at)?, market.accounts) })
        }
        (Query::Sale, [sale, counts, rows @ ..]) => {
            let levels = pairs(rows, |level, record: LevelFields| LevelView { level, cap: record.cap(), live: record.live })?;
            View::Sale(sale_view(&decode_fields(sale)?, &decode_fields(counts)?, levels))
        }
        (Query::Booking { .. }, [_, []]) | (Query::BookingOf { .. }, []) => return Ok(Err(Rejection::UnknownBooking)),
        (Query::Booking { booking }, [_, record]) => View::Booking(decode_fields::<BookingFields>(record)?.view(*booking)),
        (Query::BookingOf { .. }, [booking, record]) => {
            View::Booking(decode_fields::<BookingFields>(record)?.view(decode_fields(booking)?))
        }
        (Query::Bookings { cursor }, [counts, looked_at, rows @ ..]) => {
            let (mut bookings, next) = bookings(*cursor, counts, looked_at, rows)?;
            bookings.sort_unstable_by_key(|booking| booking.booking);
            View::Bookings(bookings, next)
        }
        (Query::DueHolds { cursor, .. }, [counts, looked_at, rows @ ..]) => {
            let (bookings, next) = bookings(*cursor, counts, looked_at, rows)?;
            let mut bookings: Vec<Position> = bookings.into_iter().map(|booking| booking.booking).collect();
            bookings.sort_unstable();
            View::DueHolds(DueHolds { bookings }, next)
        }
        _ => return Err(Odd::Shape("a reply to a query of a shape that no script gives".into())),
    }))
}

const fn unknown(query: &Query) -> Rejection {
    match query {
        Query::Instrument { .. } | Query::Holders { .. } => Rejection::UnknownInstrument,
        _ => Rejection::UnknownAccount,
    }
}

fn name(bytes: &[u8]) -> Result<Name, Odd> {
    std::str::from_utf8(bytes).ok().and_then(|text| Name::new(text).ok()).ok_or_else(|| Odd::Shape("a name that is none".into()))
}

/// Rows of a name and a record each.
fn pairs<R: Fields, T>(rows: &[&[u8]], mut show: impl FnMut(Name, R) -> T) -> Result<Vec<T>, Odd> {
    let row = |pair: &[&[u8]]| match pair {
        [first, record] => Ok(show(name(first)?, decode_fields(record)?)),
        _ => Err(Odd::Shape("half a row".into())),
    };
    rows.chunks(2).map(row).collect()
}

fn bookings(cursor: ScanCursor, counts: &[u8], looked_at: &[u8], rows: &[&[u8]]) -> Result<(Vec<BookingView>, Option<ScanCursor>), Odd> {
    let counts: CountFields = decode_fields(counts)?;
    let row = |pair: &[&[u8]]| match pair {
        [booking, record] => Ok(decode_fields::<BookingFields>(record)?.view(decode_fields(booking)?)),
        _ => Err(Odd::Shape("half a row".into())),
    };
    let bookings = rows.chunks(2).map(row).collect::<Result<_, Odd>>()?;
    Ok((bookings, next_piece(cursor, number(looked_at)?, counts.bookings)))
}

fn next_page(from: u32, shown: usize, all: u32) -> Option<u32> {
    let next = from.checked_add(u32::try_from(shown).ok()?)?;
    (shown > 0 && next < all).then_some(next)
}

fn next_piece(cursor: ScanCursor, looked_at: u32, all: u32) -> Option<ScanCursor> {
    let next = cursor.0.saturating_add(looked_at);
    (looked_at > 0 && next < all).then_some(ScanCursor(next))
}

fn market_view(market: &MarketFields, fees: i64) -> MarketView {
    MarketView {
        decimals: market.decimals,
        fee_bps: market.fee_bps,
        limits: market.limits,
        mode: market.mode,
        fees,
        issuance: market.issuance,
        house_loss: market.house_loss,
        instruments: market.instruments as usize,
        accounts: market.accounts as usize,
    }
}

fn instrument_view(instrument: Name, record: &InstrumentFields) -> InstrumentView {
    let &InstrumentFields { base, slope, state, settled_price, net, cash, .. } = record;
    let price = match state {
        InstrumentState::Settled => settled_price,
        _ => base.saturating_add(slope.saturating_mul(net)),
    };
    InstrumentView { instrument, base, slope, state, price, net, cash }
}

fn holding_view(account: Name, instrument: Name, record: &HoldingFields) -> HoldingView {
    let &HoldingFields { shares, cost, marked_profit } = record;
    HoldingView { account, instrument, shares, cost, marked_profit }
}

fn sale_view(sale: &SaleFields, counts: &CountFields, levels: Vec<LevelView>) -> SaleView {
    SaleView {
        open: sale.open,
        opens_at: sale.opens_at,
        closes_at: sale.closes_at,
        hold_ms: sale.hold_ms,
        total_cap: sale.total_cap,
        live: counts.live,
        levels,
        candidates: sale.candidates as usize,
        bookings: counts.bookings as usize,
    }
}
