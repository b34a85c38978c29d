//! The thread that applies the copy's journal to the states, beside the thread that copies: how long a hash takes delays no
//! confirmation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use nevertwice_core::{Position, ShardId, StateHash};
use tokio::sync::oneshot;

use crate::audit::{Facts, Trail};
use crate::backend::Wish;
use crate::backup::{ShardAt, shards_at};
use crate::error::OpenError;
use crate::journal::JournalReader;
use crate::states::States;

/// What is asked of it.
pub(super) enum Ask {
    /// Something is durable that was not.
    Advance,
    /// Where the shards are.
    Positions(oneshot::Sender<Vec<(ShardId, Position)>>),
    /// Where they are, with their state hashes.
    Shards(oneshot::Sender<Vec<ShardAt>>),
    /// One shard's hash.
    Hash(ShardId, oneshot::Sender<Option<(Position, StateHash)>>),
}

/// The other end.
pub(super) type Asks = Sender<Ask>;

pub(super) struct Applier {
    pub(super) reader: JournalReader,
    pub(super) states: States,
    /// What operators did.
    pub(super) trail: Trail,
    /// Where to ask for it to be written.
    pub(super) wishes: Sender<Wish>,
    /// Their entries of the batch at hand.
    pub(super) facts: Facts,
    /// The batch that the states are after.
    pub(super) after: u64,
    pub(super) asks: Receiver<Ask>,
    /// Tells the last batch that is applied.
    pub(super) applied: Arc<AtomicU64>,
}

impl Applier {
    /// Works until nobody is left who could ask; ends early, and says why, if an entry does not fit.
    pub(super) fn run(mut self) -> Result<(), OpenError> {
        let mut cursor = self.reader.cursor(self.after)?;
        while let Ok(ask) = self.asks.recv() {
            while let Some(frame) = cursor.read_next()? {
                let facts = &mut self.facts;
                self.states.apply(&frame, |_, entry| {
                    if entry.is_operators() {
                        facts.push(entry);
                    }
                })?;
                facts.push_no_entries(frame.payload, frame.batch);
                if self.trail.hear(frame.batch, facts) {
                    // Nobody writes it while the copy ends; the next start finds it in the journal.
                    drop(self.wishes.send(Wish::Audit));
                }
                self.applied.store(frame.batch, Ordering::Release);
            }
            // Whoever asked may be gone.
            match ask {
                Ask::Advance => {}
                Ask::Positions(reply) => {
                    let positions = self.states.shards().map(|state| (state.shard().clone(), state.position()));
                    drop(reply.send(positions.collect()));
                }
                Ask::Shards(reply) => drop(reply.send(shards_at(&self.states))),
                Ask::Hash(shard, reply) => {
                    let found = self.states.shard(&shard).map(|state| (state.position(), state.state_hash()));
                    let _gone = reply.send(found);
                }
            }
        }
        Ok(())
    }
}
