//! The promotion, and what has to be true after it.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use nevertwice_api::{AuditAsk, Backend as _, BoxFuture, Fact, Level, Levels, Request};
use nevertwice_core::{Decision, Entry, Position, ShardId, State};
use nevertwice_local::{LocalOptions, SteppedBackend};

use super::scene::Scene;
use crate::finding::Finding;

/// The seed of a model's hash tables.
const TABLES_SEED: (u64, u64) = (41, 43);

impl Scene<'_> {
    /// Promotes the standby, and judges what it has.
    pub(super) fn promote(&mut self) -> Result<(), Finding> {
        if !self.standby.leave()? {
            // It never had a copy: then nothing can have been told as replicated.
            return self.missing(&BTreeMap::new());
        }
        let options = LocalOptions { replicas_min: 0, ..self.plan.backend.clone() };
        let opened = self.opened(self.standby.disk.clone(), &options);
        let mut promoted = opened.map_err(|error| Finding::new(format!("the standby can't be promoted: {error}")))?;
        self.tally.promotions += 1;
        self.say(|| "the standby is promoted".to_owned());
        let reached = positions(&mut promoted)?;
        self.missing(&reached)?;
        let kept = self.prefix(&reached)?;
        compare_states(&mut promoted, &self.history[..kept])?;
        compare_audit(&promoted, &self.history[..kept])?;
        self.retry(&mut promoted, kept)
    }

    /// What was told as replicated is there.
    fn missing(&self, reached: &BTreeMap<ShardId, Position>) -> Result<(), Finding> {
        for told in self.told.iter().filter(|told| told.answer.levels.contains(Level::Replicated)) {
            let (shard, position) = (&told.step.shard, told.answer.position);
            let now = reached.get(shard).copied().unwrap_or_default();
            if position > now {
                let key = told.step.command.intent.key.as_str();
                let what = format!("{shard}: {key} was told as of {position}, as replicated, and the promoted standby is at {now}");
                return Err(Finding::new(what).about(position).about(key));
            }
        }
        Ok(())
    }

    /// How much of the primary's history is there: a first part of it, and nothing behind.
    fn prefix(&mut self, reached: &BTreeMap<ShardId, Position>) -> Result<usize, Finding> {
        let is_there = |entry: &Entry| reached.get(&entry.shard).is_some_and(|position| entry.position <= *position);
        let kept = self.history.iter().take_while(|entry| is_there(entry)).count();
        if let Some(entry) = self.history[kept..].iter().find(|entry| is_there(entry)) {
            let first = &self.history[kept];
            let what = format!(
                "the promoted standby has {} {} and lacks {} {}, which came before",
                entry.shard, entry.position, first.shard, first.position
            );
            return Err(Finding::new(what).about(entry.position).about(first.position));
        }
        let told = |entry: &&Entry| {
            self.told.iter().any(|told| {
                told.step.shard == entry.shard
                    && matches!(&told.answer.decision, Decision::Accepted(made) if made.position == entry.position)
            })
        };
        self.tally.lacking += self.history[kept..].iter().filter(told).count() as u64;
        Ok(kept)
    }

    /// Who asks again is answered as the first time where it is there, and never with what is not.
    fn retry(&self, promoted: &mut SteppedBackend, kept: usize) -> Result<(), Finding> {
        let (there, lost) = self.history.split_at(kept);
        let by_place = |entries: &[Entry]| -> BTreeMap<(ShardId, Position), Entry> {
            entries.iter().map(|entry| ((entry.shard.clone(), entry.position), entry.clone())).collect()
        };
        let (there, lost) = (by_place(there), by_place(lost));
        for told in &self.told {
            let Decision::Accepted(made) = &told.answer.decision else { continue };
            let request = Request { shard: told.step.shard.clone(), command: told.step.command.clone(), levels: Levels::NONE };
            let answered = promoted.front().submit(request);
            let answer = drive(promoted, answered);
            let place = (made.shard.clone(), made.position);
            let key = told.step.command.intent.key.as_str();
            let about = |what: String| Finding::new(format!("{} {}, {key}: {what}", place.0, place.1)).about(place.1).about(key);
            let answer = answer.map_err(|failure| about(format!("a retry is refused: {failure}")))?;
            // Where a command came from is in its entry, and not remembered with its intent.
            let remembered = there.get(&place).map(|entry| Entry { origin: None, before: None, ..entry.clone() });
            match (&answer.decision, remembered) {
                (Decision::Replayed(entry), Some(remembered)) if *entry == remembered => {}
                (other, Some(_)) => return Err(about(format!("it is there, and a retry is answered {other:?}"))),
                (Decision::Replayed(entry), None) if lost.contains_key(&(entry.shard.clone(), entry.position)) => {
                    return Err(about(format!("a retry is answered with {}, which is lost", entry.position)));
                }
                (_, None) => {}
            }
        }
        Ok(())
    }
}

/// Where the shards are.
fn positions(promoted: &mut SteppedBackend) -> Result<BTreeMap<ShardId, Position>, Finding> {
    let shards = promoted.front().shards();
    let shards = drive(promoted, shards).map_err(|failure| Finding::new(format!("no list of shards: {failure}")))?;
    let mut reached = BTreeMap::new();
    for shard in shards {
        let hash = promoted.front().state_hash(shard.clone());
        let (position, _) = drive(promoted, hash).map_err(|failure| Finding::new(format!("{shard}: no position: {failure}")))?;
        reached.insert(shard, position);
    }
    Ok(reached)
}

/// The states are those of a model that was fed what is there.
fn compare_states(promoted: &mut SteppedBackend, there: &[Entry]) -> Result<(), Finding> {
    let mut models: BTreeMap<ShardId, State> = BTreeMap::new();
    for entry in there {
        let fresh = || State::new(entry.shard.clone(), entry.position.epoch, TABLES_SEED);
        let model = models.entry(entry.shard.clone()).or_insert_with(fresh);
        model.apply(entry).map_err(|error| Finding::new(format!("{} {}: {error}", entry.shard, entry.position)))?;
    }
    for (shard, model) in models {
        let hash = promoted.front().state_hash(shard.clone());
        let (position, hash) = drive(promoted, hash).map_err(|failure| Finding::new(format!("{shard}: no hash: {failure}")))?;
        if (position, hash) != (model.position(), model.state_hash()) {
            let what = format!("{shard}: the promoted standby's state at {position} is not the one that its entries make");
            return Err(Finding::new(what).about(position));
        }
    }
    Ok(())
}

/// What operators did is told whole, and so is the promotion.
fn compare_audit(promoted: &SteppedBackend, there: &[Entry]) -> Result<(), Finding> {
    let history = promoted.front().history().ok_or_else(|| Finding::new("the promoted standby has no audit"))?;
    let (mut told, mut deeds, mut asked) = (Vec::new(), 0, AuditAsk::default());
    loop {
        let page = history.audit(&asked).map_err(|failure| Finding::new(format!("the audit can't be read: {failure}")))?;
        for fact in page.facts {
            match fact {
                Fact::Entry(entry) => told.push(*entry),
                Fact::Folder(_) => deeds += 1,
                Fact::Key(_) => {}
            }
        }
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None if page.begins_after > 0 => return Err(Finding::new(format!("the audit begins after batch {}", page.begins_after))),
            None => break,
        }
    }
    let expected: Vec<&Entry> = there.iter().filter(|entry| entry.is_operators()).collect();
    if told.iter().ne(expected.iter().copied()) || deeds != 1 {
        let (found, expected) = (told.len(), expected.len());
        return Err(Finding::new(format!("the audit tells {found} things and {deeds} promotions, and operators did {expected}")));
    }
    Ok(())
}

/// Lets a backend work until it has an answer.
fn drive<T>(backend: &mut SteppedBackend, mut answer: BoxFuture<'static, T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        backend.decide();
        backend.take();
        backend.write();
        backend.answer();
    }
}
