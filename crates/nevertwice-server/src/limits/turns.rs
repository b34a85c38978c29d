//! Whose turn it is when the server is at its maximum.
//!
//! Below the maximum a request goes on at once, for one atomic step. At the maximum requests wait, and those who wait take
//! turns: first by credential, then within a credential by principal (or by address, where nobody is known), and in their
//! order within one caller. So a caller who sends a thousand requests at once waits behind its own, and one who sends one
//! waits for one round. Operators go first, and a share of the places is theirs alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::{Duration, timeout};

use super::round::Round;

/// The share of the waiting that one credential may fill: a fourth.
const CREDENTIAL_SHARE: u32 = 4;

/// The bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnsOptions {
    /// The most requests under way.
    pub(crate) under_way_max: u32,
    /// How many of these places are for operators alone; fewer than all.
    pub(crate) reserved: u32,
    /// The most requests that wait.
    pub(crate) waiting_max: u32,
    /// How long one waits at most.
    pub(crate) wait: Duration,
}

/// Who waits: the numbers of its credential and of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) credential: u64,
    pub(crate) caller: u64,
}

/// The places of all requests under way.
pub(crate) struct Turns {
    options: TurnsOptions,
    /// How many are under way, and how many wait.
    counts: AtomicU64,
    queue: Mutex<Queue>,
}

/// A place among the requests under way, until it is dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    under_way: u32,
    waiting: u32,
}

impl Counts {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
    const fn of(word: u64) -> Self {
        Self { under_way: word as u32, waiting: (word >> 32) as u32 }
    }

    const fn word(self) -> u64 {
        (self.waiting as u64) << 32 | self.under_way as u64
    }
}

impl Turns {
    pub(crate) fn new(options: TurnsOptions) -> Self {
        Self { options, counts: AtomicU64::new(0), queue: Mutex::default() }
    }

    /// How many requests are under way, and how many wait.
    pub(crate) fn counts(&self) -> (u32, u32) {
        let Counts { under_way, waiting } = Counts::of(self.counts.load(Acquire));
        (under_way, waiting)
    }

    /// Takes a place, at once or in turn; `None` if too many wait, or the wait took too long.
    /// `waiter` is asked only if there is a wait.
    pub(crate) async fn enter(&self, is_operator: bool, waiter: impl FnOnce() -> Waiter) -> Option<Turn<'_>> {
        match self.go(is_operator, false) {
            Step::Entered => Some(Turn { turns: self }),
            Step::Full | Step::Wait => self.wait(is_operator, waiter()).await,
        }
    }

    /// One step without waiting; with `may_wait` a place in the queue is counted if there is none under way.
    fn go(&self, is_operator: bool, may_wait: bool) -> Step {
        let TurnsOptions { under_way_max, reserved, waiting_max, .. } = self.options;
        let mut seen = self.counts.load(Acquire);
        loop {
            let counts = Counts::of(seen);
            let is_free = if is_operator {
                counts.under_way < under_way_max
            } else {
                // Nobody gets past those who wait.
                counts.waiting == 0 && counts.under_way < under_way_max.saturating_sub(reserved)
            };
            let (next, step) = if is_free {
                (Counts { under_way: counts.under_way + 1, ..counts }, Step::Entered)
            } else if may_wait && counts.waiting < waiting_max {
                (Counts { waiting: counts.waiting + 1, ..counts }, Step::Wait)
            } else {
                return Step::Full;
            };
            match self.counts.compare_exchange_weak(seen, next.word(), AcqRel, Acquire) {
                Ok(_) => return step,
                Err(now) => seen = now,
            }
        }
    }

    async fn wait(&self, is_operator: bool, waiter: Waiter) -> Option<Turn<'_>> {
        let (mut waiting, granted) = {
            let mut queue = self.queue();
            // Operators have a line of their own.
            let waiter = if is_operator { None } else { Some(waiter) };
            if waiter.map_or(0, |waiter| queue.of_credential(waiter)) >= (self.options.waiting_max / CREDENTIAL_SHARE).max(1) {
                return None;
            }
            match self.go(is_operator, true) {
                Step::Entered => return Some(Turn { turns: self }),
                Step::Full => return None,
                Step::Wait => {}
            }
            let (grant, granted) = oneshot::channel();
            (Waiting { turns: self, waiter, ticket: queue.push(waiter, grant), is_settled: false }, granted)
        };
        let in_time = timeout(self.options.wait, granted).await;
        // Whoever is not in the queue any more has been given a place, even if it has not heard of it.
        let has_place = waiting.settle();
        drop(in_time);
        has_place.then(|| Turn { turns: self })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl Fn(Counts) -> Counts) {
        let mut seen = self.counts.load(Acquire);
        while let Err(now) = self.counts.compare_exchange_weak(seen, change(Counts::of(seen)).word(), AcqRel, Acquire) {
            seen = now;
        }
    }

    /// Gives a place back: to the next who waits, or to nobody.
    fn leave(&self) {
        let mut seen = self.counts.load(Acquire);
        loop {
            let counts = Counts::of(seen);
            if counts.waiting > 0 {
                break;
            }
            let next = Counts { under_way: counts.under_way.saturating_sub(1), ..counts };
            match self.counts.compare_exchange_weak(seen, next.word(), AcqRel, Acquire) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        let grant = {
            let mut queue = self.queue();
            let ordinary_max = self.options.under_way_max.saturating_sub(self.options.reserved);
            let is_ordinary = Counts::of(self.counts.load(Acquire)).under_way <= ordinary_max;
            let grant = queue.pop(is_ordinary);
            // Counted under the queue's mutex: the number that wait is never another than its length.
            match grant {
                Some(_) => self.change(|counts| Counts { waiting: counts.waiting.saturating_sub(1), ..counts }),
                None => self.change(|counts| Counts { under_way: counts.under_way.saturating_sub(1), ..counts }),
            }
            grant
        };
        if let Some(grant) = grant {
            // If nobody hears it, who waited finds itself taken from the queue and gives the place back.
            let _ = grant.send(());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.leave();
    }
}

enum Step {
    Entered,
    Wait,
    Full,
}

/// Somebody in the queue, until it has a place or gives up.
struct Waiting<'a> {
    turns: &'a Turns,
    /// Absent for operators.
    waiter: Option<Waiter>,
    ticket: u64,
    is_settled: bool,
}

impl Waiting<'_> {
    /// Ends the waiting, and tells whether there is a place.
    fn settle(&mut self) -> bool {
        self.is_settled = true;
        let mut queue = self.turns.queue();
        let was_waiting = queue.remove(self.waiter, self.ticket);
        if was_waiting {
            self.turns.change(|counts| Counts { waiting: counts.waiting.saturating_sub(1), ..counts });
        }
        !was_waiting
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // Whoever asked has gone meanwhile.
        if !self.is_settled && self.settle() {
            self.turns.leave();
        }
    }
}

/// Those of one caller, in their order.
type Line = BTreeMap<u64, oneshot::Sender<()>>;

/// All who wait.
#[derive(Default)]
struct Queue {
    tickets: u64,
    operators: Line,
    credentials: Round<Credential>,
}

/// All who wait with one credential.
#[derive(Default)]
struct Credential {
    callers: Round<Line>,
    waiting: u32,
}

impl Queue {
    fn push(&mut self, waiter: Option<Waiter>, grant: oneshot::Sender<()>) -> u64 {
        self.tickets += 1;
        if let Some(waiter) = waiter {
            let credential = self.credentials.entry(waiter.credential);
            credential.waiting += 1;
            credential.callers.entry(waiter.caller).insert(self.tickets, grant);
        } else {
            self.operators.insert(self.tickets, grant);
        }
        self.tickets
    }

    /// Who is next; operators alone unless `is_ordinary`.
    fn pop(&mut self, is_ordinary: bool) -> Option<oneshot::Sender<()>> {
        if let Some((_, grant)) = self.operators.pop_first() {
            return Some(grant);
        }
        if !is_ordinary {
            return None;
        }
        self.credentials.take_turn(|credential| {
            credential.waiting = credential.waiting.saturating_sub(1);
            let grant = credential.callers.take_turn(|line| (line.pop_first(), line.is_empty()));
            (grant.map(|(_, grant)| grant), credential.waiting == 0)
        })
    }

    /// Whether it was there.
    fn remove(&mut self, waiter: Option<Waiter>, ticket: u64) -> bool {
        let Some(waiter) = waiter else { return self.operators.remove(&ticket).is_some() };
        let mut was_there = false;
        self.credentials.change(waiter.credential, |credential| {
            credential.callers.change(waiter.caller, |line| {
                was_there = line.remove(&ticket).is_some();
                line.is_empty()
            });
            credential.waiting = credential.waiting.saturating_sub(u32::from(was_there));
            credential.waiting == 0
        });
        was_there
    }

    /// How many of a credential wait.
    fn of_credential(&self, waiter: Waiter) -> u32 {
        self.credentials.get(waiter.credential).map_or(0, |credential| credential.waiting)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::yield_now;

    use super::*;

    // Tasks of their own wait for turns: these are there for good.
    fn turns(under_way_max: u32, reserved: u32, waiting_max: u32) -> &'static Turns {
        Box::leak(Box::new(Turns::new(TurnsOptions { under_way_max, reserved, waiting_max, wait: Duration::from_secs(1) })))
    }

    /// Asks in a task of its own, which stands in the queue once this is done.
    async fn ask(turns: &'static Turns, who: Option<(u64, u64)>) -> tokio::task::JoinHandle<Option<Turn<'static>>> {
        let waiter = move || who.map_or(Waiter { credential: 0, caller: 0 }, |(credential, caller)| Waiter { credential, caller });
        let asked = tokio::spawn(async move { turns.enter(who.is_none(), waiter).await });
        yield_now().await;
        asked
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_take_turns() {
        let turns = turns(1, 0, 100);
        let mut place = ask(turns, Some((9, 9))).await.await.expect("it ends well");
        let mut asked = Vec::new();
        // One credential floods for two principals; others come later, with one request each.
        for (credential, caller) in [(1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (3, 1)] {
            asked.push(((credential, caller), ask(turns, Some((credential, caller))).await));
        }
        assert_eq!(turns.counts(), (1, 6));
        let mut order = Vec::new();
        while !asked.is_empty() {
            drop(place.take());
            yield_now().await;
            yield_now().await;
            let at = asked.iter().position(|(_, asked)| asked.is_finished()).expect("one has its turn");
            let (who, done) = asked.remove(at);
            order.push(who);
            place = done.await.expect("it ends well");
            assert!(place.is_some());
        }
        assert_eq!(order, [(1, 1), (2, 1), (3, 1), (1, 2), (1, 1), (1, 1)]);
        drop(place);
        assert_eq!(turns.counts(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn operators_have_places_of_their_own_and_go_first() {
        let turns = turns(3, 1, 100);
        let mut places = Vec::new();
        for _ in 0..2 {
            places.push(ask(turns, Some((1, 1))).await.await.expect("it ends well").expect("a place"));
        }
        let ordinary = ask(turns, Some((2, 1))).await;
        assert_eq!(turns.counts(), (2, 1), "the third place is for operators");
        let operator = ask(turns, None).await.await.expect("it ends well").expect("a place");
        let second = ask(turns, None).await;
        assert_eq!(turns.counts(), (3, 2));
        drop(places.pop());
        let second = second.await.expect("it ends well").expect("an operator goes first");
        drop(operator);
        yield_now().await;
        assert!(!ordinary.is_finished(), "what is for operators alone is not given to others");
        drop(places.pop());
        drop(second);
        assert!(ordinary.await.expect("it ends well").is_some());
        assert_eq!(turns.counts(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_bounded_and_so_is_the_number_that_wait() {
        let turns = turns(1, 0, 8);
        let place = ask(turns, Some((1, 1))).await.await.expect("it ends well").expect("a place");
        let (first, second) = (ask(turns, Some((1, 1))).await, ask(turns, Some((1, 2))).await);
        assert!(ask(turns, Some((1, 3))).await.await.expect("it ends well").is_none(), "a fourth of the queue for each credential");
        let mut others = Vec::new();
        for credential in 2..=7 {
            others.push(ask(turns, Some((credential, 1))).await);
        }
        assert_eq!(turns.counts(), (1, 8));
        assert!(ask(turns, Some((8, 1))).await.await.expect("it ends well").is_none(), "the queue is full");
        tokio::time::advance(Duration::from_millis(1_001)).await;
        for asked in [first, second].into_iter().chain(others) {
            assert!(asked.await.expect("it ends well").is_none(), "it took too long");
        }
        assert_eq!(turns.counts(), (1, 0));
        drop(place);
        assert_eq!(turns.counts(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_gone_gives_back_what_it_was_given() {
        let turns = turns(1, 0, 8);
        let place = ask(turns, Some((1, 1))).await.await.expect("it ends well").expect("a place");
        let (gone, next) = (ask(turns, Some((1, 1))).await, ask(turns, Some((1, 1))).await);
        // Its turn comes, and before it hears of that it is gone.
        drop(place);
        gone.abort();
        assert!(gone.await.is_err());
        assert!(next.await.expect("it ends well").is_some());
        assert_eq!(turns.counts(), (0, 0));
        let place = ask(turns, Some((1, 1))).await.await.expect("it ends well").expect("a place");
        let gone = ask(turns, Some((1, 1))).await;
        gone.abort();
        assert!(gone.await.is_err());
        assert_eq!(turns.counts(), (1, 0), "it does not wait any more");
        drop(place);
        assert_eq!(turns.counts(), (0, 0));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_place_is_lost_and_none_is_given_twice() {
        let options = TurnsOptions { under_way_max: 3, reserved: 1, waiting_max: 64, wait: Duration::from_secs(60) };
        let turns = Arc::new(Turns::new(options));
        let under_way = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..16_u64)
            .map(|number| {
                let (turns, under_way) = (Arc::clone(&turns), Arc::clone(&under_way));
                tokio::spawn(async move {
                    let mut entered = 0_u64;
                    for round in 0..500_u64 {
                        let waiter = Waiter { credential: number % 5, caller: number };
                        let enter = turns.enter(number % 8 == 0, || waiter);
                        // Some give up at once.
                        let place = if round % 7 == 3 { timeout(Duration::ZERO, enter).await.ok().flatten() } else { enter.await };
                        let Some(place) = place else { continue };
                        assert!(under_way.fetch_add(1, AcqRel) < 3, "more than may be");
                        yield_now().await;
                        under_way.fetch_sub(1, AcqRel);
                        drop(place);
                        entered += 1;
                    }
                    entered
                })
            })
            .collect();
        for task in tasks {
            assert!(task.await.expect("it ends well") > 300);
        }
        assert_eq!(turns.counts(), (0, 0));
    }
}
