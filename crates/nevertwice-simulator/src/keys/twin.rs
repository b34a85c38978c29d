//! What the store has to hold: each command decided by the core's transition function, and kept in the plainest way.

use std::collections::{BTreeMap, BTreeSet};

use nevertwice_api::{AnswerBytes, Registered};
use nevertwice_core::keys::{KeyRecord, Registration};

use super::command::{Command, Said};

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) record: KeyRecord,
    pub(crate) bytes: AnswerBytes,
}

/// All keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twin {
    pub(crate) keys: BTreeMap<u64, Known>,
    /// The keys that were changed since the twin was copied.
    pub(crate) changed: BTreeSet<u64>,
}

impl Twin {
    /// A copy in which nothing counts as changed.
    pub(crate) fn copy(&self) -> Self {
        Self { keys: self.keys.clone(), changed: BTreeSet::new() }
    }

    /// What is remembered of a key.
    pub(crate) fn remembered(&self, key: u64, at_ms: i64) -> Option<&KeyRecord> {
        KeyRecord::remembered(self.keys.get(&key).map(|known| &known.record), at_ms)
    }

    /// What the store has to say to a command. What a sweep frees depends on what a store has in its slots: of that it says nothing.
    pub(crate) fn decide(&mut self, key: u64, command: &Command, at_ms: i64) -> Option<Said> {
        let record = self.keys.get(&key).map(|known| &known.record);
        let (said, change, bytes) = match command {
            Command::Register(command) => {
                let decision = command.decide(record, at_ms);
                let is_replay = matches!(decision.reply, Ok(Registration::Replay { .. }));
                let bytes = self.keys.get(&key).filter(|_| is_replay).map(|known| known.bytes.clone()).unwrap_or_default();
                let reply = decision.reply.map(|registration| Registered { registration, bytes });
                (Said::Registered(reply), decision.change, AnswerBytes::default())
            }
            Command::Complete(command, bytes) => {
                let decision = command.decide(record, at_ms);
                (Said::Completed(decision.reply), decision.change, bytes.clone())
            }
            Command::Renew(command) => {
                let decision = command.decide(record, at_ms);
                (Said::Renewed(decision.reply), decision.change, AnswerBytes::default())
            }
            Command::Release(command) => {
                let decision = command.decide(record, at_ms);
                (Said::Released(decision.reply), decision.change, AnswerBytes::default())
            }
            Command::Inspect => return Some(Said::Inspected(self.remembered(key, at_ms).cloned())),
            Command::Sweep(_) => return None,
        };
        if let Some(record) = change {
            self.keys.insert(key, Known { record, bytes });
            self.changed.insert(key);
        }
        Some(said)
    }
}
