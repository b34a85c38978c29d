//! From the hash of a key to a number: the part of the memory of intents, and of the tables, that is touched at random.
//!
//! One of them holds ten million, and what a decision waits for is memory that no cache has. So it is made of
//! buckets of one cache line each: to learn that a key is new costs one line, and the new number is written to that same line.
//! (Measured at ten million keys, against a table that keeps its tags and its slots apart: a decision waits for memory once
//! instead of twice.) The numbers are those of a queue or of rows, in which neighbours in time lie side by side.
//!
//! One big table stands still for a second when it doubles at seven million keys. Here each of [`TABLES`] tables doubles on its
//! own, and moves a thousandth of everything.
//!
//! A bucket that is full passes what comes on to the next one, and counts what it has passed on: a search ends at the first
//! bucket that passed nothing on, and a removal takes its share of the counts back. So nothing that is gone makes a search longer.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// How many small tables there are.
const TABLES: usize = 1024;

const TABLE_SHIFT: u32 = u64::BITS - TABLES.trailing_zeros();
const _: () = assert!(TABLES.is_power_of_two());

/// The small table of a hash. Its upper bits choose it; what is kept of it are the lower ones.
const fn table_of(hash: u64) -> usize {
    (hash >> TABLE_SHIFT) as usize
}

/// How many numbers one bucket holds: with its count it fills one cache line.
const SLOTS: usize = 7;
const LINE_BYTES: usize = 64;
const _: () = assert!(size_of::<Bucket>() == LINE_BYTES && align_of::<Bucket>() == LINE_BYTES);

/// At most so many of ten slots are used before a table doubles.
const FULL_TENTHS: usize = 8;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// 0: nothing is here.
    hash: u32,
    number: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Bucket {
    slots: [Slot; SLOTS],
    /// How many numbers passed through, since it was full when they came.
    passed_on: u32,
}

/// What is kept of a hash: never 0.
const fn kept(hash: u64) -> u32 {
    hash as u32 | 1
}

/// One small table: a power of two of buckets, or none.
#[derive(Default)]
struct Table {
    buckets: Vec<Bucket>,
    len: usize,
}

impl Table {
    /// The bucket in which a search begins: the upper bits of what is kept, spread (Fibonacci hashing).
    fn home(&self, hash: u32) -> usize {
        let spread = (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 32) as usize & self.buckets.len().wrapping_sub(1)
    }

    fn next(&self, at: usize) -> usize {
        at.wrapping_add(1) & self.buckets.len().wrapping_sub(1)
    }

    fn get(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let bucket = self.buckets.get(at)?;
            for slot in &bucket.slots {
                if slot.hash == hash && is_it(slot.number) {
                    return Some(slot.number);
                }
            }
            if bucket.passed_on == 0 {
                return None;
            }
            at = self.next(at);
        }
    }

    fn insert(&mut self, slot: Slot) {
        let slots = self.buckets.len().saturating_mul(SLOTS);
        if self.len.saturating_mul(10) >= slots.saturating_mul(FULL_TENTHS) {
            self.grow();
        }
        self.place(slot);
        self.len = self.len.saturating_add(1);
    }

    /// Puts it in the first bucket with room; there is one.
    fn place(&mut self, slot: Slot) {
        let mut at = self.home(slot.hash);
        while let Some(bucket) = self.buckets.get_mut(at) {
            if let Some(free) = bucket.slots.iter_mut().find(|slot| slot.hash == 0) {
                *free = slot;
                return;
            }
            bucket.passed_on = bucket.passed_on.saturating_add(1);
            at = self.next(at);
        }
    }

    fn grow(&mut self) {
        let buckets = self.buckets.len().saturating_mul(2).max(1);
        let old = core::mem::replace(&mut self.buckets, vec![Bucket::default(); buckets]);
        for slot in old.iter().flat_map(|bucket| &bucket.slots).filter(|slot| slot.hash != 0) {
            self.place(*slot);
        }
    }

    fn remove(&mut self, hash: u32, number: u32) -> bool {
        if self.get(hash, |other| other == number).is_none() {
            return false;
        }
        let mut at = self.home(hash);
        while let Some(bucket) = self.buckets.get_mut(at) {
            if let Some(found) = bucket.slots.iter_mut().find(|slot| slot.hash == hash && slot.number == number) {
                *found = Slot::default();
                self.len = self.len.saturating_sub(1);
                return true;
            }
            bucket.passed_on = bucket.passed_on.saturating_sub(1);
            at = self.next(at);
        }
        false
    }
}

/// Many small tables of numbers, by the hash of what each number stands for.
pub(crate) struct Index {
    tables: Box<[Table]>,
    len: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        let mut tables = Vec::with_capacity(TABLES);
        tables.resize_with(TABLES, Table::default);
        Self { tables: tables.into_boxed_slice(), len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The number under that hash that is the right one.
    pub(crate) fn get(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.tables.get(table_of(hash))?.get(kept(hash), is_it)
    }

    /// Reads what a search for that hash will read first, for the sum of [`Index::touch`]'s callers: nothing branches on it, so
    /// that several in a row wait for memory together.
    pub(crate) fn touch(&self, hash: u64) -> u32 {
        let table = self.tables.get(table_of(hash));
        table.and_then(|table| table.buckets.get(table.home(kept(hash)))).map_or(0, |bucket| bucket.passed_on)
    }

    /// Adds a number that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        if let Some(table) = self.tables.get_mut(table_of(hash)) {
            table.insert(Slot { hash: kept(hash), number });
            self.len = self.len.saturating_add(1);
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        if let Some(table) = self.tables.get_mut(table_of(hash))
            && table.remove(kept(hash), number)
        {
            self.len = self.len.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Hashes of a few tables and few homes, so that buckets fill and pass on.
    fn hash() -> impl Strategy<Value = u64> {
        (0_u64..2, 0_u64..64, 0_u64..3).prop_map(|(table, low, high)| table << 63 | high << 40 | low)
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u64),
        Remove(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![3 => hash().prop_map(Step::Insert), 2 => hash().prop_map(Step::Remove)]
    }

    proptest! {
        /// The index against a plain list of what is in it; a removal takes the oldest number of its hash.
        #[test]
        fn it_finds_what_is_there_and_nothing_else(steps in prop::collection::vec(step(), 0..600)) {
            let (mut index, mut twin) = (Index::new(), Vec::<(u64, u32)>::new());
            for (number, step) in (0_u32..).zip(steps) {
                match step {
                    Step::Insert(hash) => {
                        index.insert(hash, number);
                        twin.push((hash, number));
                    }
                    Step::Remove(hash) => {
                        let there = twin.iter().position(|(other, _)| *other == hash);
                        let number = there.map_or(u32::MAX, |at| twin.remove(at).1);
                        index.remove(hash, number);
                    }
                }
                prop_assert_eq!(index.len(), twin.len());
            }
            let hashes: BTreeSet<u64> = twin.iter().map(|(hash, _)| *hash).collect();
            for (hash, number) in &twin {
                prop_assert_eq!(index.get(*hash, |found| found == *number), Some(*number));
            }
            for hash in &hashes {
                prop_assert_eq!(index.get(*hash, |_| false), None);
                let mut seen = BTreeSet::new();
                index.get(*hash, |number| { seen.insert(number); false });
                // Hashes that differ only where nothing is kept of them are told apart by the numbers.
                for (_, number) in twin.iter().filter(|(other, _)| other == hash) {
                    prop_assert!(seen.contains(number));
                }
            }
            // What is gone leaves no trace: emptied, no search goes further than its first bucket.
            for (hash, number) in twin {
                index.remove(hash, number);
            }
            prop_assert_eq!(index.len(), 0);
            for bucket in index.tables.iter().flat_map(|table| &table.buckets) {
                prop_assert_eq!(bucket.passed_on, 0);
                prop_assert!(bucket.slots.iter().all(|slot| slot.hash == 0));
            }
        }
    }
}
