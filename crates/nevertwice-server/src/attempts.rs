//! The attempts that this process saw, for who asks what became of one tap: so many at most, in memory alone.
//!
//! Rejections leave no trace in a shard, and answers get lost on their way; so without this nobody could tell whether a person's
//! tap ever arrived. It is no promise: a restart forgets everything, and so does time.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::{IdempotencyKey, Position, Principal};

use crate::reply;

/// How many attempts are remembered; a shelf has its share of them.
pub(crate) const ATTEMPTS_MAX: usize = 1 << 18;

/// Attempts of one key lie on one shelf, and different keys mostly on different ones: nobody waits for anybody.
const SHELVES: usize = 16;

const SHELF_MAX: usize = ATTEMPTS_MAX / SHELVES;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Accepted,
    Replayed,
    Feigned,
    Refused(ErrorCode),
    /// The server had a fault, or ended, before there was an answer.
    Unfinished,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Replayed => "replayed",
            Self::Feigned => "feigned",
            Self::Refused(code) => code.code(),
            Self::Unfinished => "unfinished",
        }
    }
}

impl From<Result<reply::Outcome, ErrorCode>> for Outcome {
    fn from(outcome: Result<reply::Outcome, ErrorCode>) -> Self {
        match outcome {
            Ok(reply::Outcome::Accepted | reply::Outcome::Served) => Self::Accepted,
            Ok(reply::Outcome::Replayed) => Self::Replayed,
            Ok(reply::Outcome::Feigned) => Self::Feigned,
            Err(code) => Self::Refused(code),
        }
    }
}

/// One attempt: whose stands for itself as a keyed hash, so that nothing here names a person.
#[derive(Clone, Copy)]
struct Seen {
    who: u64,
    at_ms: i64,
    position: Option<Position>,
    outcome: Outcome,
}

#[derive(Default)]
struct Shelf {
    seen: Vec<Seen>,
    /// Where the next one goes, once the shelf is full.
    oldest: usize,
}

/// The attempts.
pub(crate) struct Attempts {
    hasher: RandomState,
    since_ms: i64,
    shelves: [Mutex<Shelf>; SHELVES],
}

impl Attempts {
    pub(crate) fn since(since_ms: i64) -> Self {
        Self { hasher: RandomState::new(), since_ms, shelves: std::array::from_fn(|_| Mutex::default()) }
    }

    /// An attempt that has arrived.
    pub(crate) fn begin(&self, principal: &Principal, key: &IdempotencyKey, at_ms: i64) -> Attempt<'_> {
        let seen = Seen { who: self.who(principal, key), at_ms, position: None, outcome: Outcome::Unfinished };
        Attempt { attempts: self, seen }
    }

    /// The attempts of an intent, the oldest first.
    pub(crate) fn of(&self, principal: &Principal, key: &IdempotencyKey) -> wire::Attempts {
        let who = self.who(principal, key);
        let shelf = self.shelf(who);
        let (newer, older) = shelf.seen.split_at(shelf.oldest.min(shelf.seen.len()));
        let mut seen: Vec<Seen> = older.iter().chain(newer).filter(|seen| seen.who == who).copied().collect();
        let is_cut = shelf.seen.len() >= SHELF_MAX;
        drop(shelf);
        // They were noted when they ended.
        seen.sort_by_key(|seen| seen.at_ms);
        let show = |seen: Seen| wire::Attempt {
            at_ms: seen.at_ms,
            outcome: seen.outcome.word().to_owned(),
            position: seen.position.map(|position| position.to_string()),
        };
        wire::Attempts { seen: seen.into_iter().map(show).collect(), since_ms: Some(self.since_ms), is_cut }
    }

    fn who(&self, principal: &Principal, key: &IdempotencyKey) -> u64 {
        // Each goes in with an end of its own, so no two pairs are alike.
        self.hasher.hash_one((principal, key))
    }

    fn shelf(&self, who: u64) -> MutexGuard<'_, Shelf> {
        self.shelves[who as usize % SHELVES].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, seen: Seen) {
        let mut shelf = self.shelf(seen.who);
        let oldest = shelf.oldest;
        if shelf.seen.len() < SHELF_MAX {
            if shelf.seen.is_empty() {
                // All at once: memory that is not touched costs nothing, and nothing is ever moved.
                shelf.seen.reserve_exact(SHELF_MAX);
            }
            shelf.seen.push(seen);
        } else if let Some(place) = shelf.seen.get_mut(oldest) {
            *place = seen;
            shelf.oldest = (oldest + 1) % SHELF_MAX;
        }
    }
}

/// An attempt under way. It is noted when it ends, in whatever way. Whether its answer arrived is known to nobody here.
pub(crate) struct Attempt<'a> {
    attempts: &'a Attempts,
    seen: Seen,
}

impl Attempt<'_> {
    /// It is answered.
    pub(crate) fn end(mut self, outcome: Outcome, position: Option<Position>) {
        self.seen.outcome = outcome;
        self.seen.position = position;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.attempts.note(self.seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(key: &str) -> (Principal, IdempotencyKey) {
        (Principal::new("ann").expect("a principal"), IdempotencyKey::new(key).expect("a key"))
    }

    fn outcomes(attempts: &Attempts, key: &str) -> Vec<String> {
        let (principal, key) = intent(key);
        attempts.of(&principal, &key).seen.into_iter().map(|seen| seen.outcome).collect()
    }

    #[test]
    fn attempts_are_told_in_their_order_and_by_their_key() {
        let attempts = Attempts::since(5);
        let (principal, key) = intent("k");
        let slow = attempts.begin(&principal, &key, 10);
        attempts.begin(&principal, &key, 11).end(Outcome::Refused(ErrorCode::LevelFull), Some(Position { epoch: 1, seq: 4 }));
        attempts.begin(&principal, &intent("other").1, 12).end(Outcome::Accepted, None);
        drop(attempts.begin(&principal, &key, 13));
        slow.end(Outcome::Accepted, Some(Position { epoch: 1, seq: 3 }));
        assert_eq!(outcomes(&attempts, "k"), ["accepted", "level_full", "unfinished"]);
        assert_eq!(outcomes(&attempts, "never"), [""; 0]);
        let told = attempts.of(&principal, &key);
        assert_eq!((told.since_ms, told.is_cut, told.seen[0].position.as_deref()), (Some(5), false, Some("1-3")));
    }

    #[test]
    fn the_oldest_are_forgotten_first_and_it_is_said() {
        let attempts = Attempts::since(0);
        let (principal, key) = intent("k");
        for at_ms in 0..SHELF_MAX as i64 + 3 {
            attempts.begin(&principal, &key, at_ms).end(Outcome::Replayed, None);
        }
        let told = attempts.of(&principal, &key);
        assert_eq!((told.seen.len(), told.seen[0].at_ms, told.is_cut), (SHELF_MAX, 3, true));
        assert!(told.seen.is_sorted_by_key(|seen| seen.at_ms));
    }
}
