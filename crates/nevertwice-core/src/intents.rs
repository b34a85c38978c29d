//! The memory of accepted intents.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::fields::{Fields, Source};
use crate::index::Index;
use crate::limits::{INTENTS_MAX, PURGE_MAX, TOUCH_MAX};
use crate::packed::{Packer, Unpacker};
use crate::record::IntentRecord;
use crate::table::{Seed, seeded_pair_hash};
use crate::{Entry, Event, IdempotencyKey, Intent, Position, Principal};

/// How many intents lie in one piece of the queue. Pieces are never moved as a whole.
const PIECE: usize = 4096;

/// Which intents were accepted, for one retention. Whether one is still live is decided by comparing instants; freeing its
/// memory comes later, a few at a time.
pub(crate) struct Intents {
    seed: Seed,
    retention_ms: i64,
    queue: Queue,
    index: Index,
    packer: Packer,
    #[cfg(feature = "mutants")]
    purges_early: bool,
}

/// Packed intents in the order of acceptance, which is also the order in which they end, numbered one after the other. One that
/// another of the same key has replaced is empty.
struct Queue {
    pieces: VecDeque<Vec<Box<[u8]>>>,
    // The number of the first item of the first piece.
    base: u64,
    // How many items of the first piece have been taken.
    taken: usize,
}

impl Queue {
    const fn new() -> Self {
        Self { pieces: VecDeque::new(), base: 0, taken: 0 }
    }

    /// A queue in front of whose first item so many others have come and gone.
    #[cfg(test)]
    const fn after(base: u64) -> Self {
        Self { pieces: VecDeque::new(), base, taken: 0 }
    }

    fn push(&mut self, item: Box<[u8]>) -> u32 {
        if self.pieces.back().is_none_or(|piece| piece.len() >= PIECE) {
            self.pieces.push_back(Vec::with_capacity(PIECE));
        }
        let full = self.pieces.len().saturating_sub(1).saturating_mul(PIECE);
        let piece_len = self.pieces.back().map_or(0, Vec::len);
        if let Some(piece) = self.pieces.back_mut() {
            piece.push(item);
        }
        // Far fewer than 2^32 are remembered at a time, so the lower half of a number tells which one it is.
        self.base.wrapping_add(full.saturating_add(piece_len) as u64) as u32
    }

    fn place(&self, number: u32) -> (usize, usize) {
        let offset = number.wrapping_sub(self.base as u32) as usize;
        (offset / PIECE, offset % PIECE)
    }

    fn get(&self, number: u32) -> Option<&[u8]> {
        let (piece, at) = self.place(number);
        self.pieces.get(piece)?.get(at).map(|item| &**item)
    }

    fn clear(&mut self, number: u32) {
        let (piece, at) = self.place(number);
        if let Some(item) = self.pieces.get_mut(piece).and_then(|piece| piece.get_mut(at)) {
            *item = Box::default();
        }
    }

    /// The oldest item and its number.
    fn front(&self) -> Option<(u32, &[u8])> {
        let item = self.pieces.front()?.get(self.taken)?;
        Some((self.base.wrapping_add(self.taken as u64) as u32, item))
    }

    fn pop_front(&mut self) {
        if let Some(item) = self.pieces.front_mut().and_then(|piece| piece.get_mut(self.taken)) {
            *item = Box::default();
            self.taken = self.taken.saturating_add(1);
        }
        if self.taken >= PIECE {
            self.pieces.pop_front();
            self.base = self.base.wrapping_add(PIECE as u64);
            self.taken = 0;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().flatten().map(|item| &**item)
    }
}

impl Intents {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            seed,
            retention_ms: 0,
            queue: Queue::new(),
            index: Index::new(),
            packer: Packer::default(),
            #[cfg(feature = "mutants")]
            purges_early: false,
        }
    }

    #[cfg(feature = "mutants")]
    pub(crate) const fn purge_early(&mut self, purges_early: bool) {
        self.purges_early = purges_early;
    }

    pub(crate) const fn retention_ms(&self) -> i64 {
        self.retention_ms
    }

    pub(crate) const fn set_retention_ms(&mut self, retention_ms: i64) {
        self.retention_ms = retention_ms;
    }

    /// Whether no more may be remembered. Where the oldest has ended, the next one makes room for itself.
    pub(crate) fn is_full(&self, at_ms: i64) -> bool {
        self.index.len() >= INTENTS_MAX && self.oldest_is_live(at_ms)
    }

    fn oldest_is_live(&self, at_ms: i64) -> bool {
        self.queue.front().and_then(|(_, packed)| accepted_at(packed)).is_some_and(|accepted_at| self.is_live(accepted_at, at_ms))
    }

    pub(crate) const fn len(&self) -> usize {
        self.index.len()
    }

    /// What the key did, if it is still remembered at `at_ms`.
    pub(crate) fn find(&self, principal: &Principal, key: &IdempotencyKey, at_ms: i64) -> Option<IntentRecord> {
        let hash = self.hash(principal.as_str(), key.as_str());
        let record = unpack(self.queue.get(self.number(hash, principal, key)?)?);
        debug_assert!(record.is_some());
        record.filter(|record| self.is_live(record.at_ms, at_ms))
    }

    /// Reads what [`Intents::find`] of these intents will read; of the first [`TOUCH_MAX`] at most.
    pub(crate) fn touch<'a>(&self, intents: impl Iterator<Item = &'a Intent>) {
        // First all hashes, then all reads: a processor looks some hundreds of instructions ahead, and a hash alone takes that many.
        let mut hashes = [0; TOUCH_MAX];
        let mut count = 0_usize;
        for (hash, intent) in hashes.iter_mut().zip(intents) {
            *hash = self.hash(intent.principal.as_str(), intent.key.as_str());
            count = count.saturating_add(1);
        }
        let read = hashes.iter().take(count).fold(0, |read, hash| read ^ self.index.touch(*hash));
        core::hint::black_box(read);
    }

    fn number(&self, hash: u64, principal: &Principal, key: &IdempotencyKey) -> Option<u32> {
        self.index.get(hash, |number| self.queue.get(number).is_some_and(|packed| belongs_to(packed, principal, key)))
    }

    const fn is_live(&self, accepted_at: i64, at_ms: i64) -> bool {
        accepted_at.saturating_add(self.retention_ms) > at_ms
    }

    fn hash(&self, principal: &str, key: &str) -> u64 {
        seeded_pair_hash(self.seed, principal.as_bytes(), key.as_bytes())
    }

    /// Remembers an accepted intent, and frees a few whose retention is over.
    pub(crate) fn remember(&mut self, entry: &Entry) {
        self.purge(entry.at_ms);
        self.insert(&entry.intent, entry.position, entry.at_ms, &entry.events);
    }

    /// Remembers an intent that was accepted at that place; `false` if it replaced one of the same key. Callers insert in the
    /// order of acceptance.
    pub(crate) fn insert(&mut self, intent: &Intent, position: Position, at_ms: i64, events: &Vec<Event>) -> bool {
        let Intent { principal, key, .. } = intent;
        let hash = self.hash(principal.as_str(), key.as_str());
        let known = self.number(hash, principal, key);
        if let Some(number) = known {
            // The one before it had ended.
            self.queue.clear(number);
            self.index.remove(hash, number);
        }
        let packed = self.packer.pack(intent, position, at_ms, events);
        let number = self.queue.push(packed);
        self.index.insert(hash, number);
        known.is_none()
    }

    fn purge(&mut self, at_ms: i64) {
        #[cfg(feature = "mutants")]
        let at_ms = if self.purges_early { at_ms.saturating_add(self.retention_ms / 2) } else { at_ms };
        for _ in 0..PURGE_MAX {
            let Some((number, packed)) = self.queue.front() else { return };
            if accepted_at(packed).is_some_and(|accepted_at| self.is_live(accepted_at, at_ms)) {
                return;
            }
            if let Some(hash) = owner(packed).map(|(principal, key)| self.hash(principal.as_str(), key.as_str())) {
                self.index.remove(hash, number);
            }
            self.queue.pop_front();
        }
    }

    /// The intents that are live at `at_ms`, oldest first.
    pub(crate) fn for_each_live(&self, at_ms: i64, mut visit: impl FnMut(IntentRecord)) {
        for packed in self.queue.iter() {
            if let Some(record) = unpack(packed)
                && self.is_live(record.at_ms, at_ms)
            {
                visit(record);
            }
        }
    }
}

impl Packer {
    /// What purging looks at comes first; then the fields of an `IntentRecord`.
    fn pack(&mut self, intent: &Intent, position: Position, at_ms: i64, events: &Vec<Event>) -> Box<[u8]> {
        self.bytes.clear();
        at_ms.put(self);
        intent.put(self);
        position.put(self);
        at_ms.put(self);
        events.put(self);
        Box::from(self.bytes.as_slice())
    }
}

fn accepted_at(packed: &[u8]) -> Option<i64> {
    i64::take(&mut Unpacker::new(packed)).ok()
}

fn owner(packed: &[u8]) -> Option<(Principal, IdempotencyKey)> {
    let mut unpacker = Unpacker::new(packed);
    i64::take(&mut unpacker).ok()?;
    Some((Principal::take(&mut unpacker).ok()?, IdempotencyKey::take(&mut unpacker).ok()?))
}

fn unpack(packed: &[u8]) -> Option<IntentRecord> {
    let mut unpacker = Unpacker::new(packed);
    i64::take(&mut unpacker).ok()?;
    IntentRecord::take(&mut unpacker).ok()
}

fn belongs_to(packed: &[u8], principal: &Principal, key: &IdempotencyKey) -> bool {
    let mut unpacker = Unpacker::new(packed);
    // After the instant comes the intent, whose first fields are the principal and the key.
    i64::take(&mut unpacker).is_ok()
        && unpacker.text(Principal::BYTES_MAX) == Ok(principal.as_str())
        && unpacker.text(IdempotencyKey::BYTES_MAX) == Ok(key.as_str())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::format;

    use proptest::prelude::*;

    use super::*;
    use crate::{Name, SaleOpenSet, ShardId};

    const RETENTION_MS: i64 = 300;
    const KEYS: u16 = 700;

    fn entry(key: u16, seq: u64, at_ms: i64) -> Entry {
        let intent = Intent {
            principal: Principal::new("somebody").expect("a principal"),
            key: IdempotencyKey::new(&format!("k-{key}")).expect("a key"),
            fingerprint: [0; 32],
            expires_at: None,
        };
        let shard = ShardId::sale(Name::new("s").expect("a name"));
        let events = alloc::vec![Event::SaleOpenSet(SaleOpenSet { open: true })];
        Entry { shard, position: Position { epoch: 1, seq }, at_ms, intent, events, origin: None, before: None }
    }

    /// What was accepted last with each key, and when.
    type Twin = BTreeMap<u16, (u64, i64)>;

    fn live(twin: &Twin, key: u16, at_ms: i64) -> Option<u64> {
        twin.get(&key).filter(|(_, accepted_at)| accepted_at + RETENTION_MS > at_ms).map(|(seq, _)| *seq)
    }

    fn found(intents: &Intents, key: u16, at_ms: i64) -> Option<u64> {
        let Intent { principal, key, .. } = entry(key, 0, 0).intent;
        intents.find(&principal, &key, at_ms).map(|record| record.position.seq)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Of an item's number 32 bits are kept. The queue begins shortly before they run over, and goes on for more than a piece
        /// after it: with items that end, that are replaced under their key, and that stay.
        #[test]
        fn numbers_that_run_over_lead_to_the_same_intents(
            before in 0_u64..2_000,
            seed in any::<(u64, u64)>(),
            steps in proptest::collection::vec((0..KEYS, 0_i64..4), 8_000..9_000),
        ) {
            let mut intents = Intents::new(seed);
            intents.set_retention_ms(RETENTION_MS);
            intents.queue = Queue::after((1 << 32) - before);
            let (mut twin, mut at_ms) = (Twin::new(), 0);
            for (seq, (key, later)) in (1_u64..).zip(&steps) {
                at_ms += later;
                let known = live(&twin, *key, at_ms);
                prop_assert_eq!(found(&intents, *key, at_ms), known, "{} at {}", key, at_ms);
                if known.is_none() {
                    intents.remember(&entry(*key, seq, at_ms));
                    twin.insert(*key, (seq, at_ms));
                }
                if seq % 1_000 == 0 {
                    for key in 0..KEYS {
                        prop_assert_eq!(found(&intents, key, at_ms), live(&twin, key, at_ms), "{} at {}", key, at_ms);
                    }
                }
            }
            let (mut shown, mut expected) = (Vec::new(), Vec::new());
            intents.for_each_live(at_ms, |record| shown.push(record.position.seq));
            expected.extend((0..KEYS).filter_map(|key| live(&twin, key, at_ms)));
            expected.sort_unstable();
            prop_assert_eq!(shown, expected);
            // Whoever tries too little tries nothing: then the first piece is still there.
            prop_assume!(intents.queue.base > 1 << 32);
        }
    }
}
