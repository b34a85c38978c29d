//! Many small hash tables that behave as one.
//!
//! One big table stands still for a second when it doubles at seven million keys. Here each of [`TABLES`] tables doubles on
//! its own, and moves a thousandth of everything. The hash is seeded: keys come from strangers.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::Hasher as _;

use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

/// How many small tables there are. A page of a scan visits a few of them.
pub(crate) const TABLES: usize = 1024;

const TABLE_SHIFT: u32 = u64::BITS - TABLES.trailing_zeros();
const _: () = assert!(TABLES.is_power_of_two());

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

/// The small table of a hash. Its upper bits choose it: the lower ones choose the bucket within it.
pub(crate) const fn table_of(hash: u64) -> usize {
    (hash >> TABLE_SHIFT) as usize
}

struct Slot<T> {
    hash: u64,
    item: T,
}

/// A hash table in [`TABLES`] parts. What a key is, and when two are equal, the caller says.
pub(crate) struct Tables<T> {
    tables: Box<[HashTable<Slot<T>>]>,
    seed: Seed,
    len: usize,
}

impl<T> Tables<T> {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut tables = Vec::with_capacity(TABLES);
        tables.resize_with(TABLES, HashTable::new);
        Self { tables: tables.into_boxed_slice(), seed, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The seeded hash of a key.
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        seeded_hash(self.seed, key)
    }

    pub(crate) fn get(&self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        let table = self.tables.get(table_of(hash))?;
        table.find(hash, |slot| slot.hash == hash && is_it(&slot.item)).map(|slot| &slot.item)
    }

    pub(crate) fn get_mut(&mut self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<&mut T> {
        let table = self.tables.get_mut(table_of(hash))?;
        table.find_mut(hash, |slot| slot.hash == hash && is_it(&slot.item)).map(|slot| &mut slot.item)
    }

    /// Adds an item that is not in the table yet.
    pub(crate) fn insert(&mut self, hash: u64, item: T) {
        if let Some(table) = self.tables.get_mut(table_of(hash)) {
            table.insert_unique(hash, Slot { hash, item }, |slot| slot.hash);
            self.len = self.len.saturating_add(1);
        }
    }

    /// The items of the `table`-th small table, in no order (callers sort, or sum without order); `None` past the last.
    pub(crate) fn scan(&self, table: usize, mut visit: impl FnMut(&T)) -> Option<()> {
        for slot in self.tables.get(table)? {
            visit(&slot.item);
        }
        Some(())
    }

    /// Every item, in no order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&T)) {
        for table in 0..TABLES {
            let _ = self.scan(table, &mut visit);
        }
    }
}
