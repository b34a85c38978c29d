//! What programs were told, in memory, so that a retry hears it again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use nevertwice_api::wire::BookingAnswer;
use nevertwice_core::{IdempotencyKey, Intent, Name, Principal};

/// How many are remembered; beyond it the oldest are forgotten, and their retries told something new.
const FEIGNED_MAX: usize = 10_000;

type Key = (Name, Principal, IdempotencyKey);

/// What was told, and to which request.
#[derive(Clone)]
struct Once {
    fingerprint: [u8; 32],
    answer: BookingAnswer,
}

#[derive(Default)]
struct Memory {
    of: HashMap<Key, Once>,
    order: VecDeque<Key>,
}

/// What programs were told.
#[derive(Default)]
pub(crate) struct Feigned(Mutex<Memory>);

/// What was told under a key.
pub(super) enum Before {
    Nothing,
    /// This, for the same request.
    Same(Box<BookingAnswer>),
    /// This, for another request.
    Other(Box<BookingAnswer>),
}

impl Feigned {
    pub(super) fn before(&self, sale: &Name, intent: &Intent) -> Before {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match memory.of.get(&key(sale, intent)).cloned() {
            None => Before::Nothing,
            Some(Once { fingerprint, answer }) if fingerprint == intent.fingerprint => Before::Same(Box::new(answer)),
            Some(Once { answer, .. }) => Before::Other(Box::new(answer)),
        }
    }

    pub(super) fn remember(&self, sale: &Name, intent: &Intent, answer: &BookingAnswer) {
        let (key, once) = (key(sale, intent), Once { fingerprint: intent.fingerprint, answer: answer.clone() });
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.of.insert(key.clone(), once).is_none() {
            memory.order.push_back(key);
        }
        if memory.order.len() > FEIGNED_MAX
            && let Some(oldest) = memory.order.pop_front()
        {
            memory.of.remove(&oldest);
        }
    }
}

fn key(sale: &Name, intent: &Intent) -> Key {
    (sale.clone(), intent.principal.clone(), intent.key.clone())
}
