//! Many seeds, on several threads: each seed is a world of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::finding::Finding;
use crate::keys::{KeysPlan, KeysWorld};
use crate::plan::Plan;
use crate::trace::Trace;
use crate::world::{Counts, World};

/// Which seeds are run, and how.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first.
    pub seed: u64,
    /// How many.
    pub seeds: u64,
    /// How many decisions each makes, at least, before it becomes quiet.
    pub decisions: u64,
    /// Whether they are of the store of keys alone.
    pub is_of_keys: bool,
    /// How many run at a time.
    pub threads: usize,
    /// A planted bug.
    #[cfg(feature = "mutants")]
    pub mutant: Option<nevertwice_local::Mutant>,
}

/// A seed that has found something.
#[derive(Clone, Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What it has found.
    pub finding: Finding,
}

/// What came of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many seeds came to their end.
    pub seeds: u64,
    /// What happened in them.
    pub counts: Counts,
    /// The lowest seed that has found something; no further one was begun then.
    pub found: Option<Found>,
}

impl Campaign {
    /// The plan of one of its seeds.
    fn plan(&self, seed: u64) -> Plan {
        let plan = Plan::of(seed, self.decisions);
        #[cfg(feature = "mutants")]
        let plan = match self.mutant {
            Some(mutant) => plan.with(mutant),
            None => plan,
        };
        plan
    }

    /// The plan of one of its seeds, of the store of keys.
    fn keys_plan(&self, seed: u64) -> KeysPlan {
        let plan = KeysPlan::of(seed, self.decisions);
        #[cfg(feature = "mutants")]
        let plan = match self.mutant {
            Some(mutant) => plan.with(mutant),
            None => plan,
        };
        plan
    }

    /// Runs one of its seeds.
    pub fn run_seed(&self, seed: u64, trace: Trace) -> (Result<Counts, Finding>, Trace) {
        if self.is_of_keys { KeysWorld::run(&self.keys_plan(seed), trace) } else { World::run(&self.plan(seed), trace) }
    }

    /// Runs the seeds until all are done or one has found something. `told` hears of each that came to its end.
    #[must_use]
    pub fn run(&self, told: impl Fn(u64, &Counts) + Sync) -> Report {
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let report = Mutex::new(Report::default());
        thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| self.work(&next, &stop, &report, &told));
            }
        });
        report.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, next: &AtomicU64, stop: &AtomicBool, report: &Mutex<Report>, told: &(impl Fn(u64, &Counts) + Sync)) {
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.seeds {
                return;
            }
            let seed = self.seed + number;
            let (ended, _) = self.run_seed(seed, Trace::default());
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            match ended {
                Ok(counts) => {
                    report.seeds += 1;
                    report.counts.add(&counts);
                    told(seed, &counts);
                }
                Err(finding) => {
                    stop.store(true, Ordering::Relaxed);
                    if report.found.as_ref().is_none_or(|found| seed < found.seed) {
                        report.found = Some(Found { seed, finding });
                    }
                }
            }
        }
    }
}
