//! One shard's state.

use alloc::collections::VecDeque;

use crate::intents::Intents;
use crate::limits::ADOPTIONS_MAX;
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
    // The first position of each epoch, oldest first.
    pub(crate) adoptions: VecDeque<Position>,
    pub(crate) intents: Intents,
    pub(crate) body: Body,
    #[cfg(feature = "mutants")]
    pub(crate) mutant: Option<crate::Mutant>,
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
        Self {
            shard,
            seed,
            epoch,
            position: Position::default(),
            at_ms: 0,
            adoptions: VecDeque::new(),
            intents: Intents::new(seed),
            body: Body::Unopened,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with(mut self, mutant: crate::Mutant) -> Self {
        self.plant(mutant);
        self
    }

    /// Plants a bug.
    #[cfg(feature = "mutants")]
    pub const fn plant(&mut self, mutant: crate::Mutant) {
        self.mutant = Some(mutant);
        self.intents.purge_early(matches!(mutant, crate::Mutant::EarlyPurge));
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

    /// Whether the position is that of one of this history's entries. Two histories of a failover share their `seq`s, so the
    /// epoch must be the one that was in force there. Positions of epochs that are no longer remembered are not.
    #[must_use]
    pub fn contains(&self, position: Position) -> bool {
        let after = self.adoptions.partition_point(|first| first.epoch <= position.epoch);
        let Some(first) = after.checked_sub(1).and_then(|at| self.adoptions.get(at)) else { return false };
        let before_next = self.adoptions.get(after).is_none_or(|next| position.seq < next.seq);
        first.epoch == position.epoch && position.seq >= first.seq && before_next && position.seq <= self.position.seq
    }

    pub(crate) fn note_adoption(&mut self, position: Position) {
        if self.adoptions.back().is_some_and(|last| last.epoch == position.epoch) {
            return;
        }
        if self.adoptions.len() >= ADOPTIONS_MAX {
            self.adoptions.pop_front();
        }
        self.adoptions.push_back(position);
    }

    pub(crate) const fn kind(&self) -> ShardKind {
        self.shard.kind
    }
}
