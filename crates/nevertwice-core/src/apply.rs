//! Applies facts.

use core::fmt;

use crate::market::Market;
use crate::sale::{Level, Sale, SaleTerms};
use crate::state::Body;
use crate::{Entry, Event, Position, ShardKind, State};

/// Why an entry does not fit a state. For an entry that this state decided it never happens; for one that was read, it means
/// that bytes or versions were mixed up, and the host has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// The entry belongs to another shard.
    OtherShard,
    /// The entry is not the next one.
    Gap {
        /// The last one applied.
        last: Position,
        /// The one that came.
        next: Position,
    },
    /// Its instant is before the last one's.
    TimeRunsBackwards,
    /// It has no events.
    Empty,
    /// It names something that is not there.
    Unknown(&'static str),
    /// It makes something that is there.
    Exists(&'static str),
    /// More of something than there may be.
    TooMany(&'static str),
    /// Its figures don't follow from the state's.
    Inconsistent(&'static str),
    /// A figure would leave its range.
    OutOfRange(&'static str),
    /// The event belongs to the other kind of shard.
    WrongShardKind,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherShard => f.write_str("the entry belongs to another shard"),
            Self::Gap { last, next } => write!(f, "entry {next} does not follow entry {last}"),
            Self::TimeRunsBackwards => f.write_str("the entry's instant is before the last one's"),
            Self::Empty => f.write_str("the entry has no events"),
            Self::Unknown(what) => write!(f, "the entry names a {what} that does not exist"),
            Self::Exists(what) => write!(f, "the entry makes a {what} that exists"),
            Self::TooMany(what) => write!(f, "the entry makes more {what} than there may be"),
            Self::Inconsistent(what) => write!(f, "the entry's {what} does not follow from the state"),
            Self::OutOfRange(what) => write!(f, "the entry takes {what} out of range"),
            Self::WrongShardKind => f.write_str("the entry belongs to the other kind of shard"),
        }
    }
}

impl core::error::Error for ApplyError {}

impl State {
    /// Applies the next entry of the shard.
    ///
    /// # Errors
    /// If the entry is not the next one or does not fit. Then nothing of a single-event entry has been applied, and the host
    /// must not go on with this state.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        if entry.shard != self.shard {
            return Err(ApplyError::OtherShard);
        }
        let follows = self.position.seq.checked_add(1) == Some(entry.position.seq) && entry.position.epoch >= self.position.epoch;
        if !follows {
            return Err(ApplyError::Gap { last: self.position, next: entry.position });
        }
        if entry.at_ms < self.at_ms {
            return Err(ApplyError::TimeRunsBackwards);
        }
        if entry.events.is_empty() {
            return Err(ApplyError::Empty);
        }
        for event in &entry.events {
            self.apply_event(event, entry)?;
        }
        self.position = entry.position;
        self.at_ms = entry.at_ms;
        self.adopt(entry.position.epoch);
        self.note_adoption(entry.position);
        self.intents.remember(entry);
        Ok(())
    }

    fn apply_event(&mut self, event: &Event, entry: &Entry) -> Result<(), ApplyError> {
        match &mut self.body {
            Body::Unopened => self.apply_opening(event),
            Body::Market(market) => match event {
                Event::OrderFilled(event) => event.apply(market),
                Event::InstrumentListed(event) => event.apply(market),
                Event::AccountOpened(event) => event.apply(market),
                Event::InstrumentRepriced(event) => event.apply(market),
                Event::InstrumentFrozen(event) => event.apply(market),
                Event::InstrumentUnfrozen(event) => event.apply(market),
                Event::ModeSet(event) => {
                    event.apply(market);
                    Ok(())
                }
                Event::InstrumentSettled(event) => event.apply(market),
                Event::HoldersPaid(event) => event.apply(market),
                Event::MarketOpened(_) => Err(ApplyError::Exists("market")),
                _ => Err(ApplyError::WrongShardKind),
            },
            Body::Sale(sale) => match event {
                Event::CandidateAdmitted(event) => event.apply(sale, entry),
                Event::CandidatesLoaded(event) => event.apply(sale),
                Event::PaymentBegun(event) => event.apply(sale),
                Event::PaymentAttached(event) => event.apply(sale),
                Event::PaymentConfirmed(event) => event.apply(sale),
                Event::BookingReleased(event) => event.apply(sale),
                Event::HoldsExpired(event) => event.apply(sale),
                Event::SaleOpenSet(event) => {
                    event.apply(sale);
                    Ok(())
                }
                Event::CapsSet(event) => event.apply(sale),
                Event::SaleOpened(_) => Err(ApplyError::Exists("sale")),
                _ => Err(ApplyError::WrongShardKind),
            },
        }
    }

    fn apply_opening(&mut self, event: &Event) -> Result<(), ApplyError> {
        match (self.kind(), event) {
            (ShardKind::Market, Event::MarketOpened(event)) => {
                self.body = Body::Market(Market::new(self.seed, event.decimals, event.fee_bps, event.limits, event.mode));
                self.intents.set_retention_ms(event.retention_ms);
                Ok(())
            }
            (ShardKind::Sale, Event::SaleOpened(event)) => {
                let levels = event.levels.iter().map(|level| Level { name: level.level.clone(), cap: level.cap, live: 0 });
                let terms = SaleTerms { opens_at: event.opens_at, closes_at: event.closes_at, hold_ms: event.hold_ms };
                self.body = Body::Sale(Sale::new(self.seed, terms, false, event.total_cap, levels.collect()));
                self.intents.set_retention_ms(event.retention_ms);
                Ok(())
            }
            _ => Err(ApplyError::WrongShardKind),
        }
    }
}
