//! Heartbeats of all attempts of a process, by one task: so a lease is renewed although its handler computes without a pause, and an
//! attempt that ends soon costs neither a task nor a timer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::Keys;
use crate::claim::{Changed, Claims};
use crate::routes::Route;

/// The heartbeats of one process.
#[derive(Default)]
pub(crate) struct Heartbeats {
    state: Mutex<State>,
    /// An earlier one has come than the one that is waited for.
    earlier: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    due: BTreeSet<(Instant, u64)>,
    beats: HashMap<u64, (Instant, Beat)>,
    /// What the task waits for, if there is a task.
    waits_until: Option<Instant>,
}

#[derive(Clone)]
struct Beat {
    keys: Arc<Keys>,
    route: Arc<Route>,
    claims: Arc<Claims>,
    every: Duration,
    last: Instant,
    /// Whether the attempt has ended. Held while a lease is renewed: the end waits for it.
    has_ended: Arc<tokio::sync::Mutex<bool>>,
}

/// The heartbeat of one attempt, until it is ended or dropped.
pub(crate) struct Heartbeat {
    heartbeats: Arc<Heartbeats>,
    number: u64,
    has_ended: Arc<tokio::sync::Mutex<bool>>,
}

impl Heartbeats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the leases of an attempt three times in their span, as long as the policy says.
    pub(crate) fn start(keys: &Arc<Keys>, route: &Arc<Route>, claims: &Arc<Claims>) -> Heartbeat {
        let heartbeats = Arc::clone(&keys.heartbeats);
        let every = Duration::from_millis(u64::try_from(route.policy.lease_ms / 3).unwrap_or(1).max(1));
        let now = Instant::now();
        let last = now + Duration::from_millis(route.policy.heartbeat_ms_max);
        let has_ended = Arc::new(tokio::sync::Mutex::new(false));
        let beat = Beat {
            keys: Arc::clone(keys),
            route: Arc::clone(route),
            claims: Arc::clone(claims),
            every,
            last,
            has_ended: Arc::clone(&has_ended),
        };
        let mut state = heartbeats.state();
        let number = state.next;
        state.next += 1;
        state.put(number, now + every, beat);
        match state.waits_until {
            None => {
                state.waits_until = Some(now + every);
                tokio::spawn(Arc::clone(&heartbeats).run());
            }
            Some(until) if now + every < until => heartbeats.earlier.notify_one(),
            Some(_) => {}
        }
        drop(state);
        Heartbeat { heartbeats, number, has_ended }
    }

    async fn run(self: Arc<Self>) {
        let ends = Ends(&self);
        loop {
            let until = {
                let mut state = self.state();
                let first = state.due.first().map(|(at, _)| *at);
                state.waits_until = first;
                match first {
                    Some(at) => at,
                    // Told above, while nobody could look.
                    None => return std::mem::forget(ends),
                }
            };
            tokio::select! {
                () = sleep_until(until) => {}
                () = self.earlier.notified() => continue,
            }
            let now = Instant::now();
            while let Some((number, beat)) = self.state().take_due(now) {
                tokio::spawn(beat.renew(Arc::clone(&self), number));
            }
        }
    }
}

impl State {
    fn put(&mut self, number: u64, at: Instant, beat: Beat) {
        self.due.insert((at, number));
        self.beats.insert(number, (at, beat));
    }

    fn remove(&mut self, number: u64) {
        if let Some((at, _)) = self.beats.remove(&number) {
            self.due.remove(&(at, number));
        }
    }

    /// One that is due, and puts it back for the next time.
    fn take_due(&mut self, now: Instant) -> Option<(u64, Beat)> {
        let (at, number) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, number));
        let (_, beat) = self.beats.remove(&number)?;
        let next = now + beat.every;
        // After its time a lease ends; a late answer is kept if nobody has taken over.
        if next < beat.last {
            self.put(number, next, beat.clone());
        }
        Some((number, beat))
    }
}

/// The task is gone, however it ended.
struct Ends<'a>(&'a Heartbeats);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.state().waits_until = None;
    }
}

impl Beat {
    async fn renew(self, heartbeats: Arc<Heartbeats>, number: u64) {
        let has_ended = self.has_ended.lock().await;
        if *has_ended {
            return;
        }
        if self.claims.renew(self.route.policy.lease_ms).await == Changed::Stale {
            self.keys.observer.stale_owner_refused(&self.route.pattern);
            heartbeats.state().remove(number);
        }
    }
}

impl Heartbeat {
    /// Ends it: afterwards no lease is renewed any more.
    pub(crate) async fn end(self) {
        *self.has_ended.lock().await = true;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.heartbeats.state().remove(self.number);
    }
}
