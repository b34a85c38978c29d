//! What standbys have confirmed, and the answers that wait for it.
//!
//! A standby confirms by asking for the batches after one: all up to there is fsynced in its folder. What is confirmed stays so,
//! although who confirmed it falls silent. Nothing here is kept over a restart: standbys confirm again when they ask again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nevertwice_api::{Failure, Observer};

use super::queue::Waiting;
use crate::clock::{Clock, Stopwatch};
use crate::feed::Readers;

/// How many batches are told apart before the youngest are taken together.
const OPEN_MAX: usize = 4_096;

/// How those who confirm are, for people and for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicasStatus {
    /// How many have to confirm.
    pub min: usize,
    /// How many do, and were heard within the lease.
    pub live: usize,
    /// The last batch that is known to be confirmed.
    pub batch: u64,
    /// Decisions that would wait for them are refused: too few are there, or the last answer waited in vain.
    pub short: bool,
    /// How many answers wait.
    pub waiting: usize,
}

/// Whether an answer may be made to wait for replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Standing {
    /// Enough are there, and have confirmed in time.
    #[default]
    Near,
    /// Too few are there, or what waited last was not confirmed in time and is not yet.
    Short,
    /// As many answers wait as may.
    Crowded,
}

/// How many replicas confirm, and up to where; and who waits for it.
pub(crate) struct Replicas {
    min: usize,
    wait: Duration,
    waiting_max: usize,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    readers: Arc<Readers>,
    /// Every group with a lower ticket is confirmed.
    upto: AtomicU64,
    /// Until when enough of them count as there, if nobody is heard again.
    live_until_ms: AtomicI64,
    is_late: AtomicBool,
    waiting: AtomicUsize,
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    /// The last batch that enough of them have confirmed.
    confirmed: u64,
    /// Batches that are durable here and not confirmed.
    open: VecDeque<Open>,
    waiting: VecDeque<Answers>,
    /// What waited in vain, up to which batch; none once that is confirmed.
    late: Option<u64>,
    ended: bool,
}

/// A batch that is durable here and not confirmed.
struct Open {
    batch: u64,
    /// The ticket above its last group's.
    upto: u64,
    /// Since it is durable; none for what was recovered.
    since: Option<Stopwatch>,
}

/// Answers that wait for one batch.
struct Answers {
    batch: u64,
    since: Stopwatch,
    count: usize,
    answers: Vec<Vec<Waiting>>,
}

impl Answers {
    fn send(self) {
        self.answers.into_iter().flatten().for_each(Waiting::send);
    }

    fn fail(self) {
        self.answers.into_iter().flatten().for_each(|waiting| waiting.fail(Failure::OutcomeUnknown));
    }
}

impl Replicas {
    /// `min` of the readers have to confirm; an answer waits for `wait`, and `waiting_max` of them may. What was recovered ends
    /// with batch `recovered`.
    pub(super) fn new(
        min: usize,
        wait: Duration,
        waiting_max: usize,
        recovered: u64,
        readers: Arc<Readers>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Replicas {
        // No group has ticket 0: it stands for all that was there before.
        let known = Known { open: VecDeque::from([Open { batch: recovered, upto: 1, since: None }]), ..Known::default() };
        Replicas {
            min,
            wait,
            waiting_max,
            clock,
            observer,
            readers,
            upto: AtomicU64::new(0),
            live_until_ms: AtomicI64::new(i64::MIN),
            is_late: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            known: Mutex::new(known),
            changed: Condvar::new(),
        }
    }

    /// Every group with a lower ticket is confirmed.
    pub(super) fn upto(&self) -> u64 {
        self.upto.load(Ordering::Acquire)
    }

    /// Whether an answer may be made to wait.
    pub(super) fn standing(&self, now_ms: i64) -> Standing {
        if self.is_late.load(Ordering::Relaxed) || now_ms > self.live_until_ms.load(Ordering::Relaxed) {
            Standing::Short
        } else if self.waiting.load(Ordering::Relaxed) >= self.waiting_max {
            Standing::Crowded
        } else {
            Standing::Near
        }
    }

    /// Why a decision is refused that would have to wait.
    pub(super) fn refusal(&self, standing: Standing) -> Option<Failure> {
        match standing {
            Standing::Near => None,
            Standing::Short => {
                let live = self.readers.quorum(self.min).live(self.clock.now_ms());
                // One may have been heard since this was found: what is told has to be what was found.
                let live = if self.is_late.load(Ordering::Relaxed) { live } else { live.min(self.min.saturating_sub(1)) };
                Some(Failure::ReplicasShort { live, min: self.min })
            }
            Standing::Crowded => Some(Failure::Overloaded),
        }
    }

    /// A batch is durable here, with all groups up to this ticket.
    pub(super) fn durable(&self, batch: u64, ticket: u64) {
        let open = Open { batch, upto: ticket + 1, since: Some(Stopwatch::start()) };
        let mut known = self.known();
        let is_full = known.open.len() >= OPEN_MAX;
        match known.open.back_mut() {
            // Too many wait: the youngest are one, which is confirmed once the last of them is.
            Some(last) if is_full => *last = open,
            _ => known.open.push_back(open),
        }
        // It may have been confirmed already.
        let took = self.advance(&mut known);
        drop(known);
        took.into_iter().for_each(|took| self.observer.confirmed(took));
    }

    /// Sends answers once this batch is confirmed.
    pub(super) fn answer(&self, batch: u64, answers: Vec<Vec<Waiting>>) {
        let count = answers.iter().map(Vec::len).fold(0, usize::saturating_add);
        let answers = Answers { batch, since: Stopwatch::start(), count, answers };
        let mut known = self.known();
        if batch <= known.confirmed {
            drop(known);
            return answers.send();
        }
        if known.ended {
            drop(known);
            return answers.fail();
        }
        let was_idle = known.waiting.is_empty();
        known.waiting.push_back(answers);
        self.waiting.fetch_add(count, Ordering::Relaxed);
        drop(known);
        if was_idle {
            self.changed.notify_one();
        }
    }

    /// A reader was heard: what waits for a batch that enough of them confirm now is sent.
    pub(crate) fn heard(&self) {
        let mut known = self.known();
        let quorum = self.readers.quorum(self.min);
        self.live_until_ms.store(quorum.live_until_ms, Ordering::Relaxed);
        let confirmed = quorum.confirmed.unwrap_or(0);
        if confirmed <= known.confirmed {
            return;
        }
        known.confirmed = confirmed;
        let took = self.advance(&mut known);
        if known.late.is_some_and(|late| late <= confirmed) {
            known.late = None;
            self.is_late.store(false, Ordering::Relaxed);
        }
        let ready = self.take(&mut known, |waiting| waiting.batch <= confirmed);
        drop(known);
        ready.into_iter().for_each(Answers::send);
        took.into_iter().for_each(|took| self.observer.confirmed(took));
    }

    /// How they are.
    pub(crate) fn status(&self) -> ReplicasStatus {
        let now_ms = self.clock.now_ms();
        ReplicasStatus {
            min: self.min,
            live: self.readers.quorum(self.min).live(now_ms),
            batch: self.known().confirmed,
            short: self.standing(now_ms) == Standing::Short,
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    /// Gives up what has waited for too long, until it is told to end.
    pub(super) fn run(&self) {
        let mut known = self.known();
        while !known.ended {
            let left = known.waiting.front().map(|first| self.wait.saturating_sub(first.since.took()));
            known = match left {
                None => self.changed.wait(known).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    self.give_up(known);
                    self.known()
                }
                Some(left) => self.changed.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// What waits is told that its outcome is unknown, and so is whatever comes yet.
    pub(super) fn end(&self) {
        let mut known = self.known();
        known.ended = true;
        let left = self.take(&mut known, |_| true);
        drop(known);
        self.changed.notify_all();
        left.into_iter().for_each(Answers::fail);
    }

    /// All that waits now has waited for too long.
    #[cfg(feature = "stepped")]
    pub(super) fn give_up_all(&self) {
        self.give_up_such(self.known(), |_| true);
    }

    fn give_up(&self, known: MutexGuard<'_, Known>) {
        self.give_up_such(known, |waiting| waiting.since.took() >= self.wait);
    }

    fn give_up_such(&self, mut known: MutexGuard<'_, Known>, is_such: impl Fn(&Answers) -> bool) {
        let given_up = self.take(&mut known, is_such);
        let Some(last) = given_up.last() else { return };
        known.late = Some(last.batch);
        self.is_late.store(true, Ordering::Relaxed);
        drop(known);
        let answers = given_up.iter().map(|waiting| waiting.count).fold(0, usize::saturating_add);
        tracing::warn!(answers, "too few replicas confirmed in time: these outcomes are told to be unknown");
        self.observer.fell_short(answers);
        given_up.into_iter().for_each(Answers::fail);
    }

    /// Takes the oldest that wait, as long as they are such.
    fn take(&self, known: &mut Known, is_such: impl Fn(&Answers) -> bool) -> Vec<Answers> {
        let mut taken = Vec::new();
        while let Some(first) = known.waiting.pop_front_if(|first| is_such(first)) {
            self.waiting.fetch_sub(first.count, Ordering::Relaxed);
            taken.push(first);
        }
        taken
    }

    /// Tells the sequencer which groups are confirmed, and returns how long each of their batches took.
    fn advance(&self, known: &mut Known) -> Vec<Duration> {
        let confirmed = known.confirmed;
        let mut took = Vec::new();
        while let Some(open) = known.open.pop_front_if(|open| open.batch <= confirmed) {
            self.upto.store(open.upto, Ordering::Release);
            took.extend(open.since.map(Stopwatch::took));
        }
        took
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use nevertwice_api::NoObserver;

    use super::*;

    struct Still;

    impl Clock for Still {
        fn now_ms(&self) -> i64 {
            1_000
        }
    }

    /// A replica that is heard between the decision and its text does not make a text that contradicts the decision.
    #[test]
    fn a_refusal_for_want_of_replicas_never_tells_that_there_are_enough() {
        let readers = Arc::new(Readers::new(5_000));
        let (wait, clock, observer) = (Duration::from_secs(1), Arc::new(Still), Arc::new(NoObserver));
        let replicas = Replicas::new(1, wait, 8, 0, Arc::clone(&readers), clock, observer);
        let standing = replicas.standing(1_000);
        assert_eq!(standing, Standing::Short);
        assert!(readers.heard("standby", 0, Some(0), 1_000));
        assert_eq!(replicas.refusal(standing), Some(Failure::ReplicasShort { live: 0, min: 1 }));
        // One that is there and late is told as being there.
        replicas.is_late.store(true, Ordering::Relaxed);
        assert_eq!(replicas.refusal(standing), Some(Failure::ReplicasShort { live: 1, min: 1 }));
    }
}
