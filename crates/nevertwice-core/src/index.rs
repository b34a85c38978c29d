//! From the hash of a key to a number: the part of tables and of the memory of intents that is touched at random.
//!
//! A slot has eight bytes, since one of them holds ten million: what a decision waits for is memory that no cache has. The numbers
//! are those of rows or of a queue, in which neighbours in time lie side by side.
//!
//! One big table stands still for a second when it doubles at seven million keys. Here each of [`TABLES`] tables doubles on its
//! own, and moves a thousandth of everything.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hashbrown::HashTable;

/// How many small tables there are.
const TABLES: usize = 1024;

const TABLE_SHIFT: u32 = u64::BITS - TABLES.trailing_zeros();
const _: () = assert!(TABLES.is_power_of_two());

/// The small table of a hash. Its upper bits choose it; what is stored of it are the lower ones.
const fn table_of(hash: u64) -> usize {
    (hash >> TABLE_SHIFT) as usize
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    number: u32,
}

/// Spreads what is stored of a hash over 64 bits again, for the bucket and for the tag (Fibonacci hashing).
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Many small tables of numbers, by the hash of what each number stands for.
pub(crate) struct Index {
    tables: Box<[HashTable<Slot>]>,
    len: usize,
}

impl Index {
    pub(crate) fn new() -> Self {
        let mut tables = Vec::with_capacity(TABLES);
        tables.resize_with(TABLES, HashTable::new);
        Self { tables: tables.into_boxed_slice(), len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The number under that hash that is the right one.
    pub(crate) fn get(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let stored = hash as u32;
        let table = self.tables.get(table_of(hash))?;
        table.find(spread(stored), |slot| slot.hash == stored && is_it(slot.number)).map(|slot| slot.number)
    }

    /// Adds a number that is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        if let Some(table) = self.tables.get_mut(table_of(hash)) {
            let hash = hash as u32;
            table.insert_unique(spread(hash), Slot { hash, number }, |slot| spread(slot.hash));
            self.len = self.len.saturating_add(1);
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let stored = hash as u32;
        let Some(table) = self.tables.get_mut(table_of(hash)) else { return };
        if let Ok(found) = table.find_entry(spread(stored), |slot| slot.number == number) {
            found.remove();
            self.len = self.len.saturating_sub(1);
        }
    }
}
