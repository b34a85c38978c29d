//! The quiet phase: nothing goes wrong any more, and everything has to come to its end.

use nevertwice_core::{BookingState, InstrumentState, Query, ScanCursor, State, View};

use super::event::Event;
use super::universe::World;
use crate::finding::Finding;
use crate::plan::Network;

/// How long everything may take to come to its end, beyond what the plan's own times need.
const QUIET_US_MAX: u64 = 120_000_000;
/// How often somebody looks.
const LOOK_US: i64 = 250_000;

/// A network without faults.
const CALM: Network = Network { lost: 0, doubled: 0, reply_lost: 0, reply_doubled: 0, hang_up: 0, slow: 0, delay_us: 200, slow_us: 200 };

impl World {
    /// From now on nothing goes wrong, and nothing new is meant.
    pub(super) fn become_quiet(&mut self) {
        self.trace.line(self.now_us, || "it becomes quiet: no more faults, nothing new".to_owned());
        self.quiet_us = Some(self.now_us);
        self.network = CALM;
        self.set_clock_right();
        self.machine.gateway.calm();
        self.machine.storage.set_capacity(None);
        self.machine.storage.no_more_faults();
        self.send_batch();
        self.after(0, Event::Start);
        self.after(LOOK_US, Event::Look);
        // The steward comes in good time from now on, whatever it did before.
        self.sweepers.begin_anew();
        self.plan_sweep();
    }

    /// The right time, or the newest entry's where a clock that ran ahead made that: nobody waits for hours until it is past.
    fn set_clock_right(&mut self) {
        self.offset_ms = 0;
        let newest_ms = self.follower.shards.values().map(|followed| followed.state.at_ms()).max().unwrap_or(0);
        self.offset_ms = (newest_ms - self.clock_ms()).max(0);
        self.machine.clock.set(self.clock_ms());
    }

    /// Whether all has come to its end.
    pub(super) fn look(&mut self) -> Result<(), Finding> {
        self.follow_now()?;
        let left = self.what_is_left();
        if left.is_none() && self.machine.running.is_some() && self.inside.is_empty() {
            self.is_over = true;
            return Ok(());
        }
        let since_us = self.now_us - self.quiet_us.unwrap_or(self.now_us);
        // A clock that was ahead made holds that end so much later.
        let ahead_us = self.plan.clock.step_max_ms.unsigned_abs() * 1_000 * 8;
        if since_us > QUIET_US_MAX + ahead_us {
            let left = left.unwrap_or_else(|| "the process does not come back, or works for ever".to_owned());
            return Err(Finding::new(format!("{} s after it became quiet: {left}", since_us / 1_000_000)));
        }
        self.after(LOOK_US, Event::Look);
        Ok(())
    }

    fn what_is_left(&self) -> Option<String> {
        let open = self.intents.iter().enumerate().find(|(_, intent)| !intent.is_done);
        if let Some((number, intent)) = open {
            return Some(format!("intent {number} has no definite answer: {}, {} attempts", intent.name, intent.attempts));
        }
        self.follower.shards.iter().find_map(|(shard, followed)| {
            let left = unpaid_holders(&followed.state).or_else(|| unended_booking(&followed.state));
            left.map(|left| format!("{shard}: {left}"))
        })
    }

    /// Stops in order, and starts once more: the recovery has to come to the same.
    pub(super) async fn finish(&mut self) -> Result<(), Finding> {
        self.follow_now()?;
        self.compare_hashes()?;
        self.stop_process();
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        self.machine.end();
        self.machine.storage.kill();
        self.start()?;
        if self.machine.running.is_none() {
            return Err(Finding::new("the process does not start after an orderly stop"));
        }
        self.trace.line(self.now_us, || "everything has come to its end".to_owned());
        Ok(())
    }
}

fn unpaid_holders(state: &State) -> Option<String> {
    let mut from = Some(0);
    while let Some(first) = from {
        let Ok(View::Instruments(page)) = state.read(&Query::Instruments { from: first }) else { return None };
        let unpaid = page.instruments.iter().find(|it| it.state == InstrumentState::Settled && it.net > 0);
        if let Some(it) = unpaid {
            return Some(format!("{} is settled, and holders of {} shares are not paid", it.instrument, it.net));
        }
        from = page.next;
    }
    None
}

fn unended_booking(state: &State) -> Option<String> {
    let mut cursor = Some(ScanCursor::default());
    while let Some(from) = cursor {
        let Ok(View::Bookings(bookings, next)) = state.read(&Query::Bookings { cursor: from }) else { return None };
        let open = bookings.iter().find(|booking| !matches!(booking.state, BookingState::Paid | BookingState::Released));
        if let Some(booking) = open {
            let (id, state) = (booking.booking, booking.state);
            return Some(format!("booking {id} is {state:?}, its hold ends at {}", booking.hold_expires_at));
        }
        cursor = next;
    }
    None
}
