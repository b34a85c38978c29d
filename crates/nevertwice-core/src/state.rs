//! One shard's state.

use crate::intents::Intents;
use crate::market::Market;
use crate::sale::Sale;
use crate::table::Seed;
use crate::{Position, ShardId, ShardKind};

/// One shard's state: what its entries, applied in order, have made of nothing.
///
/// A shard that nobody opened is a state too: it knows its name, and rejects all but the command that opens it.
pub struct State {
    pub(crate) shard: ShardId,
    pub(crate) seed: Seed,
    pub(crate) epoch: u32,
    pub(crate) position: Position,
    pub(crate) at_ms: i64,
    pub(crate) intents: Intents,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Unopened,
    Market(Market),
    Sale(Sale),
}

impl State {
    /// The state before a shard's first entry. `seed` is drawn at random by the host: keys come from strangers. `epoch` goes
    /// into the entries that are decided here.
    #[must_use]
    pub fn new(shard: ShardId, epoch: u32, seed: (u64, u64)) -> Self {
        Self { shard, seed, epoch, position: Position::default(), at_ms: 0, intents: Intents::new(seed), body: Body::Unopened }
    }

    /// Which shard it is.
    #[must_use]
    pub const fn shard(&self) -> &ShardId {
        &self.shard
    }

    /// The last entry's position; `0-0` before the first.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The last entry's instant. A shard's time never runs backwards: a decision that comes with an earlier one takes place at
    /// this one.
    #[must_use]
    pub const fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// The epoch of entries that are decided here.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether the shard was opened.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.body, Body::Unopened)
    }

    /// How many intents are held in memory, those included whose retention is over and whose memory is not freed yet.
    #[must_use]
    pub const fn intents_held(&self) -> usize {
        self.intents.len()
    }

    /// Goes on in a higher epoch: the deciding place was adopted anew. A lower one is ignored.
    pub const fn adopt(&mut self, epoch: u32) {
        if epoch > self.epoch {
            self.epoch = epoch;
        }
    }

    pub(crate) const fn kind(&self) -> ShardKind {
        self.shard.kind
    }
}
