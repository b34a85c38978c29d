//! State out and in, as records.

use core::fmt;

use crate::limits::ADOPTIONS_MAX;
use crate::market::{Account, Holding, Instrument, Market};
use crate::record::{
    AccountRecord, BookingRecord, CandidateRecord, HoldingRecord, InstrumentRecord, IntentRecord, LevelRecord, MarketRecord, Record,
    SaleRecord, ShardRecord,
};
use crate::sale::{Booking, Candidate, Level, Sale, SaleTerms};
use crate::state::Body;
use crate::{ApplyError, ShardKind, State};

/// Why records make no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// The first record is not the shard's.
    NoShard,
    /// A record comes twice, or before the one that it belongs to.
    OutOfOrder(&'static str),
    /// A record names something that is not there, or its figures don't fit.
    Unfit(ApplyError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShard => f.write_str("the first record is not that of a shard"),
            Self::OutOfOrder(what) => write!(f, "the record of a {what} comes twice or too early"),
            Self::Unfit(error) => write!(f, "a record does not fit: {error}"),
        }
    }
}

impl core::error::Error for ImportError {}

impl From<ApplyError> for ImportError {
    fn from(error: ApplyError) -> Self {
        Self::Unfit(error)
    }
}

impl State {
    /// Shows the whole state as records: the shard first, then what it consists of, the remembered intents that are live at the
    /// last entry's instant last, oldest first. Within a kind they come in the order in which they were made, so that a scan goes on
    /// in a state that was imported where it stopped in the one that was exported.
    pub fn export(&self, visit: &mut dyn FnMut(Record)) {
        visit(Record::Shard(ShardRecord {
            shard: self.shard.clone(),
            position: self.position,
            at_ms: self.at_ms,
            retention_ms: self.intents.retention_ms(),
            adoptions: self.adoptions.iter().copied().collect(),
        }));
        match &self.body {
            Body::Unopened => {}
            Body::Market(market) => export_market(market, visit),
            Body::Sale(sale) => export_sale(sale, visit),
        }
        self.intents.for_each_live(self.at_ms, |record| visit(Record::Intent(record)));
    }

    /// Makes a state of the records that [`State::export`] showed, in that order. It goes on in the epoch of its last entry
    /// until the host adopts it ([`State::adopt`]).
    ///
    /// # Errors
    /// If a record is missing, out of order or does not fit those before it, or a seat is taken twice.
    pub fn import(seed: (u64, u64), records: impl IntoIterator<Item = Record>) -> Result<Self, ImportError> {
        let mut records = records.into_iter();
        let Some(Record::Shard(shard)) = records.next() else { return Err(ImportError::NoShard) };
        let mut state = Self::new(shard.shard, shard.position.epoch, seed);
        state.position = shard.position;
        state.at_ms = shard.at_ms;
        state.intents.set_retention_ms(shard.retention_ms);
        let rising = shard.adoptions.windows(2).all(|pair| matches!(pair, [a, b] if a.epoch < b.epoch && a.seq < b.seq));
        if !rising || shard.adoptions.len() > ADOPTIONS_MAX || shard.adoptions.last().is_some_and(|last| last.epoch != shard.position.epoch)
        {
            return Err(ImportError::OutOfOrder("adoption"));
        }
        state.adoptions = shard.adoptions.into();
        let mut seats = 0;
        for record in records {
            if let Record::Sale(sale) = &record {
                seats = sale.seats;
            }
            state.import_record(record)?;
        }
        match &mut state.body {
            Body::Sale(sale) => sale.restore_seats(seats)?,
            // Entries were applied, so there is something to show.
            Body::Unopened if state.position.seq > 0 => return Err(ApplyError::Unknown(state.shard.kind.word()).into()),
            Body::Unopened | Body::Market(_) => {}
        }
        Ok(state)
    }

    fn import_record(&mut self, record: Record) -> Result<(), ImportError> {
        match (&mut self.body, record) {
            (Body::Unopened, Record::Market(record)) if self.shard.kind == ShardKind::Market => {
                let mut market = Market::new(self.seed, record.decimals, record.fee_bps, record.limits, record.mode);
                market.fees = record.fees;
                market.issuance = record.issuance;
                market.house_loss = record.house_loss;
                self.body = Body::Market(market);
                Ok(())
            }
            (Body::Unopened, Record::Sale(record)) if self.shard.kind == ShardKind::Sale => {
                let terms = SaleTerms { opens_at: record.opens_at, closes_at: record.closes_at, hold_ms: record.hold_ms };
                let mut sale = Sale::new(self.seed, terms, record.open, record.total_cap, alloc::vec::Vec::new());
                sale.live = record.live;
                self.body = Body::Sale(sale);
                Ok(())
            }
            (Body::Market(market), Record::Instrument(record)) => import_instrument(market, record),
            (Body::Market(market), Record::Account(record)) => import_account(market, record),
            (Body::Market(market), Record::Holding(record)) => import_holding(market, &record),
            (Body::Sale(sale), Record::Level(record)) => import_level(sale, record),
            (Body::Sale(sale), Record::Candidate(record)) => import_candidate(sale, &record),
            (Body::Sale(sale), Record::Booking(record)) => import_booking(sale, record),
            (_, Record::Intent(IntentRecord { intent, position, at_ms, events })) => {
                let new = self.intents.insert(&intent, position, at_ms, &events);
                if new { Ok(()) } else { Err(ImportError::OutOfOrder("intent")) }
            }
            (_, other) => Err(ImportError::OutOfOrder(kind(&other))),
        }
    }
}

const fn kind(record: &Record) -> &'static str {
    match record {
        Record::Shard(_) => "shard",
        Record::Market(_) => "market",
        Record::Instrument(_) => "instrument",
        Record::Account(_) => "account",
        Record::Holding(_) => "holding",
        Record::Sale(_) => "sale",
        Record::Level(_) => "level",
        Record::Candidate(_) => "candidate",
        Record::Booking(_) => "booking",
        Record::Intent(_) => "intent",
    }
}

fn export_market(market: &Market, visit: &mut dyn FnMut(Record)) {
    visit(Record::Market(MarketRecord {
        decimals: market.decimals,
        fee_bps: market.fee_bps,
        limits: market.limits,
        mode: market.mode,
        fees: market.fees,
        issuance: market.issuance,
        house_loss: market.house_loss,
    }));
    for (instrument, listed) in market.instruments().iter().zip(0_u32..) {
        visit(Record::Instrument(InstrumentRecord {
            instrument: instrument.name.clone(),
            listed,
            base: instrument.base,
            slope: instrument.slope,
            state: instrument.state,
            settled_price: instrument.settled_price,
            net: instrument.net,
            cash: instrument.cash,
        }));
    }
    for account in market.accounts().iter() {
        visit(Record::Account(AccountRecord {
            account: account.name.clone(),
            class: account.class,
            balance: account.balance,
            marked_score: account.marked_score,
        }));
        for (number, holding) in account.holdings() {
            let Some(instrument) = market.instruments().get(*number as usize) else { continue };
            visit(Record::Holding(HoldingRecord {
                account: account.name.clone(),
                instrument: instrument.name.clone(),
                shares: holding.shares,
                cost: holding.cost,
                marked_profit: holding.marked_profit,
            }));
        }
    }
}

fn export_sale(sale: &Sale, visit: &mut dyn FnMut(Record)) {
    visit(Record::Sale(SaleRecord {
        open: sale.open,
        opens_at: sale.terms.opens_at,
        closes_at: sale.terms.closes_at,
        hold_ms: sale.terms.hold_ms,
        total_cap: sale.total_cap,
        live: sale.live,
        seats: sale.seats,
    }));
    for (level, number) in sale.levels.iter().zip(0_u32..) {
        visit(Record::Level(LevelRecord { level: level.name.clone(), number, cap: level.cap, live: level.live }));
    }
    for candidate in sale.candidates().iter() {
        visit(Record::Candidate(CandidateRecord { candidate: candidate.id, email: candidate.email, levels: candidate.levels }));
    }
    for booking in sale.bookings().iter() {
        visit(Record::Booking(BookingRecord {
            booking: booking.id,
            candidate: booking.candidate,
            level: booking.level.clone(),
            seat: booking.seat,
            state: booking.state,
            principal: booking.principal.clone(),
            key: booking.key.clone(),
            hold_expires_at: booking.hold_expires_at,
            payment: booking.payment.clone(),
            url: booking.url.clone(),
        }));
    }
}

fn import_instrument(market: &mut Market, record: InstrumentRecord) -> Result<(), ImportError> {
    if market.instruments().len() != record.listed as usize || market.instrument_number(&record.instrument).is_some() {
        return Err(ImportError::OutOfOrder("instrument"));
    }
    market.add_instrument(Instrument {
        name: record.instrument,
        base: record.base,
        slope: record.slope,
        state: record.state,
        settled_price: record.settled_price,
        net: record.net,
        cash: record.cash,
    })?;
    Ok(())
}

fn import_account(market: &mut Market, record: AccountRecord) -> Result<(), ImportError> {
    if market.account(&record.account).is_some() {
        return Err(ImportError::OutOfOrder("account"));
    }
    let mut account = Account::new(record.account, record.class, record.balance);
    account.marked_score = record.marked_score;
    market.add_account(account);
    Ok(())
}

fn import_holding(market: &mut Market, record: &HoldingRecord) -> Result<(), ImportError> {
    let number = market.instrument_number(&record.instrument).ok_or(ApplyError::Unknown("instrument"))?;
    let account = market.account_mut(&record.account)?;
    if record.shares <= 0 || account.holding(number).shares != 0 {
        return Err(ImportError::OutOfOrder("holding"));
    }
    account.set_holding(number, Holding { shares: record.shares, cost: record.cost, marked_profit: record.marked_profit });
    Ok(())
}

fn import_level(sale: &mut Sale, record: LevelRecord) -> Result<(), ImportError> {
    if sale.levels.len() != record.number as usize {
        return Err(ImportError::OutOfOrder("level"));
    }
    sale.levels.push(Level { name: record.level, cap: record.cap, live: record.live });
    Ok(())
}

fn import_candidate(sale: &mut Sale, record: &CandidateRecord) -> Result<(), ImportError> {
    if sale.candidate(&record.candidate).is_some() {
        return Err(ImportError::OutOfOrder("candidate"));
    }
    sale.add_candidate(Candidate { id: record.candidate, email: record.email, levels: record.levels, booking: None });
    Ok(())
}

fn import_booking(sale: &mut Sale, record: BookingRecord) -> Result<(), ImportError> {
    if sale.booking(record.booking).is_some() || sale.level(&record.level).is_none() {
        return Err(ImportError::OutOfOrder("booking"));
    }
    if record.state.is_live() {
        let candidate = sale.candidate_mut(&record.candidate)?;
        if candidate.booking.replace(record.booking).is_some() {
            return Err(ApplyError::Inconsistent("booking").into());
        }
    }
    sale.add_booking(Booking {
        id: record.booking,
        candidate: record.candidate,
        level: record.level,
        seat: record.seat,
        state: record.state,
        principal: record.principal,
        key: record.key,
        hold_expires_at: record.hold_expires_at,
        payment: record.payment,
        url: record.url,
    });
    Ok(())
}
