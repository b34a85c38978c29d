//! A shard at the sequencer: its state, and which of its positions are safe.

use std::collections::VecDeque;

use nevertwice_core::{Position, State};

/// How many groups are told apart before the youngest are taken together.
const MARKS_MAX: usize = 4_096;

/// A shard, which of its positions are durable, and which are confirmed by replicas.
pub(super) struct Shard {
    pub(super) state: State,
    pub(super) durable: Marks,
    /// None where no replicas are asked for.
    pub(super) confirmed: Option<Marks>,
    /// The latest instant at which somebody was told that an intent has expired. That *no* is the last word, so the shard's time
    /// does not go back behind it, whatever the clock does. It is not kept over a restart.
    pub(super) final_at_ms: i64,
}

impl Shard {
    /// A shard of which all is durable that is in its state, and nothing known to be confirmed.
    pub(super) fn recovered(state: State, has_replicas: bool) -> Shard {
        let confirmed = has_replicas.then(|| {
            let mut marks = Marks::at(Position::default());
            marks.mark(0, state.position());
            marks
        });
        Shard { durable: Marks::at(state.position()), confirmed, state, final_at_ms: i64::MIN }
    }

    /// A shard that nothing was decided in.
    pub(super) fn fresh(state: State, has_replicas: bool) -> Shard {
        let nothing = || Marks::at(Position::default());
        Shard { state, durable: nothing(), confirmed: has_replicas.then(nothing), final_at_ms: i64::MIN }
    }

    /// The group with this ticket has brought the shard to this position.
    pub(super) fn mark(&mut self, ticket: u64, position: Position) {
        self.durable.mark(ticket, position);
        if let Some(confirmed) = &mut self.confirmed {
            confirmed.mark(ticket, position);
        }
    }
}

/// Up to where something holds that groups reach in their order.
pub(super) struct Marks {
    reached: Position,
    /// Groups that are not known to have reached it: the ticket, and the shard's last position in it.
    open: VecDeque<(u64, Position)>,
}

impl Marks {
    fn at(reached: Position) -> Marks {
        Marks { reached, open: VecDeque::new() }
    }

    /// The last position that is known to have reached it.
    pub(super) fn reached(&self) -> Position {
        self.reached
    }

    /// Learns that the groups below `upto` have reached it, and says whether all have.
    pub(super) fn learn(&mut self, upto: u64) -> bool {
        while let Some((ticket, position)) = self.open.front() {
            if *ticket >= upto {
                return false;
            }
            self.reached = *position;
            self.open.pop_front();
        }
        true
    }

    fn mark(&mut self, ticket: u64, position: Position) {
        let is_full = self.open.len() >= MARKS_MAX;
        match self.open.back_mut() {
            // Too many wait: the youngest are one, which has reached it once the last of them has.
            Some(last) if last.0 == ticket || is_full => *last = (ticket, position),
            _ => self.open.push_back((ticket, position)),
        }
    }
}
