//! What the clients think of.

use nevertwice_api::{Level, Levels, Request};
use nevertwice_core::model::Step;
use nevertwice_core::{InstrumentState, Query, ShardId, ShardKind, Side, View};

use super::event::Event;
use super::intent::{Ask, Intent};
use super::universe::World;
use crate::http::Http;

/// A plan of the workload for an instant further away than this is carried out at once.
const AHEAD_MS_MAX: i64 = 4_000;

/// How long the clients wait, where all of them are waiting already.
const BUSY_US: i64 = 2_000;

/// Lines of a batch.
const BATCH_LINES_MAX: usize = 8;

impl World {
    /// The clients think of something new, if not too much is under way.
    pub(super) fn ask(&mut self) {
        if self.quiet_us.is_some() {
            return;
        }
        if self.record.get().decisions >= self.plan.decisions {
            return self.become_quiet();
        }
        let gap_us = self.chances.clients.between(0, self.gap_us);
        if self.open < self.plan.clients.open_max {
            self.think();
            self.after(gap_us, Event::Ask);
        } else {
            // Nobody will add a line to the batch: without this it would be waited for until the end of time.
            self.send_batch();
            self.after(gap_us.max(BUSY_US), Event::Ask);
        }
    }

    fn think(&mut self) {
        let share = self.plan.desk.as_ref().map_or(0, |desk| desk.share);
        if self.chances.clients.chance(share) && self.ask_at_desk() {
            return;
        }
        if self.chances.clients.chance(self.plan.clients.reads) && self.ask_to_read() {
            return;
        }
        let now_ms = self.clock_ms();
        self.workload.set_now(now_ms);
        let mut step = self.workload.next_step();
        if self.chances.clients.chance(self.plan.clients.hurried) {
            step.command.intent.expires_at = Some(now_ms + self.chances.clients.between(5, 1_000));
        }
        let ahead_ms = step.at_ms - now_ms;
        let at_ms = (1..=AHEAD_MS_MAX).contains(&ahead_ms).then_some(ahead_ms);
        let (ask, name) = self.express(&step);
        let is_batched = match &ask {
            Ask::Http(http) => at_ms.is_none() && http.is_order() && self.chances.clients.chance(self.plan.clients.batched),
            _ => false,
        };
        let mut intent = Intent::new(ask, name);
        intent.expires_at = step.command.intent.expires_at;
        intent.step = Some(step);
        let number = self.open_intent(intent);
        if is_batched {
            return self.put_into_batch(number);
        }
        match at_ms {
            // Exactly when the clock shows that instant.
            Some(ahead_ms) => {
                let at_us = (self.now_us / 1_000 + ahead_ms.unsigned_abs()) * 1_000;
                self.queue.put(at_us, Event::Send(number));
            }
            None => self.send(number),
        }
    }

    /// Keeps an intent until its client knows what became of it.
    pub(super) fn open_intent(&mut self, intent: Intent) -> usize {
        let number = self.intents.len();
        if let Some(step) = &intent.step {
            let of = &step.command.intent;
            self.by_key.entry((step.shard.clone(), of.principal.clone(), of.key.clone())).or_insert(number);
        }
        self.trace.line(self.now_us, || format!("intent {number}: {}", intent.name));
        self.intents.push(intent);
        self.open += 1;
        number
    }

    /// Over HTTP or not: the same key always goes the same way, so that its fingerprint is the same.
    fn express(&mut self, step: &Step) -> (Ask, String) {
        let key = step.command.intent.key.as_str();
        let level = self.chances.clients.chance(self.plan.clients.levels);
        let drawn = key.bytes().fold(self.plan.seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))) % 1_000;
        let over_http = if drawn < self.plan.clients.http { Http::of(&step.shard, &step.command) } else { None };
        let of = &step.command.intent;
        let way = if over_http.is_some() { "over HTTP " } else { "" };
        let name = format!("{} {way}on {} as {}/{key}", step.command.action.word(), step.shard, of.principal.as_str());
        match over_http {
            Some(mut http) => {
                http.level = level.then_some("journaled");
                (Ask::Http(http), name)
            }
            None => {
                let levels = if level { Levels::reached(Level::Journaled) } else { Levels::NONE };
                (Ask::Command(Request { shard: step.shard.clone(), command: step.command.clone(), levels }), name)
            }
        }
    }

    /// Several orders of one market go in one request.
    fn put_into_batch(&mut self, intent: usize) {
        let path = |number: usize| match self.intents.get(number).map(|intent| &intent.ask) {
            Some(Ask::Http(http)) => Some(http.path.clone()),
            _ => None,
        };
        if self.batch.first().is_some_and(|first| path(*first) != path(intent)) {
            self.send_batch();
        }
        self.batch.push(intent);
        if self.batch.len() >= BATCH_LINES_MAX || self.chances.clients.chance(250) {
            self.send_batch();
        }
    }

    /// Asks to see something that exists, as far as the follower knows.
    fn ask_to_read(&mut self) -> bool {
        let shards: Vec<ShardId> = self.follower.shards.keys().cloned().collect();
        let Some(shard) = self.chances.clients.pick(&shards).cloned() else { return false };
        let Some(query) = self.draw_query(&shard) else { return false };
        let level = match self.chances.clients.below(6) {
            0 => Some(Level::Decided),
            1 => Some(Level::Journaled),
            _ => None,
        };
        let over_http = if self.chances.clients.chance(self.plan.clients.http) { Http::to_read(&shard, &query) } else { None };
        let name = format!("read {query:?} of {shard}");
        let ask = match over_http {
            Some(http) => Ask::Http(http),
            None => Ask::Read(shard, query, level),
        };
        let number = self.open_intent(Intent::new(ask, name));
        self.send(number);
        true
    }

    fn draw_query(&mut self, shard: &ShardId) -> Option<Query> {
        let random = &mut self.chances.clients;
        let state = &self.follower.shards.get(shard)?.state;
        let choice = random.below(6);
        if shard.kind == ShardKind::Sale {
            let seq = random.below(state.position().seq + 1);
            let chain = &self.follower.shards.get(shard)?.chain;
            let booking = chain.get(usize::try_from(seq).ok()?).map(|entry| entry.position);
            return Some(booking.filter(|_| choice > 0).map_or(Query::Sale, |booking| Query::Booking { booking }));
        }
        let Ok(View::Instruments(page)) = state.read(&Query::Instruments { from: 0 }) else { return Some(Query::Market) };
        let trading: Vec<_> = page.instruments.iter().filter(|it| it.state == InstrumentState::Active).collect();
        let instrument = random.pick(&trading).map(|it| it.instrument.clone());
        let chain = &self.follower.shards.get(shard)?.chain;
        let seen = chain.len().checked_sub(1).and_then(|last| chain.get(usize::try_from(random.between(0, last as i64)).unwrap_or(0)));
        let account = seen.and_then(|entry| match entry.events.first() {
            Some(nevertwice_core::Event::AccountOpened(opened)) => Some(opened.account.clone()),
            Some(nevertwice_core::Event::OrderFilled(filled)) => Some(filled.account.clone()),
            _ => None,
        });
        Some(match (choice, instrument, account) {
            (0, _, _) => Query::Market,
            (1, Some(instrument), _) => {
                let side = if random.chance(500) { Side::Buy } else { Side::Sell };
                Query::Quote { instrument, side, quantity: random.between(1, 20) }
            }
            (2, Some(instrument), _) => Query::Instrument { instrument },
            (3, _, Some(account)) => Query::Holdings { account, from: 0 },
            (_, _, Some(account)) => Query::Account { account },
            _ => Query::Instruments { from: 0 },
        })
    }
}
