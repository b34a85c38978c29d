//! Who reads a journal: under a name, with a lease, so that somebody who is gone counts as gone.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many readers may have a name.
pub(crate) const READERS_MAX: usize = 16;

/// How long what a reader still needs is kept after it was last heard, in milliseconds. Longer than the lease of a replica:
/// one that hangs for a while must not begin anew.
pub(crate) const KEPT_FOR_MS: i64 = 60_000;

/// One reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderState {
    /// Its name.
    pub name: String,
    /// The last batch that it has read.
    pub batch: u64,
    /// The last batch that is durable on its own disk, if it says so.
    pub confirmed: Option<u64>,
    /// When it was last heard, in milliseconds.
    pub heard_at_ms: i64,
    /// Whether it counts as there.
    pub live: bool,
}

/// What some readers have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quorum {
    /// The batch up to which that many confirm; none if fewer do. That one of them has fallen silent since takes nothing back.
    pub(crate) confirmed: Option<u64>,
    /// Until when that many count as there, if nobody is heard again, in milliseconds.
    pub(crate) live_until_ms: i64,
    /// The same of each one who confirms.
    lapse_at_ms: Vec<i64>,
}

impl Quorum {
    /// How many who confirm count as there.
    pub(crate) fn live(&self, now_ms: i64) -> usize {
        self.lapse_at_ms.iter().filter(|lapse_at_ms| now_ms <= **lapse_at_ms).count()
    }
}

/// All readers.
#[derive(Debug)]
pub struct Readers {
    lease_ms: i64,
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    name: String,
    batch: u64,
    confirmed: Option<u64>,
    heard_at_ms: i64,
}

impl Known {
    /// How long it was silent. A clock that steps back makes nobody older.
    fn silent_ms(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(self.heard_at_ms).max(0)
    }
}

impl Readers {
    /// Nobody yet. Who is silent for longer than `lease_ms` counts as gone.
    pub fn new(lease_ms: i64) -> Readers {
        Readers { lease_ms, known: Mutex::default() }
    }

    /// A reader asks for what comes after `batch`; `false` if there are as many names as may, all of them in use.
    pub fn heard(&self, name: &str, batch: u64, confirmed: Option<u64>, now_ms: i64) -> bool {
        let mut known = self.known();
        let heard = Known { name: name.to_owned(), batch, confirmed, heard_at_ms: now_ms };
        if let Some(before) = known.iter_mut().find(|reader| reader.name == name) {
            *before = heard;
            return true;
        }
        if known.len() >= READERS_MAX {
            known.retain(|reader| reader.silent_ms(now_ms) <= KEPT_FOR_MS);
        }
        let has_room = known.len() < READERS_MAX;
        if has_room {
            known.push(heard);
        }
        has_room
    }

    /// The first batch that somebody still has to read.
    pub fn keep_from(&self, now_ms: i64) -> Option<u64> {
        let known = self.known();
        known.iter().filter(|reader| reader.silent_ms(now_ms) <= KEPT_FOR_MS).map(|reader| reader.batch + 1).min()
    }

    /// What `replicas` of those who confirm have in common; each name counts once.
    pub(crate) fn quorum(&self, replicas: usize) -> Quorum {
        let known = self.known();
        let confirming = || known.iter().filter_map(|reader| Some((reader.heard_at_ms, reader.confirmed?)));
        let mut confirmed: Vec<u64> = confirming().map(|(_, batch)| batch).collect();
        confirmed.sort_unstable_by(|a, b| b.cmp(a));
        let mut lapse_at_ms: Vec<i64> = confirming().map(|(heard_at_ms, _)| heard_at_ms.saturating_add(self.lease_ms)).collect();
        lapse_at_ms.sort_unstable_by(|a, b| b.cmp(a));
        let last = replicas.saturating_sub(1);
        Quorum { confirmed: confirmed.get(last).copied(), live_until_ms: lapse_at_ms.get(last).copied().unwrap_or(i64::MIN), lapse_at_ms }
    }

    /// All that are known, in the order in which they came.
    pub fn list(&self, now_ms: i64) -> Vec<ReaderState> {
        let state = |reader: &Known| ReaderState {
            name: reader.name.clone(),
            batch: reader.batch,
            confirmed: reader.confirmed,
            heard_at_ms: reader.heard_at_ms,
            live: reader.silent_ms(now_ms) <= self.lease_ms,
        };
        self.known().iter().map(state).collect()
    }

    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
