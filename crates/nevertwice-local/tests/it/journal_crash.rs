//! A crash at every call that changes something, and again during and right after the recovery.

use nevertwice_local::journal::JournalOptions;
use nevertwice_testkit::storage::MemoryStorage;

use crate::support::{Random, SMALL, append, open_with, payload};

/// What the outside knows: what was submitted, in order, and how much of it was acknowledged.
#[derive(Default, Clone)]
struct Outside {
    /// How many segments a thread fills ahead; 0: every call has its number.
    ahead: usize,
    submitted: Vec<Vec<u8>>,
    acknowledged: usize,
    lives: u64,
}

impl Outside {
    /// One life of the process: opens, checks what it finds, appends. Ends at a crash, or after `batches`.
    fn live(&mut self, storage: &MemoryStorage, seed: u64, batches: usize) {
        self.lives += 1;
        let mut random = Random(seed ^ self.lives << 32);
        let mut opened = match open_with(storage, &JournalOptions { segments_ahead: self.ahead, ..SMALL }) {
            Ok(opened) => opened,
            Err(error) => {
                assert!(storage.crashed(), "seed {seed}, life {}: {error}", self.lives);
                return;
            }
        };
        self.check(&opened.kept, seed);
        for number in 0..batches {
            let bytes = payload(self.lives, number, &mut random);
            self.submitted.push(bytes.clone());
            match append(&mut opened.journal, &bytes) {
                Ok(_) => self.acknowledged = self.submitted.len(),
                Err(error) => {
                    assert!(storage.crashed(), "seed {seed}, life {}: {error}", self.lives);
                    return;
                }
            }
        }
        if random.below(2) == 0 && opened.journal.close().is_err() {
            assert!(storage.crashed());
        }
    }

    /// Nothing acknowledged is missing, the rest is a prefix, and what was cut is gone for good: what is kept now
    /// is the history from now on, and was seen by somebody.
    fn check(&mut self, kept: &[Vec<u8>], seed: u64) {
        assert!(
            kept.len() >= self.acknowledged,
            "seed {seed}, life {}: {} acknowledged, {} kept",
            self.lives,
            self.acknowledged,
            kept.len()
        );
        assert!(kept.len() <= self.submitted.len() && kept == &self.submitted[..kept.len()], "seed {seed}: no prefix");
        self.submitted.truncate(kept.len());
        self.acknowledged = kept.len();
    }
}

fn end(storage: &MemoryStorage, seed: u64) {
    if seed.is_multiple_of(3) { storage.kill() } else { storage.power_loss() }
}

#[test]
fn a_crash_at_every_call_and_again_in_the_recovery_loses_nothing() {
    let (mut points, mut recovery_points) = (0_u64, 0_u64);
    for seed in 0..2 {
        let dry = MemoryStorage::new(seed);
        Outside::default().live(&dry, seed, 12);
        for crash in 0..dry.calls() {
            let storage = MemoryStorage::new(seed * 1_000 + crash);
            let mut outside = Outside::default();
            storage.crash_after(crash);
            outside.live(&storage, seed, 12);
            end(&storage, crash);
            points += 1;

            // How many calls a recovery with two batches behind it makes here, then a crash at each.
            let probe = storage.fork(seed);
            let before = probe.calls();
            outside.clone().live(&probe, seed, 2);
            for again in 0..probe.calls() - before {
                let storage = storage.fork(seed * 1_000_000 + crash * 1_000 + again);
                let mut outside = outside.clone();
                storage.crash_after(again);
                outside.live(&storage, seed, 2);
                end(&storage, crash + again);
                outside.live(&storage, seed, 3);
                end(&storage, again);
                outside.live(&storage, seed, 0);
                recovery_points += 1;
            }
        }
    }
    assert!(points > 100 && recovery_points > 1_000, "{points} crashes, {recovery_points} in recoveries");
}

#[test]
fn a_long_chain_of_crashes_in_recoveries_converges() {
    for seed in 0..100 {
        let storage = MemoryStorage::new(seed);
        let mut outside = Outside::default();
        let mut random = Random(seed);
        for _ in 0..25 {
            if random.below(5) > 0 {
                storage.crash_after(random.below(40));
            }
            outside.live(&storage, seed, random.below(8) as usize);
            end(&storage, random.below(9));
        }
        outside.live(&storage, seed, 1);
        assert_eq!(outside.acknowledged, outside.submitted.len());
    }
}

#[test]
fn crashes_while_a_thread_fills_segments_lose_nothing_either() {
    for seed in 0..150 {
        let storage = MemoryStorage::new(seed);
        let mut outside = Outside { ahead: 1 + seed as usize % 2, ..Outside::default() };
        let mut random = Random(seed);
        for _ in 0..6 {
            storage.crash_after(random.below(60));
            outside.live(&storage, seed, 20);
            end(&storage, random.below(9));
        }
        outside.live(&storage, seed, 1);
    }
}

#[test]
fn a_killed_process_whose_pages_are_lost_later_keeps_what_the_recovery_kept() {
    // Written, not synced; the process dies, the pages stay; the recovery reads them, somebody acts on them; then
    // the power goes. What was served must still be there.
    for seed in 0..300 {
        let storage = MemoryStorage::new(seed);
        let mut outside = Outside::default();
        storage.crash_after(20 + seed % 7);
        outside.live(&storage, seed, 12);
        storage.kill();
        outside.live(&storage, seed, 0);
        storage.power_loss();
        outside.live(&storage, seed, 1);
    }
}

#[test]
fn a_restart_without_work_leaves_one_block_behind() {
    let storage = MemoryStorage::new(7);
    let mut outside = Outside::default();
    outside.live(&storage, 7, 3);
    outside.live(&storage, 7, 0);
    let before = storage.used();
    for _ in 0..20 {
        outside.live(&storage, 7, 0);
    }
    assert!(storage.used() <= before + 20 * 2 * 4096, "{before} bytes became {}", storage.used());
}
