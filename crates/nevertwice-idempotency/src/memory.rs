//! A store in this process's memory: for tests, for one process, and for what may be forgotten with it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use nevertwice_api::{
    AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Level, Levels, PrincipalMark, PrincipalShares, Registered,
    ShareBounds, Swept,
};
use nevertwice_core::keys::{
    BodyKept, CompleteKey, Completion, KeyDecision, KeyId, KeyRecord, Lease, RegisterKey, Registration, ReleaseKey, RenewLease,
};

use crate::{Clock, MachineClock};

const PARTS: usize = 256;

/// Records that a registration at the bound looks at, to find one that may be freed.
const FREED_AT_BOUND: usize = 16;

/// How much a [`MemoryStore`] holds.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBounds {
    /// Records. At the bound new claims are refused, and none is thrown away.
    pub records_max: u64,
    /// Bytes of all answers together. At the bound new claims are refused.
    pub answers_bytes_max: u64,
    /// Bytes of one answer.
    pub answer_bytes_max: u64,
    /// How much of both one principal may hold. At its bound its new claims are refused, and those of others are not. A bound of 0 is
    /// half of the store.
    pub of_one: ShareBounds,
}

impl Default for MemoryBounds {
    fn default() -> Self {
        let of_one = ShareBounds { records_max: 0, answers_bytes_max: 0 };
        Self { records_max: 1_000_000, answers_bytes_max: 256 << 20, answer_bytes_max: 1 << 20, of_one }
    }
}

/// A store in memory. It forgets everything with its process, so after a restart a retry runs again: where that matters, use a store
/// that outlives the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    bounds: MemoryBounds,
    /// Looked at with a part held, and never the other way round.
    shares: Mutex<PrincipalShares>,
    parts: Vec<Mutex<Part>>,
    records: AtomicU64,
    answer_bytes: AtomicU64,
    lapsed: AtomicU64,
    next_part: AtomicUsize,
}

#[derive(Default)]
struct Part {
    /// Boxed, so that a table that grows moves pointers.
    slots: HashMap<KeyId, Box<Slot>, BuildHasherDefault<OfDigest>>,
    /// Every key once, in the order in which sweeps look at them.
    round: VecDeque<KeyId>,
    lapsed: u64,
    lapsed_so_far: u64,
    left_of_round: usize,
}

struct Slot {
    record: KeyRecord,
    bytes: AnswerBytes,
    principal: PrincipalMark,
}

/// The hash of a [`KeyId`]: a piece of it, for it is a keyed digest, which nobody without the secret can choose.
#[derive(Default)]
struct OfDigest(u64);

impl Hasher for OfDigest {
    fn write(&mut self, bytes: &[u8]) {
        let mut first = [0; 8];
        first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.0 = self.0.wrapping_mul(31) ^ u64::from_le_bytes(first);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Slot {
    fn len(&self) -> u64 {
        (self.bytes.head.len() + self.bytes.body.len()) as u64
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(MemoryBounds::default())
    }
}

impl MemoryStore {
    /// An empty store with the machine's clock.
    #[must_use]
    pub fn new(bounds: MemoryBounds) -> Self {
        Self::with_clock(bounds, Arc::new(MachineClock))
    }

    /// An empty store with that clock.
    #[must_use]
    pub fn with_clock(bounds: MemoryBounds, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            bounds: MemoryBounds { of_one: bounds.of_one.or_half(bounds.records_max, bounds.answers_bytes_max), ..bounds },
            shares: Mutex::default(),
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            records: AtomicU64::new(0),
            answer_bytes: AtomicU64::new(0),
            lapsed: AtomicU64::new(0),
            next_part: AtomicUsize::new(0),
        }
    }

    fn part(&self, index: usize) -> MutexGuard<'_, Part> {
        // A part is changed by single assignments that can't panic half way.
        self.parts[index % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shares(&self) -> MutexGuard<'_, PrincipalShares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn part_of(&self, id: &KeyId) -> MutexGuard<'_, Part> {
        // Another piece than the one that finds it within its part.
        let [.., last] = id.0;
        self.part(usize::from(last))
    }

    fn reply<R>(&self, decision: KeyDecision<R>, slot: Option<&mut Box<Slot>>, at_ms: i64) -> KeyReply<R> {
        if let (Some(record), Some(slot)) = (decision.change, slot) {
            slot.record = record;
        }
        KeyReply { reply: decision.reply, at_ms, levels: Levels::reached(Level::Decided) }
    }

    fn check_levels(&self, levels: Levels) -> Result<(), KeyStoreFailure> {
        if self.offers().contains_all(levels) { Ok(()) } else { Err(KeyStoreFailure::LevelUnavailable) }
    }

    fn register_now(
        &self,
        principal: PrincipalMark,
        id: KeyId,
        command: &RegisterKey,
        levels: Levels,
    ) -> Result<KeyReply<Registered>, KeyStoreFailure> {
        self.check_levels(levels)?;
        let mut part = self.part_of(&id);
        let at_ms = self.clock.now_ms();
        let slot = part.slots.get_mut(&id);
        let decision = command.decide(slot.as_ref().map(|slot| &slot.record), at_ms);
        let mut bytes = AnswerBytes::default();
        match (decision.change, slot) {
            (Some(record), Some(slot)) => {
                self.answer_bytes.fetch_sub(slot.len(), Ordering::Relaxed);
                let mut shares = self.shares();
                shares.remove(slot.principal, 1, slot.len());
                shares.add(principal, 1, 0);
                **slot = Slot { record, bytes: AnswerBytes::default(), principal };
            }
            (Some(record), None) => {
                self.make_room(principal, &mut part, at_ms)?;
                part.slots.insert(id, Box::new(Slot { record, bytes: AnswerBytes::default(), principal }));
                part.round.push_back(id);
            }
            (None, Some(slot)) if matches!(decision.reply, Ok(Registration::Replay { .. })) => bytes = slot.bytes.clone(),
            (None, _) => {}
        }
        let reply = decision.reply.map(|registration| Registered { registration, bytes });
        Ok(KeyReply { reply, at_ms, levels: Levels::reached(Level::Decided) })
    }

    /// Counts one more record, if there is room for it.
    fn make_room(&self, principal: PrincipalMark, part: &mut Part, at_ms: i64) -> Result<(), KeyStoreFailure> {
        let has_room = || self.records.load(Ordering::Relaxed) < self.bounds.records_max;
        let has_bytes = || self.answer_bytes.load(Ordering::Relaxed) < self.bounds.answers_bytes_max;
        let has_share = || self.shares().has_room(principal, &self.bounds.of_one);
        if !has_room() || !has_bytes() || !has_share() {
            self.sweep_part(part, FREED_AT_BOUND, at_ms);
        }
        let mut shares = self.shares();
        if !shares.has_room(principal, &self.bounds.of_one) {
            return Err(KeyStoreFailure::PrincipalFull);
        }
        let counted = |records| (records < self.bounds.records_max).then_some(records + 1);
        if !has_bytes() || self.records.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_err() {
            return Err(KeyStoreFailure::Full);
        }
        shares.add(principal, 1, 0);
        Ok(())
    }

    fn complete_now(
        &self,
        id: KeyId,
        command: &CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> Result<KeyReply<Completion>, KeyStoreFailure> {
        self.check_levels(levels)?;
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        if length > self.bounds.answer_bytes_max || !bytes.fit(&command.answer) {
            return Err(KeyStoreFailure::BytesRefused);
        }
        let mut part = self.part_of(&id);
        let at_ms = self.clock.now_ms();
        let mut slot = part.slots.get_mut(&id);
        let decision = command.decide(slot.as_ref().map(|slot| &slot.record), at_ms);
        if let (Some(_), Some(slot), BodyKept::Whole) = (&decision.change, &slot, command.answer.body) {
            let mut shares = self.shares();
            if !shares.has_room_for(slot.principal, length, &self.bounds.of_one) {
                return Err(KeyStoreFailure::PrincipalFull);
            }
            let counted = |held: u64| held.checked_add(length).filter(|held| *held <= self.bounds.answers_bytes_max);
            if self.answer_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted).is_err() {
                return Err(KeyStoreFailure::Full);
            }
            debug_assert_eq!(slot.len(), 0, "a claim has no bytes");
            shares.add(slot.principal, 0, length);
        }
        let is_change = decision.change.is_some();
        if let (true, Some(slot)) = (is_change, &mut slot) {
            // Copies of their own: a few bytes may be a piece of a large buffer, which would stay with them and is counted nowhere.
            slot.bytes = AnswerBytes { head: Bytes::copy_from_slice(&bytes.head), body: Bytes::copy_from_slice(&bytes.body) };
        }
        let reply = self.reply(decision, slot, at_ms);
        Ok(reply)
    }

    fn sweep_part(&self, part: &mut Part, records_max: usize, at_ms: i64) -> Swept {
        let mut swept = Swept::default();
        while swept.seen < records_max {
            if part.left_of_round == 0 {
                self.lapsed.fetch_sub(part.lapsed, Ordering::Relaxed);
                self.lapsed.fetch_add(part.lapsed_so_far, Ordering::Relaxed);
                (part.lapsed, part.lapsed_so_far, part.left_of_round) = (part.lapsed_so_far, 0, part.round.len());
                if swept.seen > 0 || part.round.is_empty() {
                    break;
                }
            }
            let Some(id) = part.round.pop_front() else { break };
            part.left_of_round = part.left_of_round.saturating_sub(1);
            swept.seen += 1;
            let Some(slot) = part.slots.get(&id) else { continue };
            if KeyRecord::remembered(Some(&slot.record), at_ms).is_some() {
                part.lapsed_so_far += u64::from(slot.record.is_lapsed(at_ms));
                part.round.push_back(id);
                continue;
            }
            self.answer_bytes.fetch_sub(slot.len(), Ordering::Relaxed);
            self.records.fetch_sub(1, Ordering::Relaxed);
            self.shares().remove(slot.principal, 1, slot.len());
            part.slots.remove(&id);
            swept.freed += 1;
        }
        swept
    }

    fn sweep_now(&self, records_max: usize) -> Swept {
        let at_ms = self.clock.now_ms();
        let mut swept = Swept::default();
        for _ in 0..PARTS {
            if swept.seen >= records_max {
                break;
            }
            let index = self.next_part.load(Ordering::Relaxed);
            let left = records_max - swept.seen;
            let mut part = self.part(index);
            let here = self.sweep_part(&mut part, left, at_ms);
            swept.seen += here.seen;
            swept.freed += here.freed;
            if part.left_of_round == 0 || here.seen < left {
                self.next_part.store((index + 1) % PARTS, Ordering::Relaxed);
            }
        }
        swept
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl KeyStore for MemoryStore {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn offers(&self) -> Levels {
        Levels::reached(Level::Decided)
    }

    fn outlives_process(&self) -> bool {
        false
    }

    fn answer_bytes_max(&self) -> u64 {
        self.bounds.answer_bytes_max
    }

    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.register_for(PrincipalMark::NOBODY, id, command, levels)
    }

    fn register_for(
        &self,
        principal: PrincipalMark,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        ready(self.register_now(principal, id, &command, levels))
    }

    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        ready(self.complete_now(id, &command, bytes, levels))
    }

    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        let mut part = self.part_of(&id);
        let at_ms = self.clock.now_ms();
        let slot = part.slots.get_mut(&id);
        let decision = command.decide(slot.as_ref().map(|slot| &slot.record), at_ms);
        ready(Ok(self.reply(decision, slot, at_ms)))
    }

    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        if let Err(failure) = self.check_levels(levels) {
            return ready(Err(failure));
        }
        let mut part = self.part_of(&id);
        let at_ms = self.clock.now_ms();
        let slot = part.slots.get_mut(&id);
        let decision = command.decide(slot.as_ref().map(|slot| &slot.record), at_ms);
        ready(Ok(self.reply(decision, slot, at_ms)))
    }

    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        let part = self.part_of(&id);
        let record = KeyRecord::remembered(part.slots.get(&id).map(|slot| &slot.record), self.clock.now_ms()).cloned();
        ready(Ok(record))
    }

    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        ready(Ok(self.sweep_now(records_max)))
    }

    fn status(&self) -> KeyStoreStatus {
        KeyStoreStatus {
            records: self.records.load(Ordering::Relaxed),
            records_max: self.bounds.records_max,
            answer_bytes: self.answer_bytes.load(Ordering::Relaxed),
            answer_bytes_max: self.bounds.answers_bytes_max,
            lapsed: self.lapsed.load(Ordering::Relaxed),
        }
    }
}
