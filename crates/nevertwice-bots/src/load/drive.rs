//! The two loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Answer, Measured, Requester};

/// How often the open loop looks which requests have come due. A request is sent at most this much late, and the delay is
/// part of its latency.
const TICK: Duration = Duration::from_micros(200);

/// How long after its end an open loop still sends what came due. What is left then was never sent, and is told.
const GRACE: Duration = Duration::from_secs(5);

/// How long to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Before anything counts.
    pub warm_up: Duration,
    /// What counts.
    pub measured: Duration,
}

/// Keeps every requester busy: each sends its next request when its last one is done.
pub async fn closed<R: Requester>(requesters: Vec<R>, plan: Plan) -> Measured {
    let numbers = Arc::new(AtomicU64::new(0));
    let begin = Instant::now() + plan.warm_up;
    let end = begin + plan.measured;
    let mut workers = JoinSet::new();
    for mut requester in requesters {
        let numbers = numbers.clone();
        workers.spawn(async move {
            let mut measured = Measured::default();
            loop {
                let sent = Instant::now();
                if sent >= end {
                    break;
                }
                let answer = requester.one(numbers.fetch_add(1, Ordering::Relaxed)).await;
                let done = Instant::now();
                if sent >= begin {
                    measured.record(answer, done - sent);
                    measured.took = done - begin;
                }
                breathe(answer).await;
            }
            measured
        });
    }
    join(workers).await
}

/// Sends `per_second` requests a second, evenly spaced, whether or not earlier ones are done.
///
/// The n-th request is due at its instant and goes out on the first free requester; its latency counts from when it was due.
/// Give more requesters than requests that can be under way at once, or waiting for one is measured too (and rightly so).
pub async fn open<R: Requester>(requesters: Vec<R>, per_second: f64, plan: Plan) -> Measured {
    let Ok(space) = Duration::try_from_secs_f64(1.0 / per_second) else {
        return Measured::default();
    };
    if requesters.is_empty() {
        return Measured::default();
    }
    let total = count_within(plan.warm_up + plan.measured, space);
    let uncounted = count_within(plan.warm_up, space);
    let begin = Instant::now();
    let schedule = Arc::new(Schedule {
        begin,
        give_up_at: begin + plan.warm_up + plan.measured + GRACE,
        space,
        total,
        uncounted,
        due: Semaphore::new(0),
        taken: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    });
    let ticker = {
        let schedule = schedule.clone();
        // A thread of its own: the runtime's timer has a resolution of a millisecond, which would show in every latency.
        std::thread::spawn(move || schedule.release_as_due())
    };
    let mut workers = JoinSet::new();
    for mut requester in requesters {
        let schedule = schedule.clone();
        workers.spawn(async move {
            let mut measured = Measured::default();
            while let Ok(permit) = schedule.due.acquire().await {
                permit.forget();
                let number = schedule.taken.fetch_add(1, Ordering::Relaxed);
                if number >= schedule.total {
                    break;
                }
                let due = schedule.begin + schedule.after(number);
                if Instant::now() > schedule.give_up_at {
                    measured.unsent += 1;
                    continue;
                }
                let answer = requester.one(number).await;
                let done = Instant::now();
                if number >= schedule.uncounted {
                    measured.record(answer, done.saturating_duration_since(due));
                    measured.took = done.saturating_duration_since(schedule.begin + schedule.after(schedule.uncounted));
                }
                breathe(answer).await;
            }
            measured
        });
    }
    let measured = join(workers).await;
    schedule.stopped.store(true, Ordering::Relaxed);
    let _panicked = ticker.join();
    measured
}

struct Schedule {
    begin: Instant,
    give_up_at: Instant,
    space: Duration,
    total: u64,
    uncounted: u64,
    due: Semaphore,
    taken: AtomicU64,
    stopped: AtomicBool,
}

impl Schedule {
    /// When the `number`-th request is due, from the beginning.
    fn after(&self, number: u64) -> Duration {
        let nanos = self.space.as_nanos().saturating_mul(u128::from(number));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Lets requests go as they come due, then closes the gate behind the last.
    fn release_as_due(&self) {
        let mut released = 0;
        while released < self.total && !self.stopped.load(Ordering::Relaxed) {
            let due = (count_within(self.begin.elapsed(), self.space) + 1).min(self.total);
            if due > released {
                self.due.add_permits(usize::try_from(due - released).unwrap_or(0));
                released = due;
            }
            std::thread::sleep(TICK);
        }
        // Permits that nobody has taken yet stay; the workers end when the numbers run out.
        self.due.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

/// How many spaces fit in a time.
fn count_within(time: Duration, space: Duration) -> u64 {
    u64::try_from(time.as_nanos() / space.as_nanos().max(1)).unwrap_or(u64::MAX)
}

/// After a broken connection: not at once again, or a server that is down costs a whole core.
async fn breathe(answer: Answer) {
    if answer == Answer::Broken {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn join(mut workers: JoinSet<Measured>) -> Measured {
    let mut all = Measured::default();
    while let Some(one) = workers.join_next().await {
        // A worker that panicked measured nothing; its panic has been printed.
        if let Ok(one) = one {
            all.add(&one);
        }
    }
    all
}
