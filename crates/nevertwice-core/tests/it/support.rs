//! What several test modules need.

use std::collections::{BTreeMap, BTreeSet};

use nevertwice_core::model::{Auditor, Step, Workload, WorkloadOptions};
use nevertwice_core::{Decision, ShardId, State};

/// A core and an auditor for each shard of a workload.
pub struct Bench {
    pub workload: Workload,
    pub states: BTreeMap<ShardId, State>,
    pub auditors: BTreeMap<ShardId, Auditor>,
    pub codes: BTreeMap<&'static str, usize>,
    pub accepted: BTreeMap<&'static str, usize>,
    pub replays: usize,
}

impl Bench {
    pub fn new(seed: u64, options: WorkloadOptions) -> Self {
        let workload = Workload::new(seed, options);
        let states = workload.shards().iter().map(|shard| (shard.clone(), State::new(shard.clone(), 1, (seed, 2)))).collect();
        let auditors = workload.shards().iter().map(|shard| (shard.clone(), Auditor::new(shard.clone()))).collect();
        Self { workload, states, auditors, codes: BTreeMap::new(), accepted: BTreeMap::new(), replays: 0 }
    }

    /// Decides and applies the next step without an audit.
    pub fn step(&mut self) -> (Step, Decision) {
        let step = self.workload.next_step();
        let state = self.states.get_mut(&step.shard).expect("the workload's shards are known");
        let decision = state.decide(&step.command, step.at_ms);
        match &decision {
            Decision::Accepted(entry) => {
                *self.accepted.entry(step.command.action.word()).or_default() += 1;
                state.apply(entry).unwrap_or_else(|error| panic!("step {}: {error}\n{step:?}\n{decision:?}", step.number));
            }
            Decision::Rejected(rejection) => *self.codes.entry(rejection.code()).or_default() += 1,
            Decision::Replayed(_) => self.replays += 1,
        }
        self.workload.observe(&step, &decision);
        (step, decision)
    }

    /// The same with an audit after it.
    pub fn audited_step(&mut self) -> (Step, Decision) {
        let (step, decision) = self.step();
        let auditor = self.auditors.get_mut(&step.shard).expect("the workload's shards are known");
        let state = &self.states[&step.shard];
        if let Err(violation) = auditor.check(state, &step.command, step.at_ms, &decision) {
            panic!("step {}: {violation}\n{step:?}\n{decision:?}", step.number);
        }
        (step, decision)
    }

    pub fn codes(&self) -> BTreeSet<&'static str> {
        self.codes.keys().copied().collect()
    }
}
