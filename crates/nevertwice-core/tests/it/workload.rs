//! The seeded workload, with an audit after every step.

use std::collections::BTreeSet;

use nevertwice_core::model::WorkloadOptions;
use nevertwice_core::{Decision, Rejection};

use crate::support::Bench;

/// Codes that a workload of some thousands of steps can't reach, each with its reason.
const OUT_OF_REACH: &[(&str, &str)] = &[
    ("intents_full", "takes 100 million remembered intents"),
    ("accounts_full", "takes 16 million accounts"),
    ("instruments_full", "takes 16,384 instruments"),
    ("candidates_full", "takes 16 million candidates"),
    ("bookings_full", "takes 64 million bookings"),
    ("invariant_broken", "an alarm: no sequence of decisions leads to it"),
];

#[test]
fn every_invariant_holds_after_every_step() {
    // The whole state is looked at after each step: a short retention keeps it small.
    for (seed, retention_ms) in [(0, 4_000), (1, 4_000), (2, 30_000)] {
        let mut bench = Bench::new(seed, WorkloadOptions { retention_ms, ..WorkloadOptions::default() });
        for _ in 0..2_000 {
            bench.audited_step();
        }
    }
}

#[test]
fn every_code_within_reach_is_reached() {
    let mut bench = Bench::new(1, WorkloadOptions::default());
    for _ in 0..12_000 {
        bench.step();
    }

    let out_of_reach: BTreeSet<_> = OUT_OF_REACH.iter().map(|(code, _)| *code).collect();
    let expected: BTreeSet<_> = Rejection::CODES.iter().copied().filter(|code| !out_of_reach.contains(code)).collect();
    assert_eq!(bench.codes(), expected);
    assert_eq!(bench.accepted.len(), 20, "every action is accepted at some time: {:?}", bench.accepted);
    assert!(bench.replays > 500, "replays: {}", bench.replays);
}

#[test]
fn the_same_seed_gives_the_same_steps() {
    let (mut one, mut other) = (Bench::new(9, WorkloadOptions::default()), Bench::new(9, WorkloadOptions::default()));
    for _ in 0..1_000 {
        assert_eq!(one.step(), other.step());
    }
    let mut another = Bench::new(10, WorkloadOptions::default());
    assert!((0..20).any(|_| one.step() != another.step()));
}

#[test]
fn most_steps_are_not_refused() {
    let mut bench = Bench::new(4, WorkloadOptions::default());
    let accepted = (0..5_000).filter(|_| matches!(bench.step().1, Decision::Accepted(_))).count();
    assert!(accepted > 1_700, "accepted: {accepted}");
}
