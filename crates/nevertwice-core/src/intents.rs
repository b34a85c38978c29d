//! The memory of accepted intents.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::fields::{Fields, Source};
use crate::limits::{INTENTS_MAX, PURGE_MAX};
use crate::packed::{Packer, Unpacker};
use crate::record::IntentRecord;
use crate::table::{Seed, Tables};
use crate::{Entry, Event, IdempotencyKey, Intent, Position, Principal};

/// How many places of the order of purging lie in one piece. Pieces are never moved as a whole.
const PIECE: usize = 4096;

#[derive(Clone, Copy)]
struct Place {
    hash: u64,
    seq: u64,
}

/// Which intents were accepted, for one retention. Whether one is still live is decided by comparing instants; freeing its
/// memory comes later, a few at a time.
pub(crate) struct Intents {
    retention_ms: i64,
    packed: Tables<Box<[u8]>>,
    // In the order of acceptance, which is also the order in which they end.
    order: VecDeque<VecDeque<Place>>,
    packer: Packer,
}

impl Intents {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { retention_ms: 0, packed: Tables::new(seed), order: VecDeque::new(), packer: Packer::default() }
    }

    pub(crate) const fn retention_ms(&self) -> i64 {
        self.retention_ms
    }

    pub(crate) const fn set_retention_ms(&mut self, retention_ms: i64) {
        self.retention_ms = retention_ms;
    }

    /// Whether no more may be remembered. Where the oldest has ended, the next one makes room for itself.
    pub(crate) fn is_full(&self, at_ms: i64) -> bool {
        self.packed.len() >= INTENTS_MAX && self.oldest_is_live(at_ms)
    }

    fn oldest_is_live(&self, at_ms: i64) -> bool {
        let Some(&Place { hash, seq }) = self.order.front().and_then(VecDeque::front) else { return false };
        let oldest = self.packed.get(hash, |packed| is_of(packed, seq)).and_then(|packed| prefix(packed));
        oldest.is_some_and(|(_, accepted_at)| self.is_live(accepted_at, at_ms))
    }

    pub(crate) const fn len(&self) -> usize {
        self.packed.len()
    }

    /// What the key did, if it is still remembered at `at_ms`.
    pub(crate) fn find(&self, principal: &Principal, key: &IdempotencyKey, at_ms: i64) -> Option<IntentRecord> {
        let hash = self.hash(principal, key);
        let packed = self.packed.get(hash, |packed| belongs_to(packed, principal, key))?;
        let record = unpack(packed);
        debug_assert!(record.is_some());
        record.filter(|record| self.is_live(record.at_ms, at_ms))
    }

    const fn is_live(&self, accepted_at: i64, at_ms: i64) -> bool {
        accepted_at.saturating_add(self.retention_ms) > at_ms
    }

    fn hash(&self, principal: &Principal, key: &IdempotencyKey) -> u64 {
        let (principal, key) = (principal.as_str().as_bytes(), key.as_str().as_bytes());
        // Neither has a zero byte, so no two pairs make the same bytes.
        let mut joined = [0; Principal::BYTES_MAX + 1 + IdempotencyKey::BYTES_MAX];
        let (first, rest) = joined.split_at_mut(principal.len());
        first.copy_from_slice(principal);
        let end = key.len().saturating_add(1);
        if let Some(second) = rest.get_mut(1..end) {
            second.copy_from_slice(key);
        }
        self.packed.hash(joined.get(..principal.len().saturating_add(end)).unwrap_or_default())
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
        let hash = self.hash(principal, key);
        let packed = self.packer.pack(intent, position, at_ms, events);
        let known = match self.packed.get_mut(hash, |packed| belongs_to(packed, principal, key)) {
            // The one before it had ended; its place in the order is passed over when its turn comes.
            Some(old) => {
                *old = packed;
                true
            }
            None => {
                self.packed.insert(hash, packed);
                false
            }
        };
        let place = Place { hash, seq: position.seq };
        match self.order.back_mut() {
            Some(piece) if piece.len() < PIECE => piece.push_back(place),
            _ => {
                let mut piece = VecDeque::with_capacity(PIECE);
                piece.push_back(place);
                self.order.push_back(piece);
            }
        }
        !known
    }

    fn purge(&mut self, at_ms: i64) {
        for _ in 0..PURGE_MAX {
            let Some(&Place { hash, seq }) = self.order.front().and_then(VecDeque::front) else { return };
            if let Some(packed) = self.packed.get(hash, |packed| is_of(packed, seq)) {
                match prefix(packed) {
                    Some((_, accepted_at)) if self.is_live(accepted_at, at_ms) => return,
                    _ => {}
                }
                self.packed.remove(hash, |packed| is_of(packed, seq));
            }
            if let Some(piece) = self.order.front_mut() {
                piece.pop_front();
                if piece.is_empty() {
                    self.order.pop_front();
                }
            }
        }
    }

    /// The intents that are live at `at_ms`, oldest first.
    pub(crate) fn for_each_live(&self, at_ms: i64, mut visit: impl FnMut(IntentRecord)) {
        for &Place { hash, seq } in self.order.iter().flatten() {
            if let Some(record) = self.packed.get(hash, |packed| is_of(packed, seq)).and_then(|packed| unpack(packed))
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
        position.seq.put(self);
        at_ms.put(self);
        intent.put(self);
        position.put(self);
        at_ms.put(self);
        events.put(self);
        Box::from(self.bytes.as_slice())
    }
}

fn prefix(packed: &[u8]) -> Option<(u64, i64)> {
    let mut unpacker = Unpacker::new(packed);
    Some((u64::take(&mut unpacker).ok()?, i64::take(&mut unpacker).ok()?))
}

fn unpack(packed: &[u8]) -> Option<IntentRecord> {
    let mut unpacker = Unpacker::new(packed);
    u64::take(&mut unpacker).ok()?;
    i64::take(&mut unpacker).ok()?;
    IntentRecord::take(&mut unpacker).ok()
}

fn is_of(packed: &[u8], seq: u64) -> bool {
    prefix(packed).is_some_and(|(of, _)| of == seq)
}

fn belongs_to(packed: &[u8], principal: &Principal, key: &IdempotencyKey) -> bool {
    let mut unpacker = Unpacker::new(packed);
    // After the prefix comes the intent, whose first fields are the principal and the key.
    u64::take(&mut unpacker).is_ok()
        && i64::take(&mut unpacker).is_ok()
        && unpacker.text(Principal::BYTES_MAX) == Ok(principal.as_str())
        && unpacker.text(IdempotencyKey::BYTES_MAX) == Ok(key.as_str())
}
