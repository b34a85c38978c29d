//! Up to where each shard is in the ledger, and who waits for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nevertwice_api::{LedgerStatus, LedgerWatch, ShardLag};
use nevertwice_core::{Position, ShardId};
use tokio::sync::oneshot;

/// Why nothing more of a shard is written, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stopped(pub(crate) String);

/// What writer and waiters share.
#[derive(Debug, Default)]
pub struct Watermarks {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    shards: HashMap<ShardId, Mark>,
    waiters: u64,
    /// When the oldest entry was decided that was read and is not written, in milliseconds.
    oldest_at: Option<i64>,
    trouble: Option<String>,
    entries_written: u64,
    batches_written: u64,
    failures: u64,
    doubled: u64,
}

#[derive(Debug, Default)]
struct Mark {
    reached: Position,
    decided: Position,
    /// Not after the instant at which the oldest entry was decided that is not in the ledger; none if there is none.
    since: Option<i64>,
    stopped: Option<Stopped>,
    waiting: BTreeMap<(Position, u64), oneshot::Sender<Result<(), Stopped>>>,
}

impl Watermarks {
    /// Waits until that position is in the ledger; an error tells that it never will be.
    pub(crate) async fn wait(&self, shard: &ShardId, position: Position) -> Result<(), Stopped> {
        let reached = {
            let mut inner = self.inner();
            inner.waiters += 1;
            let number = inner.waiters;
            // Nothing was decided yet where the position is the one before the first.
            if position.seq == 0 {
                return Ok(());
            }
            let mark = inner.shards.entry(shard.clone()).or_default();
            if position <= mark.reached {
                return Ok(());
            }
            if let Some(stopped) = &mark.stopped {
                return Err(stopped.clone());
            }
            let (reply, reached) = oneshot::channel();
            mark.waiting.insert((position, number), reply);
            Place { watermarks: self, shard, place: (position, number), reached }
        };
        reached.outcome().await
    }

    /// Why nothing more of that shard is written.
    pub(crate) fn stopped(&self, shard: &ShardId) -> Option<Stopped> {
        self.inner().shards.get(shard)?.stopped.clone()
    }

    /// The last entry of that shard which is in the ledger.
    #[must_use]
    pub fn of(&self, shard: &ShardId) -> Position {
        self.inner().shards.get(shard).map(|mark| mark.reached).unwrap_or_default()
    }

    /// An entry was decided at that instant.
    pub(crate) fn decided(&self, shard: &ShardId, position: Position, at_ms: i64) {
        let mut inner = self.inner();
        let mark = inner.shards.entry(shard.clone()).or_default();
        mark.decided = mark.decided.max(position);
        if mark.decided > mark.reached {
            mark.since.get_or_insert(at_ms);
        }
    }

    /// How old the oldest entry is that is not in the ledger, in milliseconds.
    pub(crate) fn lag_ms(&self, now_ms: i64) -> u64 {
        self.inner().lag_ms(now_ms)
    }

    /// Entries were read, the oldest of which was decided then; they are not written yet.
    pub(crate) fn read(&self, oldest_at: i64) {
        self.inner().oldest_at.get_or_insert(oldest_at);
    }

    /// All that was read is written.
    pub(crate) fn level(&self) {
        self.inner().oldest_at = None;
    }

    /// A shard is in the ledger up to the entry of that position and instant: who waited for that is told.
    pub(crate) fn reach(&self, shard: &ShardId, position: Position, at_ms: i64) {
        let mut inner = self.inner();
        let mark = inner.shards.entry(shard.clone()).or_default();
        mark.reached = mark.reached.max(position);
        // What comes next was decided no earlier than this.
        mark.since = mark.since.filter(|_| mark.decided > mark.reached).map(|since| since.max(at_ms));
        let above = mark.waiting.split_off(&(mark.reached, u64::MAX));
        let ready = std::mem::replace(&mut mark.waiting, above);
        drop(inner);
        for reply in ready.into_values() {
            // Who has gone does not hear it.
            drop(reply.send(Ok(())));
        }
    }

    /// Nothing more of a shard is written: who waits is told, and whoever comes.
    pub(crate) fn stop(&self, shard: &ShardId, why: &str) {
        let stopped = Stopped(why.to_owned());
        let mut inner = self.inner();
        let mark = inner.shards.entry(shard.clone()).or_default();
        mark.stopped = Some(stopped.clone());
        let waiting = std::mem::take(&mut mark.waiting);
        drop(inner);
        for reply in waiting.into_values() {
            drop(reply.send(Err(stopped.clone())));
        }
    }

    /// A batch was written.
    pub(crate) fn wrote(&self, entries: u64, doubled: u64) {
        let mut inner = self.inner();
        inner.entries_written += entries;
        inner.batches_written += 1;
        inner.doubled += doubled;
        inner.trouble = None;
    }

    pub(crate) fn batches_written(&self) -> u64 {
        self.inner().batches_written
    }

    /// A write failed, and is tried again.
    pub(crate) fn failed(&self, what: &str) {
        let mut inner = self.inner();
        inner.failures += 1;
        inner.trouble = Some(what.to_owned());
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerWatch for Watermarks {
    fn status(&self, now_ms: i64) -> LedgerStatus {
        let inner = self.inner();
        let mut shards: Vec<ShardLag> = inner.shards.iter().map(|(shard, mark)| mark.lag(shard)).collect();
        shards.sort_by(|a, b| a.shard.cmp(&b.shard));
        LedgerStatus {
            lag_ms: inner.lag_ms(now_ms),
            trouble: inner.trouble.clone(),
            entries_written: inner.entries_written,
            batches_written: inner.batches_written,
            failures: inner.failures,
            doubled: inner.doubled,
            shards,
        }
    }
}

impl Inner {
    fn lag_ms(&self, now_ms: i64) -> u64 {
        let oldest_at = self.shards.values().filter_map(|mark| mark.since).chain(self.oldest_at).min();
        oldest_at.map_or(0, |oldest_at| u64::try_from(now_ms.saturating_sub(oldest_at)).unwrap_or(0))
    }
}

impl Mark {
    fn lag(&self, shard: &ShardId) -> ShardLag {
        ShardLag {
            shard: shard.clone(),
            watermark: self.reached,
            entries_at_risk: self.decided.seq.saturating_sub(self.reached.seq),
            stopped: self.stopped.as_ref().map(|stopped| stopped.0.clone()),
        }
    }
}

/// A place among those who wait, given up when its holder goes.
struct Place<'a> {
    watermarks: &'a Watermarks,
    shard: &'a ShardId,
    place: (Position, u64),
    reached: oneshot::Receiver<Result<(), Stopped>>,
}

impl Place<'_> {
    async fn outcome(mut self) -> Result<(), Stopped> {
        // The sender is dropped by nobody but the writer's end.
        (&mut self.reached).await.unwrap_or_else(|_| Err(Stopped("the writer of the ledger has ended".to_owned())))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(mark) = self.watermarks.inner().shards.get_mut(self.shard) {
            mark.waiting.remove(&self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use nevertwice_core::Name;

    use super::*;

    fn shard() -> ShardId {
        ShardId::market(Name::new("wc").expect("a name"))
    }

    fn at(epoch: u32, seq: u64) -> Position {
        Position { epoch, seq }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn who_waits_is_told_once_the_ledger_is_there() {
        let (marks, shard) = (Watermarks::default(), shard());
        let (mut fifth, mut seventh) = (pin!(marks.wait(&shard, at(1, 5))), pin!(marks.wait(&shard, at(1, 7))));
        assert!(poll(fifth.as_mut()).is_pending() && poll(seventh.as_mut()).is_pending());
        marks.reach(&shard, at(1, 6), 0);
        assert_eq!(poll(fifth.as_mut()), Poll::Ready(Ok(())));
        assert!(poll(seventh.as_mut()).is_pending());
        assert_eq!(poll(pin!(marks.wait(&shard, at(1, 6)))), Poll::Ready(Ok(())), "it is there already");
        assert_eq!(poll(pin!(marks.wait(&shard, at(9, 0)))), Poll::Ready(Ok(())), "nothing was decided yet");
        marks.stop(&shard, "it is so");
        assert_eq!(poll(seventh.as_mut()), Poll::Ready(Err(Stopped("it is so".to_owned()))));
        assert_eq!(poll(pin!(marks.wait(&shard, at(1, 6)))), Poll::Ready(Ok(())), "what is there stays there");
        assert!(poll(pin!(marks.wait(&shard, at(1, 7)))).is_ready(), "what is not never will be");
    }

    #[test]
    fn who_gives_up_leaves_no_place_behind() {
        let (marks, shard) = (Watermarks::default(), shard());
        {
            let mut waiting = pin!(marks.wait(&shard, at(1, 5)));
            assert!(poll(waiting.as_mut()).is_pending());
            assert_eq!(marks.inner().shards[&shard].waiting.len(), 1);
        }
        assert!(marks.inner().shards[&shard].waiting.is_empty());
    }

    #[test]
    fn what_is_at_risk_is_counted() {
        let (marks, shard) = (Watermarks::default(), shard());
        marks.decided(&shard, at(1, 8), 500);
        marks.decided(&shard, at(1, 9), 2_000);
        assert_eq!(marks.lag_ms(6_000), 5_500);
        marks.reach(&shard, at(1, 4), 900);
        let status = marks.status(6_000);
        assert_eq!((status.lag_ms, status.shards[0].entries_at_risk), (5_100, 5), "the next one is no older than the last that is there");
        marks.reach(&shard, at(1, 9), 2_000);
        assert_eq!((marks.lag_ms(6_000), marks.status(0).shards[0].entries_at_risk), (0, 0));
        // What was read and not written counts as well, whoever decided it.
        marks.read(1_000);
        marks.read(3_000);
        assert_eq!(marks.lag_ms(6_000), 5_000);
        marks.level();
        assert_eq!(marks.lag_ms(6_000), 0);
    }
}
