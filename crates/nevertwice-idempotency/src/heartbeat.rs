//! Heartbeats of all attempts of a process, by one task: so a lease is renewed although its handler computes without a pause, and an
//! attempt that ends soon costs neither a task nor a timer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::claim::{Changed, Claims};

/// A heartbeat that comes due within this part of its span is renewed with those that are due, so that many need few rounds.
const EARLY: u32 = 16;

/// The heartbeats of one process.
#[derive(Default)]
pub(crate) struct Heartbeats {
    state: Mutex<State>,
    /// An earlier one has come than the one that is waited for.
    earlier: Notify,
}

#[derive(Default)]
struct State {
    beats: Vec<Option<Beat>>,
    /// Places among them where there is none.
    free: Vec<usize>,
    /// What the task waits for, if there is a task.
    waits_until: Option<Instant>,
    /// The shortest span between two beats so far.
    shortest: Option<Duration>,
}

struct Beat {
    claims: Arc<Claims>,
    every: Duration,
    /// When the lease is renewed next; none after the last time.
    next: Option<Instant>,
    last: Instant,
    /// Once it was renewed: whether the attempt has ended. Held while a lease is renewed, so that the end waits for it.
    has_ended: Option<HasEnded>,
}

type HasEnded = Arc<tokio::sync::Mutex<bool>>;

/// The heartbeat of one attempt, until it is ended or dropped.
pub(crate) struct Heartbeat {
    heartbeats: Arc<Heartbeats>,
    /// None once it was ended.
    place: Option<usize>,
}

impl Heartbeats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the leases of an attempt three times in their span, as long as the policy says.
    pub(crate) fn start(claims: &Arc<Claims>, now: Instant) -> Heartbeat {
        let heartbeats = Arc::clone(claims.heartbeats());
        let policy = claims.policy();
        let every = Duration::from_millis(u64::try_from(policy.lease_ms / 3).unwrap_or(1).max(1));
        let (next, last) = (now + every, now + Duration::from_millis(policy.heartbeat_ms_max));
        let beat = Beat { claims: Arc::clone(claims), every, next: Some(next), last, has_ended: None };
        let mut state = heartbeats.state();
        let place = state.put(beat);
        state.shortest = Some(state.shortest.map_or(every, |shortest| shortest.min(every)));
        match state.waits_until {
            None => {
                state.waits_until = Some(next);
                tokio::spawn(Arc::clone(&heartbeats).run());
            }
            Some(until) if next < until => heartbeats.earlier.notify_one(),
            Some(_) => {}
        }
        drop(state);
        Heartbeat { heartbeats, place: Some(place) }
    }

    async fn run(self: Arc<Self>) {
        let ends = Ends(&self);
        // Most attempts end before anybody looks for their heartbeat. So one look that finds none is not the end: or each attempt would
        // start a task anew.
        let mut was_idle = false;
        loop {
            let until = {
                let mut state = self.state();
                let first = state.beats.iter().flatten().filter_map(|beat| beat.next).min();
                let idle = state.shortest.map(|span| Instant::now() + span);
                state.waits_until = first.or(idle.filter(|_| !was_idle));
                was_idle = first.is_none();
                match state.waits_until {
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
            let due: Vec<_> = self.state().beats.iter_mut().flatten().filter_map(|beat| beat.due(now)).collect();
            for (claims, has_ended) in due {
                tokio::spawn(renew(claims, has_ended));
            }
        }
    }
}

impl State {
    fn put(&mut self, beat: Beat) -> usize {
        if let Some(place) = self.free.pop()
            && let Some(here) = self.beats.get_mut(place)
        {
            *here = Some(beat);
            return place;
        }
        self.beats.push(Some(beat));
        self.beats.len() - 1
    }

    fn take(&mut self, place: usize) -> Option<Beat> {
        let beat = self.beats.get_mut(place).and_then(Option::take)?;
        self.free.push(place);
        Some(beat)
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
    /// What is to be renewed, if it is due; then it is set for the next time.
    fn due(&mut self, now: Instant) -> Option<(Arc<Claims>, HasEnded)> {
        self.next.filter(|next| *next <= now + self.every / EARLY)?;
        // After its time a lease ends; a late answer is kept if nobody has taken over.
        self.next = Some(now + self.every).filter(|next| *next < self.last);
        let has_ended = self.has_ended.get_or_insert_default();
        Some((Arc::clone(&self.claims), Arc::clone(has_ended)))
    }
}

async fn renew(claims: Arc<Claims>, has_ended: HasEnded) {
    let mut has_ended = has_ended.lock().await;
    // One that was replaced has nothing more to renew.
    if !*has_ended && claims.renew_lease().await == Changed::Stale {
        *has_ended = true;
    }
}

impl Heartbeat {
    /// Ends it: afterwards no lease is renewed any more.
    pub(crate) async fn end(mut self) {
        if let Some(has_ended) = self.take().and_then(|beat| beat.has_ended) {
            *has_ended.lock().await = true;
        }
    }

    fn take(&mut self) -> Option<Beat> {
        self.heartbeats.state().take(self.place.take()?)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.take();
    }
}
