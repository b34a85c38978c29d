//! Where a store keeps its keys in memory: found by their ids, and walked in the order of their slots.
//!
//! Nothing here grows by one rehash of all that it holds: the ids lie in the many small tables of an [`Index`], and what they lead
//! to in pieces that never move. A slot that was freed is the next one to be used.

use crate::index::Index;
use crate::keys::KeyId;
use crate::rows::Rows;
use crate::table::{Seed, seeded_hash};

/// No slot.
const NONE: u32 = u32::MAX;

enum Slot<T> {
    Used(KeyId, T),
    /// The slot that was freed before it, or none.
    Free(u32),
}

/// Keys, each with what a store keeps of it.
pub struct KeyTable<T> {
    index: Index,
    slots: Rows<Slot<T>>,
    free: u32,
    seed: Seed,
}

impl<T> KeyTable<T> {
    /// What one key takes, in bytes, beside its share of the index.
    pub const SLOT_BYTES: usize = size_of::<Slot<T>>();

    /// An empty table. `seed` are two numbers drawn at random: keys come from strangers.
    #[must_use]
    pub fn new(seed: (u64, u64)) -> Self {
        Self { index: Index::new(), slots: Rows::new(), free: NONE, seed }
    }

    /// How many keys are in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether no key is in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots there are, used and free: they are numbered from 0.
    #[must_use]
    pub const fn slots(&self) -> u32 {
        // Bounded by the largest number of the index.
        self.slots.len() as u32
    }

    /// What lies in a slot; none in a free one.
    #[must_use]
    pub fn at(&self, slot: u32) -> Option<(&KeyId, &T)> {
        match self.slots.get(slot)? {
            Slot::Used(id, kept) => Some((id, kept)),
            Slot::Free(_) => None,
        }
    }

    /// All keys, in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (&KeyId, &T)> {
        self.slots.iter_from(0).filter_map(|slot| match slot {
            Slot::Used(id, kept) => Some((id, kept)),
            Slot::Free(_) => None,
        })
    }

    /// What is kept of a key.
    #[must_use]
    pub fn get(&self, id: &KeyId) -> Option<&T> {
        Some(self.at(self.slot_of(id)?)?.1)
    }

    /// Keeps something of a key, and returns what was kept of it before.
    pub fn insert(&mut self, id: KeyId, kept: T) -> Option<T> {
        if let Some(slot) = self.slot_of(&id)
            && let Some(Slot::Used(_, before)) = self.slots.get_mut(slot)
        {
            return Some(core::mem::replace(before, kept));
        }
        let used = Slot::Used(id, kept);
        let slot = match self.slots.get_mut(self.free) {
            Some(slot) => {
                let number = self.free;
                if let Slot::Free(before) = core::mem::replace(slot, used) {
                    self.free = before;
                }
                number
            }
            None => self.slots.push(used),
        };
        self.index.insert(self.hash(&id), slot);
        None
    }

    /// Forgets a key, and returns what was kept of it.
    pub fn remove(&mut self, id: &KeyId) -> Option<T> {
        let number = self.slot_of(id)?;
        let slot = self.slots.get_mut(number)?;
        let removed = core::mem::replace(slot, Slot::Free(self.free));
        self.free = number;
        self.index.remove(self.hash(id), number);
        match removed {
            Slot::Used(_, kept) => Some(kept),
            Slot::Free(_) => None,
        }
    }

    fn slot_of(&self, id: &KeyId) -> Option<u32> {
        let is_it = |slot| matches!(self.slots.get(slot), Some(Slot::Used(other, _)) if other == id);
        self.index.get(self.hash(id), is_it)
    }

    fn hash(&self, id: &KeyId) -> u64 {
        seeded_hash(self.seed, &id.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u8, u32),
        Remove(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![3 => any::<(u8, u32)>().prop_map(|(key, kept)| Step::Insert(key, kept)), 2 => any::<u8>().prop_map(Step::Remove)]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_map_holds_and_uses_its_slots_again(steps in prop::collection::vec(step(), 0..600)) {
            let (mut table, mut twin, mut most) = (KeyTable::new((1, 2)), BTreeMap::new(), 0);
            for step in steps {
                match step {
                    Step::Insert(key, kept) => prop_assert_eq!(table.insert(KeyId([key; 32]), kept), twin.insert(KeyId([key; 32]), kept)),
                    Step::Remove(key) => prop_assert_eq!(table.remove(&KeyId([key; 32])), twin.remove(&KeyId([key; 32]))),
                }
                most = twin.len().max(most);
                prop_assert_eq!(table.len(), twin.len());
                prop_assert_eq!(table.slots() as usize, most);
            }
            for (id, kept) in &twin {
                prop_assert_eq!(table.get(id), Some(kept));
            }
            let mut walked: Vec<(KeyId, u32)> = (0..table.slots()).filter_map(|slot| table.at(slot)).map(|(id, kept)| (*id, *kept)).collect();
            let listed: Vec<(KeyId, u32)> = table.iter().map(|(id, kept)| (*id, *kept)).collect();
            prop_assert_eq!(&walked, &listed);
            walked.sort_unstable();
            prop_assert!(walked.into_iter().eq(twin));
        }
    }
}
