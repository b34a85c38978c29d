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

    /// How many live readers confirm, and the batch that at least `replicas` of them have confirmed.
    pub fn confirmed_by(&self, replicas: usize, now_ms: i64) -> (usize, Option<u64>) {
        let known = self.known();
        let live = known.iter().filter(|reader| reader.silent_ms(now_ms) <= self.lease_ms);
        let mut confirmed: Vec<u64> = live.filter_map(|reader| reader.confirmed).collect();
        confirmed.sort_unstable_by(|a, b| b.cmp(a));
        let watermark = replicas.checked_sub(1).and_then(|at| confirmed.get(at).copied());
        (confirmed.len(), watermark)
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
