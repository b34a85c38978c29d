//! A hash table whose rows keep the order in which they came.
//!
//! One big table stands still for a second when it doubles at seven million keys. So the hashes lie in the many small tables of
//! an [`Index`], and what they lead to in [`Rows`]. The hash is seeded: keys come from strangers.

use core::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::index::Index;
use crate::rows::Rows;

/// The seed of a shard's hash tables: two random numbers that a host draws when it starts.
pub(crate) type Seed = (u64, u64);

/// The hash of a key: seeded, since keys come from strangers.
pub(crate) fn seeded_hash(seed: Seed, key: &[u8]) -> u64 {
    SipHasher13::new_with_keys(seed.0, seed.1).hash(key)
}

/// The hash of two texts without zero bytes, as that of the one, a zero byte and the other. They are read where they are: bytes
/// that were just written in other pieces can't be read back until all earlier writes are through, and one of those went to
/// memory that no cache has.
pub(crate) fn seeded_pair_hash(seed: Seed, first: &[u8], second: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(seed.0, seed.1);
    hasher.write(first);
    hasher.write_u8(0);
    hasher.write(second);
    hasher.finish()
}

/// A hash table whose rows never move and are never removed. What a key is, and when two are equal, the caller says.
pub(crate) struct Table<T> {
    index: Index,
    rows: Rows<T>,
    seed: Seed,
}

impl<T> Table<T> {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { index: Index::new(), rows: Rows::new(), seed }
    }

    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// The seeded hash of a key.
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        seeded_hash(self.seed, key)
    }

    fn number(&self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<u32> {
        self.index.get(hash, |number| self.rows.get(number).is_some_and(&mut is_it))
    }

    pub(crate) fn get(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.rows.get(self.number(hash, is_it)?)
    }

    pub(crate) fn get_mut(&mut self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.rows.get_mut(self.number(hash, is_it)?)
    }

    /// Adds a row that is not in the table yet.
    pub(crate) fn insert(&mut self, hash: u64, row: T) {
        let number = self.rows.push(row);
        self.index.insert(hash, number);
    }

    /// Every row, in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_from(0)
    }

    /// The rows from that number on.
    pub(crate) fn iter_from(&self, number: u32) -> impl Iterator<Item = &T> {
        self.rows.iter_from(number)
    }
}
