//! The one thread that decides: it owns the states, makes no system call of its own, and waits for nothing but work (and for
//! the syncer, when that is far behind).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};

use nevertwice_api::encoding::encode_key_fact;
use nevertwice_api::{Answer, Failure, KeyFact, Level, Levels, Observer, Reading, Request};
use nevertwice_core::{Decision, Entry, Position, Query, Rejection, ShardId, State, StateHash};

use super::handoff::{Group, Handoff};
use super::queue::{Item, Reply, Waiting};
use super::replicas::{Replicas, Standing};
use super::replicated::REPLICATED;
use super::shard::{Marks, Shard};
use crate::clock::{Clock, Stopwatch};
use crate::journal::Room;
use crate::states::{Seed, States, push_entry, push_with_length};

/// How often the sequencer lets others run before it sleeps.
const YIELDS: usize = 8;

/// How many items are looked at together before the first of them is decided.
const AHEAD: usize = 8;

/// What a shard answered, and how much of it is safe.
pub(super) struct Found<T> {
    pub(super) answer: T,
    pub(super) position: Position,
    /// All that the answer rests on is durable.
    pub(super) safe: bool,
    /// The last durable position.
    pub(super) durable: Position,
    /// All that the answer rests on is confirmed by replicas. Never where none are asked for.
    pub(super) is_confirmed: bool,
    /// The last position that they have confirmed.
    pub(super) confirmed: Position,
}

impl<T> Found<T> {
    /// The levels that the answer has reached, once `level` has been.
    pub(super) fn levels(&self, level: Level) -> Levels {
        let levels = Levels::reached(if self.safe { Level::Journaled } else { level });
        if self.is_confirmed { levels.and(Levels::reached(Level::Replicated)) } else { levels }
    }
}

/// What one turn is decided under.
#[derive(Clone, Copy, Default)]
pub(super) struct Now {
    pub(super) at_ms: i64,
    durable_ticket: u64,
    /// Every group with a lower ticket is confirmed by replicas.
    confirmed_upto: u64,
    pub(super) poisoned: bool,
    pub(super) full: bool,
    /// Whether an answer may be made to wait for replicas.
    pub(super) standing: Standing,
}

pub(crate) struct Sequencer {
    items: Receiver<Item>,
    /// What has been taken out of the queue and is not decided yet.
    arrived: VecDeque<Item>,
    /// Told to stop.
    stopped: bool,
    depth: Arc<AtomicUsize>,
    handoff: Arc<Handoff>,
    clock: Arc<dyn Clock>,
    /// The latest instant that the clock has shown, or that is recorded.
    latest_ms: i64,
    /// How far the clock was behind it in the last turn.
    behind_ms: i64,
    observer: Arc<dyn Observer>,
    room: Room,
    pub(super) level: Level,
    seed: Seed,
    /// The epoch of this start: every start is an adoption.
    epoch: u32,
    pub(super) shards: HashMap<ShardId, Shard>,
    pub(super) group: Group,
    ticket: u64,
    pub(super) now: Now,
    /// None where no answer waits for replicas.
    pub(super) replicas: Option<Arc<Replicas>>,
    watch: Stopwatch,
    limits: GroupLimits,
    #[cfg(feature = "mutants")]
    mutant: Option<crate::Mutant>,
}

/// Tells the syncer that nothing more will come.
struct End(Arc<Handoff>);

impl Drop for End {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison();
        }
        self.0.end();
    }
}

/// How large a group gets.
#[derive(Clone, Copy)]
pub(crate) struct GroupLimits {
    pub(crate) items_max: usize,
    pub(crate) bytes_max: usize,
    /// What is kept free for the groups that are under way when the disk turns out to be full.
    pub(crate) room_bytes: u64,
}

impl Sequencer {
    #[expect(clippy::too_many_arguments, reason = "called once, where the backend is put together")]
    pub(crate) fn new(
        items: Receiver<Item>,
        depth: Arc<AtomicUsize>,
        handoff: Arc<Handoff>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        room: Room,
        replicas: Option<Arc<Replicas>>,
        level: Level,
        seed: Seed,
        epoch: u32,
        states: States,
        limits: GroupLimits,
    ) -> Sequencer {
        let latest_ms = states.last_at_ms();
        let shards = states.into_shards().map(|mut state| {
            state.adopt(epoch);
            // What was recovered is durable: the recovery synced it.
            (state.shard().clone(), Shard::recovered(state, replicas.is_some()))
        });
        let shards = shards.collect();
        Sequencer {
            items,
            arrived: VecDeque::with_capacity(limits.items_max),
            stopped: false,
            depth,
            handoff,
            clock,
            latest_ms,
            behind_ms: 0,
            observer,
            room,
            level,
            seed,
            epoch,
            shards,
            group: Group::default(),
            ticket: 1,
            now: Now::default(),
            replicas,
            watch: Stopwatch::start(),
            limits,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }

    /// The same with a planted bug.
    #[cfg(feature = "mutants")]
    pub(super) fn with(mut self, mutant: Option<crate::Mutant>) -> Sequencer {
        self.mutant = mutant;
        if let Some(crate::Mutant::Core(mutant)) = mutant {
            self.shards.values_mut().for_each(|shard| shard.state.plant(mutant));
        }
        self
    }

    /// Works until it is told to stop, or nobody is left who could ask.
    pub(crate) fn run(mut self) {
        // However this ends, the syncer must hear of it.
        let _end = End(Arc::clone(&self.handoff));
        while !self.stopped
            && let Some(first) = self.next_item()
        {
            self.arrive(first);
            while !self.arrived.is_empty() {
                self.decide_group();
            }
        }
        self.refuse_rest();
    }

    /// Takes out of the queue what one turn may hold, `first` in front.
    fn arrive(&mut self, first: Item) {
        self.arrived.push_back(first);
        while self.arrived.len() < self.limits.items_max {
            let Ok(item) = self.items.try_recv() else { break };
            self.arrived.push_back(item);
        }
        self.depth.fetch_sub(self.arrived.iter().filter(|item| !matches!(item, Item::Stop)).count(), Ordering::Relaxed);
    }

    /// Decides what has arrived, or as much of it as one group takes, and hands it over; waits while the syncer is far behind.
    fn decide_group(&mut self) {
        self.watch = Stopwatch::start();
        // Looked at once all of the turn have arrived: a caller that has seen an answer may count on his next command not being
        // decided before it.
        let at_ms = self.read_clock();
        self.now = Now {
            at_ms,
            durable_ticket: self.handoff.durable_ticket(),
            confirmed_upto: self.replicas.as_ref().map_or(0, |replicas| replicas.upto()),
            standing: self.replicas.as_ref().map_or(Standing::Near, |replicas| replicas.standing(at_ms)),
            poisoned: self.handoff.poisoned(),
            full: self.room.left_bytes().is_some_and(|left| left < self.limits.room_bytes),
        };
        let mut read_ahead = 0;
        loop {
            if read_ahead == 0 {
                self.read_ahead();
                read_ahead = AHEAD;
            }
            read_ahead -= 1;
            let Some(item) = self.arrived.pop_front() else { break };
            if self.stopped {
                item.fail(Failure::ShuttingDown);
                continue;
            }
            self.stopped = self.take(item);
            if self.group.payload.len() >= self.limits.bytes_max {
                break;
            }
        }
        self.hand_over();
    }

    /// Decides one group. `false`: nothing has arrived, or it would have to wait for the syncer.
    #[cfg(feature = "stepped")]
    pub(super) fn step(&mut self) -> bool {
        if self.stopped || !self.handoff.has_room(self.limits.items_max) {
            return false;
        }
        if self.arrived.is_empty() {
            let Ok(first) = self.items.try_recv() else { return false };
            self.arrive(first);
        }
        self.decide_group();
        true
    }

    /// Decides one group of those that came before the end, or ends. `true`: it has ended.
    #[cfg(feature = "stepped")]
    pub(super) fn step_to_end(&mut self) -> bool {
        if !self.stopped {
            self.step();
            return false;
        }
        self.refuse_rest();
        self.handoff.end();
        true
    }

    /// What came behind the last thing: nothing was done.
    fn refuse_rest(&self) {
        while let Ok(item) = self.items.try_recv() {
            item.fail(Failure::ShuttingDown);
        }
    }

    /// Lets the next commands of one shard wait for memory together, before the first of them is decided.
    fn read_ahead(&self) {
        let mut requests = self.arrived.iter().take(AHEAD).filter_map(|item| match item {
            Item::Submit(request, _) => Some(request),
            _ => None,
        });
        let Some(first) = requests.next() else { return };
        if let Some(shard) = self.shards.get(&first.shard) {
            let others = requests.filter(|request| request.shard == first.shard).map(|request| &request.command);
            shard.state.touch(std::iter::once(&first.command).chain(others));
        }
    }

    /// The next item. Before it sleeps it lets others run, a few times: who is about to ask joins this turn, and a wake-up costs
    /// both sides more than a yield.
    fn next_item(&self) -> Option<Item> {
        for _ in 0..YIELDS {
            match self.items.try_recv() {
                Ok(item) => return Some(item),
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
        self.items.recv().ok()
    }

    /// What the clock shows. That it ran backwards is told, not mended: no shard's time does.
    fn read_clock(&mut self) -> i64 {
        let at_ms = self.clock.now_ms();
        self.latest_ms = self.latest_ms.max(at_ms);
        let behind_ms = self.latest_ms.saturating_sub(at_ms);
        if behind_ms != self.behind_ms {
            self.behind_ms = behind_ms;
            self.observer.clock_behind(behind_ms);
        }
        at_ms
    }

    fn hand_over(&mut self) {
        if self.group.entries > 0 || !self.group.waiting.is_empty() || !self.group.confirming.is_empty() {
            self.handoff.put(&mut self.group, self.ticket, self.watch.took());
            self.ticket += 1;
            self.watch = Stopwatch::start();
        }
        self.group.items = 0;
    }

    /// Does one thing; true: it was the last.
    fn take(&mut self, item: Item) -> bool {
        self.group.items += 1;
        match item {
            Item::Submit(request, reply) => self.submit(request, reply),
            Item::Read(shard, query, level, reply) => self.read(&shard, &query, level, reply),
            Item::Wait(shard, position, level, reply) => self.wait(&shard, position, level, reply),
            Item::Hash(shard, reply) => self.hash(&shard, reply),
            Item::Shards(reply) => self.list(reply),
            Item::RecordKey(fact, reply) => self.record_key(*fact, reply),
            Item::Stop => return true,
        }
        false
    }

    /// Asks a shard's state. One that nobody opened answers as an empty one, which is safe: only an accepted opening makes it a
    /// shard, since strangers may name as many as they like.
    pub(super) fn ask<T>(&mut self, id: &ShardId, question: impl FnOnce(&State, i64) -> T) -> Found<T> {
        let at_ms = self.now.at_ms;
        match self.shards.get_mut(id) {
            Some(shard) => {
                let safe = shard.durable.learn(self.now.durable_ticket + 1);
                let is_confirmed = shard.confirmed.as_mut().is_some_and(|confirmed| confirmed.learn(self.now.confirmed_upto));
                Found {
                    answer: question(&shard.state, at_ms.max(shard.final_at_ms)),
                    position: shard.state.position(),
                    safe,
                    durable: shard.durable.reached(),
                    is_confirmed,
                    confirmed: shard.confirmed.as_ref().map(Marks::reached).unwrap_or_default(),
                }
            }
            None => {
                let unopened = State::new(id.clone(), self.epoch, self.seed);
                Found {
                    answer: question(&unopened, at_ms),
                    position: unopened.position(),
                    safe: true,
                    durable: unopened.position(),
                    is_confirmed: self.replicas.is_some(),
                    confirmed: unopened.position(),
                }
            }
        }
    }

    fn submit(&mut self, request: Request, reply: Reply<Answer>) {
        let found = self.ask(&request.shard, |state, at_ms| state.decide(&request.command, at_ms));
        if let Decision::Rejected(Rejection::IntentExpired { .. }) = found.answer
            && let Some(shard) = self.shards.get_mut(&request.shard)
        {
            shard.final_at_ms = shard.final_at_ms.max(self.now.at_ms);
        }
        if self.level == Level::Replicated || request.levels.contains(Level::Replicated) {
            return self.submit_replicated(&request.shard, found, reply);
        }
        let must_wait = self.level == Level::Journaled || request.levels.contains(Level::Journaled);
        let wait_for = if must_wait { Level::Journaled } else { Level::Decided };
        let levels = found.levels(wait_for);
        let Found { answer: decision, position, safe, durable, .. } = found;
        if let Decision::Accepted(entry) = decision {
            return self.accept(&request.shard, entry, wait_for, reply);
        }
        if self.now.poisoned && !safe {
            // What is durable was told, or may be; anything later may be forgotten.
            let answer = match decision {
                Decision::Replayed(entry) if entry.position <= durable => {
                    let levels = Levels::reached(Level::Journaled);
                    Ok(Answer { decision: Decision::Replayed(entry), position: durable, levels })
                }
                _ => Err(Failure::JournalFailed),
            };
            return drop(reply.send(answer));
        }
        let answer = Answer { decision, position, levels };
        #[cfg(feature = "mutants")]
        let safe = safe || self.mutant == Some(crate::Mutant::EarlyReplay);
        if safe || !must_wait {
            drop(reply.send(Ok(answer)));
        } else {
            self.group.waiting.push(Waiting::Submit(reply, answer));
        }
    }

    /// Makes an accepted decision happen: it is applied here and now, and becomes durable with its group. The answer waits for
    /// `wait_for`.
    pub(super) fn accept(&mut self, id: &ShardId, entry: Entry, wait_for: Level, reply: Reply<Answer>) {
        if self.now.poisoned {
            return drop(reply.send(Err(Failure::JournalFailed)));
        }
        if self.now.full {
            return drop(reply.send(Err(Failure::StorageFull)));
        }
        let shard = match self.shards.get_mut(id) {
            Some(shard) => shard,
            None => {
                let state = State::new(id.clone(), self.epoch, self.seed);
                #[cfg(feature = "mutants")]
                let state = match self.mutant {
                    Some(crate::Mutant::Core(mutant)) => state.with(mutant),
                    _ => state,
                };
                self.shards.entry(id.clone()).or_insert(Shard::fresh(state, self.replicas.is_some()))
            }
        };
        if let Err(error) = shard.state.apply(&entry) {
            // A fault of the core: what it decided does not fit the state it decided on. Nothing after it can be trusted.
            tracing::error!(shard = %entry.shard, position = %entry.position, %error, "an accepted decision could not be applied");
            self.handoff.poison();
            self.now.poisoned = true;
            return drop(reply.send(Err(Failure::JournalFailed)));
        }
        push_entry(&mut self.group.payload, &entry);
        if entry.is_operators() {
            self.group.facts.push(&entry);
        }
        self.group.entries += 1;
        let position = entry.position;
        shard.mark(self.ticket, position);
        let decision = Decision::Accepted(entry);
        #[cfg(feature = "mutants")]
        if self.mutant == Some(crate::Mutant::EarlyAnswer) {
            return drop(reply.send(Ok(Answer { decision, position, levels: Levels::reached(wait_for) })));
        }
        match wait_for {
            Level::Decided => drop(reply.send(Ok(Answer { decision, position, levels: Levels::reached(Level::Decided) }))),
            Level::Replicated => {
                self.group.confirming.push(Waiting::Submit(reply, Answer { decision, position, levels: REPLICATED }));
            }
            Level::Journaled | Level::Ledgered => {
                let levels = Levels::reached(Level::Journaled);
                self.group.waiting.push(Waiting::Submit(reply, Answer { decision, position, levels }));
            }
        }
    }

    /// Puts what is done to a key beside the entries: it decides nothing and changes no state. Whoever asked goes on once it is durable.
    fn record_key(&mut self, fact: KeyFact, reply: Reply<bool>) {
        if self.now.poisoned {
            return drop(reply.send(Err(Failure::JournalFailed)));
        }
        if self.now.full {
            return drop(reply.send(Err(Failure::StorageFull)));
        }
        push_with_length(&mut self.group.payload, |payload| encode_key_fact(&fact, payload));
        self.group.facts.push_unplaced(fact);
        self.group.entries += 1;
        let waiting = Waiting::Recorded(reply);
        if self.level == Level::Replicated { self.group.confirming.push(waiting) } else { self.group.waiting.push(waiting) }
    }

    fn read(&mut self, shard: &ShardId, query: &Query, level: Level, reply: Reply<Reading>) {
        let found = self.ask(shard, |state, _| state.read(query));
        if level == Level::Replicated {
            return self.read_replicated(found, reply);
        }
        let levels = found.levels(level);
        let Found { answer: view, position, safe, .. } = found;
        if self.now.poisoned && !safe {
            return drop(reply.send(Err(Failure::JournalFailed)));
        }
        let reading = Reading { view, position, levels };
        if safe || level != Level::Journaled {
            drop(reply.send(Ok(reading)));
        } else {
            self.group.waiting.push(Waiting::Read(reply, reading));
        }
    }

    fn wait(&mut self, shard: &ShardId, position: Position, level: Level, reply: Reply<Levels>) {
        if !self.shards.get(shard).is_some_and(|shard| shard.state.contains(position)) {
            return drop(reply.send(Err(Failure::PositionUnknown)));
        }
        let mut found = self.ask(shard, |_, _| ());
        found.safe |= position <= found.durable;
        found.is_confirmed |= self.replicas.is_some() && position <= found.confirmed;
        let levels = found.levels(level);
        if level == Level::Replicated {
            self.wait_replicated(&found, reply);
        } else if found.safe {
            drop(reply.send(Ok(levels)));
        } else if self.now.poisoned {
            drop(reply.send(Err(Failure::JournalFailed)));
        } else if level == Level::Decided {
            drop(reply.send(Ok(levels)));
        } else {
            self.group.waiting.push(Waiting::Wait(reply, levels));
        }
    }

    fn hash(&mut self, shard: &ShardId, reply: Reply<(Position, StateHash)>) {
        let Found { answer: hash, position, safe, .. } = self.ask(shard, |state, _| state.state_hash());
        let hash = (position, hash);
        if safe {
            drop(reply.send(Ok(hash)));
        } else if self.now.poisoned {
            drop(reply.send(Err(Failure::JournalFailed)));
        } else {
            self.group.waiting.push(Waiting::Hash(reply, hash));
        }
    }

    fn list(&mut self, reply: Reply<Vec<ShardId>>) {
        let mut all_safe = true;
        let mut durable = Vec::new();
        for (id, shard) in &mut self.shards {
            all_safe &= shard.durable.learn(self.now.durable_ticket + 1);
            if !self.now.poisoned || shard.durable.reached().seq > 0 {
                durable.push(id.clone());
            }
        }
        durable.sort_unstable();
        if all_safe || self.now.poisoned {
            drop(reply.send(Ok(durable)));
        } else {
            self.group.waiting.push(Waiting::Shards(reply, durable));
        }
    }
}
