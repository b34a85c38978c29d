//! A crash at every call that changes something, and again at every call of the recovery. After each, nothing that was told is
//! missing, everybody who asks again hears the same, and generations only rise.

use std::collections::BTreeMap;

use nevertwice_api::{AnswerBytes, KeyStore, KeyStoreFailure, Levels, Registered};
use nevertwice_core::keys::{Completion, KeyRejection, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease};
use nevertwice_testkit::storage::MemoryStorage;

use super::steps::{LEASE_MS, Steps, T0, answer, id, options, register};
use crate::support::Random;

const KEYS: u8 = 4;
const STEPS: usize = 24;
/// So long that nothing is forgotten here, however many lives there are.
const RETENTION_MS: i64 = 10_000_000;

/// What was told of a key, and by whom it was heard.
#[derive(Clone, Debug, Default)]
struct Told {
    /// The highest generation that anybody was given.
    generation: u64,
    /// Who was given it, unless he has given it back.
    owner: Option<u8>,
    /// Its answer.
    answer: Option<AnswerBytes>,
    /// What was asked last of it got no answer: it may have happened or not.
    is_in_doubt: bool,
}

/// The world outside the process.
#[derive(Clone, Default)]
struct Outside {
    told: BTreeMap<u8, Told>,
    owners: u8,
    now_ms: i64,
}

impl Outside {
    /// One life of the process: opens, asks everything again, goes on. Ends at a crash, or after `steps`.
    fn live(&mut self, storage: &MemoryStorage, seed: u64, steps: usize) {
        let mut random = Random(seed);
        let options = nevertwice_local::KeyStoreOptions { snapshot_bytes: 2_500, ..options() };
        let mut store = match Steps::open(storage, T0 + self.now_ms, &options) {
            Ok(store) => store,
            Err(error) => return assert!(storage.crashed(), "seed {seed}: {error}"),
        };
        if self.retry(&mut store).is_err() {
            return assert!(storage.crashed(), "seed {seed}");
        }
        for _ in 0..steps {
            self.now_ms += random.below(4_000) as i64;
            store.clock.set(T0 + self.now_ms);
            if self.step(&mut store, &mut random).is_err() {
                return assert!(storage.crashed(), "seed {seed}");
            }
            store.store.snapshot();
        }
        if random.below(2) == 0 {
            store.stop();
        }
    }

    /// Everybody asks again, and hears what he has heard.
    fn retry(&mut self, store: &mut Steps) -> Result<(), KeyStoreFailure> {
        for key in 0..KEYS {
            let told = self.told.entry(key).or_default().clone();
            let record = store.ask(|store| store.inspect(id(key)))?;
            let generation = record.as_ref().map_or(0, |record| record.generation);
            assert!(generation >= told.generation, "key {key}: {told:?}, and now {record:?}");
            if told.is_in_doubt {
                continue;
            }
            if let (Some(owner), Some(bytes)) = (told.owner, &told.answer) {
                assert_eq!(store.complete(key, owner, told.generation, bytes)?.reply, Ok(Completion::KeptBefore), "key {key}");
                let replayed = store.register(key, 250)?.expect("it is kept");
                assert!(matches!(replayed.registration, Registration::Replay { generation, .. } if generation == told.generation));
                assert_eq!(&replayed.bytes, bytes, "key {key}");
            } else if let Some(owner) = told.owner {
                let resumed = store.register(key, owner)?.expect("it is his");
                assert!(matches!(resumed.registration, Registration::Resumed(lease) if lease.generation == told.generation), "{resumed:?}");
            }
        }
        Ok(())
    }

    fn step(&mut self, store: &mut Steps, random: &mut Random) -> Result<(), KeyStoreFailure> {
        let key = random.below(KEYS.into()) as u8;
        let told = self.told.entry(key).or_default();
        // Until the answer is there, nobody knows.
        let before = std::mem::replace(&mut told.is_in_doubt, true);
        let (owner, generation) = (told.owner.unwrap_or(0), told.generation);
        match (told.owner, &told.answer, random.below(5)) {
            (Some(_), None, 0) => {
                let command = RenewLease { owner: OwnerId([owner; 32]), generation, lease_ms: LEASE_MS };
                let renewed = store.ask(|store| store.renew(id(key), command))?.reply;
                assert!(renewed.is_ok() || before, "key {key}: {renewed:?}");
            }
            (Some(_), None, 1 | 2) => {
                let bytes = answer(key, random.below(4_000) as usize);
                let reply = store.complete(key, owner, generation, &bytes)?.reply;
                if reply == Ok(Completion::Kept) {
                    told.answer = Some(bytes);
                }
                assert!(reply.is_ok() || before, "key {key}: {reply:?}");
            }
            (Some(_), None, 3) => {
                let command = ReleaseKey { owner: OwnerId([owner; 32]), generation };
                let released = store.ask(|store| store.release(id(key), command, Levels::NONE))?.reply;
                assert!(released.is_ok() || before, "key {key}: {released:?}");
                told.owner = None;
            }
            _ => {
                self.owners += 1;
                let owner = self.owners;
                let command = RegisterKey { retention_ms: RETENTION_MS, ..register(owner) };
                match store.ask(|store| store.register(id(key), command, Levels::NONE))?.reply {
                    Ok(Registered { registration: Registration::Fresh(lease) | Registration::TakenOver(lease), .. }) => {
                        assert!(lease.generation > told.generation, "key {key}: {} after {}", lease.generation, told.generation);
                        *told = Told { generation: lease.generation, owner: Some(owner), ..Told::default() };
                    }
                    Ok(Registered { registration: Registration::Replay { generation, .. }, bytes }) => {
                        told.generation = generation;
                        told.answer.get_or_insert(bytes);
                        // Whose it is may be in doubt, what it is is not.
                        told.owner = told.owner.filter(|_| !before);
                    }
                    Ok(other) => panic!("key {key}: {other:?}"),
                    Err(KeyRejection::KeyInProgress { generation, .. }) => assert!(generation >= told.generation),
                    Err(other) => panic!("key {key}: {other:?}"),
                }
            }
        }
        // What is known now is true; what was in doubt before stays so until a claim or an answer settles it.
        let is_settled = !before || told.answer.is_some() || told.owner == Some(self.owners);
        told.is_in_doubt = !is_settled;
        Ok(())
    }
}

fn end(storage: &MemoryStorage, seed: u64) {
    if seed.is_multiple_of(3) { storage.kill() } else { storage.power_loss() }
}

#[test]
fn a_crash_at_every_call_and_again_in_the_recovery_loses_nothing_that_was_told() {
    let (mut points, mut recovery_points) = (0_u64, 0_u64);
    for seed in 0..2 {
        let dry = MemoryStorage::new(seed);
        Outside::default().live(&dry, seed, STEPS);
        for crash in 0..dry.calls() {
            let storage = MemoryStorage::new(seed * 1_000 + crash);
            let mut outside = Outside::default();
            storage.crash_after(crash);
            outside.live(&storage, seed, STEPS);
            end(&storage, crash);
            points += 1;

            // How many calls a recovery makes here, then a crash at each.
            let probe = storage.fork(seed);
            let before = probe.calls();
            outside.clone().live(&probe, seed + 1, 0);
            for again in 0..probe.calls() - before {
                let storage = storage.fork(seed * 1_000_000 + crash * 1_000 + again);
                let mut outside = outside.clone();
                storage.crash_after(again);
                outside.live(&storage, seed + 2, 2);
                end(&storage, crash + again);
                outside.live(&storage, seed + 3, 3);
                end(&storage, again);
                outside.live(&storage, seed + 4, 0);
                recovery_points += 1;
            }
        }
    }
    assert!(points > 100 && recovery_points > 1_000, "{points} crashes, {recovery_points} in recoveries");
}
