//! A source of entries that a test writes itself, and entries for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nevertwice_api::encoding::{decode_entry_head, encode_entry};
use nevertwice_api::{BoxFuture, EntryReader, EntrySource, SourceEntry, SourceFailure};
use nevertwice_core::model::{Workload, WorkloadOptions};
use nevertwice_core::{Decision, Entry, IdempotencyKey, Position, ShardId, State};
use tokio::sync::watch;

/// A deciding place whose history a test makes up.
#[derive(Clone)]
pub(crate) struct Script {
    id: String,
    entries: Arc<Mutex<Vec<SourceEntry>>>,
    length: Arc<watch::Sender<usize>>,
    let_go: Arc<AtomicUsize>,
}

impl Script {
    pub(crate) fn new(id: &str) -> Script {
        Script { id: id.to_owned(), entries: Arc::default(), length: Arc::new(watch::Sender::new(0)), let_go: Arc::default() }
    }

    /// How many entries its follower needs no more.
    pub(crate) fn let_go(&self) -> usize {
        self.let_go.load(Ordering::SeqCst)
    }

    /// The place behind so many entries, with what tells the last of them from another history's, as a journal has its checksum.
    fn mark(&self, at: usize) -> String {
        let all = self.entries.lock().expect("nobody panics with it");
        let last = at.checked_sub(1).map_or(&[][..], |last| &all[last].bytes);
        let digest = last.iter().fold(7_u64, |digest, byte| digest.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        format!("{at} {digest}")
    }

    pub(crate) fn push<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) {
        let mut all = self.entries.lock().expect("nobody panics with it");
        all.extend(entries.into_iter().map(source_entry));
        self.length.send_replace(all.len());
    }
}

fn source_entry(entry: &Entry) -> SourceEntry {
    let mut bytes = Vec::new();
    encode_entry(entry, &mut bytes);
    SourceEntry { head: decode_entry_head(&bytes).expect("it was just encoded"), bytes }
}

impl EntrySource for Script {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn open(&self, after: Option<&str>) -> Result<Box<dyn EntryReader>, SourceFailure> {
        let at = match after {
            None => 0,
            Some(mark) => {
                let (at, _) = mark.split_once(' ').expect("a mark of this source");
                let at = at.parse().expect("a mark of this source");
                if at > *self.length.borrow() || self.mark(at) != mark {
                    return Err(SourceFailure::Differs);
                }
                at
            }
        };
        Ok(Box::new(ScriptReader { script: self.clone(), at, length: self.length.subscribe() }))
    }
}

struct ScriptReader {
    script: Script,
    at: usize,
    length: watch::Receiver<usize>,
}

impl EntryReader for ScriptReader {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<SourceEntry>, SourceFailure> {
        let all = self.script.entries.lock().expect("nobody panics with it");
        let (mut read, mut bytes) = (Vec::new(), 0);
        for entry in &all[self.at..] {
            if bytes >= bytes_max {
                break;
            }
            bytes += entry.bytes.len();
            read.push(entry.clone());
        }
        self.at += read.len();
        Ok(read)
    }

    fn more(&mut self) -> BoxFuture<'_, Result<(), SourceFailure>> {
        let at = self.at;
        Box::pin(async move { self.length.wait_for(|length| *length > at).await.map(|_| ()).map_err(|_| SourceFailure::Ended) })
    }

    fn mark(&self) -> String {
        self.script.mark(self.at)
    }

    fn let_go(&mut self) {
        self.script.let_go.store(self.at, Ordering::SeqCst);
    }
}

/// Entries of one market, as the core makes them, from its opening on.
pub(crate) fn history(seed: u64, count: usize) -> Vec<Entry> {
    let mut workload = Workload::new(seed, WorkloadOptions::default());
    let shards = workload.shards().to_vec();
    let mut states: Vec<State> = shards.iter().map(|shard| State::new(shard.clone(), 1, (3, 5))).collect();
    let mut entries = Vec::new();
    while entries.len() < count {
        let step = workload.next_step();
        let at = shards.iter().position(|shard| *shard == step.shard).expect("one of its shards");
        let decision = states[at].decide(&step.command, step.at_ms);
        if let Decision::Accepted(entry) = &decision {
            states[at].apply(entry).expect("the core's own entry fits");
            if at == 0 {
                entries.push(entry.clone());
            }
        }
        workload.observe(&step, &decision);
    }
    entries
}

/// What comes behind an entry: the same facts once more, by another intent and later.
pub(crate) fn behind(entry: &Entry, epoch: u32, key: &str, later_ms: i64) -> Entry {
    let mut next = entry.clone();
    next.position = Position { epoch, seq: entry.position.seq + 1 };
    next.intent.key = IdempotencyKey::new(key).expect("a key");
    next.at_ms += later_ms;
    next
}

pub(crate) fn shard_of(entries: &[Entry]) -> ShardId {
    entries[0].shard.clone()
}
