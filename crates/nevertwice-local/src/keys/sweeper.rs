//! Frees the memory of keys whose retention is over, some slots at a time.

use nevertwice_api::{KeyStoreFailure, Swept};

use super::change::Change;
use super::queue::{Reply, Told, Waiting};
use super::writer::{State, Writer};

/// Slots that a claim at the bound looks at, to find one that may be freed.
const FREED_AT_BOUND: usize = 16;

/// A sweep's way round the slots.
#[derive(Default)]
pub(super) struct Round {
    /// The slot that comes next.
    slot: u32,
    /// Claims past their lease that it has seen.
    lapsed: u64,
}

impl Writer {
    pub(super) fn sweep(&mut self, records_max: usize, reply: Reply<Swept>) {
        if self.group.state == State::Poisoned {
            return drop(reply.send(Err(KeyStoreFailure::Unavailable)));
        }
        let swept = self.sweep_slots(records_max);
        let told = Told::Sweep(reply, swept);
        if swept.freed > 0 { self.group.waiting.push(Waiting { rests_on: None, told }) } else { told.send(&self.shelf) }
    }

    pub(super) fn sweep_at_bound(&mut self) {
        self.sweep_slots(FREED_AT_BOUND);
    }

    /// Looks at no more slots than that, from where the last sweep ended, and no further than to the end of a round.
    fn sweep_slots(&mut self, slots_max: usize) -> Swept {
        let mut swept = Swept::default();
        for _ in 0..slots_max {
            if self.round.slot >= self.records.slots() {
                self.gauges.set_lapsed(self.round.lapsed);
                self.round = Round::default();
                if swept.seen > 0 || self.records.slots() == 0 {
                    break;
                }
            }
            let slot = self.round.slot;
            self.round.slot += 1;
            let Some((id, kept)) = self.records.at(slot) else { continue };
            swept.seen += 1;
            if kept.record.forgotten_at() > self.group.at_ms {
                self.round.lapsed += u64::from(kept.record.is_lapsed(self.group.at_ms));
                continue;
            }
            let id = *id;
            let place = self.records.remove(&id).and_then(|kept| kept.place);
            self.group.let_go.extend(place);
            swept.freed += 1;
        }
        if swept.freed > 0 {
            self.mark_swept();
        }
        swept
    }

    /// Writes down that records were freed. Without it a clock that goes back behind their end would find them again after a restart,
    /// and their answers gone.
    fn mark_swept(&mut self) {
        let change = Change::Swept(self.group.at_ms);
        self.group.frame.push(|bytes| bytes.extend_from_slice(&change.encode()));
        self.records.apply(change);
    }
}
