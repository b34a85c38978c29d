//! A twin of either kind.

use super::{MarketTwin, SaleTwin};
use crate::model::Violation;
use crate::{Entry, Event, ShardId, ShardKind};

/// What the entries seen so far made of nothing.
pub(crate) enum Twin {
    Unopened,
    Market(MarketTwin),
    Sale(SaleTwin),
}

impl Twin {
    /// Checks an entry's events against the state before each, and goes on to the state after.
    pub(crate) fn follow(&mut self, shard: &ShardId, entry: &Entry) -> Result<(), Violation> {
        for event in &entry.events {
            match (&mut *self, event) {
                (Self::Unopened, Event::MarketOpened(event)) if shard.kind == ShardKind::Market => {
                    *self = Self::Market(MarketTwin::open(event)?);
                }
                (Self::Unopened, Event::SaleOpened(event)) if shard.kind == ShardKind::Sale => {
                    *self = Self::Sale(SaleTwin::open(event)?);
                }
                (Self::Unopened, _) => return Err(Violation::NotAllowed { what: "the shard is not open" }),
                (Self::Market(market), event) => market.follow(event)?,
                (Self::Sale(sale), event) => sale.follow(event, entry)?,
            }
        }
        Ok(())
    }

    /// How long an accepted intent is remembered; 0 before the shard is open.
    pub(crate) const fn retention_ms(&self) -> i64 {
        match self {
            Self::Unopened => 0,
            Self::Market(market) => market.retention_ms,
            Self::Sale(sale) => sale.retention_ms,
        }
    }
}
