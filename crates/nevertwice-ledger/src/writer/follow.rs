//! Reads, writes, and tries again; it never skips.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{EntryReader, EntrySource, SourceEntry, SourceFailure};
use nevertwice_core::{Position, ShardId};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::plan::{Plan, plan};
use super::watermarks::Watermarks;
use crate::truth::{Double, Fence, Inserted, ShardRows, Taken};
use crate::{Database, DatabaseFailure};

/// How many rows are compared with what the ledger has of them at once.
const COMPARED_MAX: u32 = 512;

/// How long the writer waits after a failure, at first and at last.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// What tells the time, in milliseconds since 1970.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

/// How entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// About how many bytes of entries make one unit of work at most. There are fewer where fewer wait.
    pub batch_bytes_max: usize,
    /// For how long a writer that is not heard of keeps others out, in milliseconds.
    pub lease_ms: i64,
    /// How long the database may take for one thing before its reply counts as lost, in milliseconds. Longer than it lets a statement
    /// run, so that it speaks first if it can.
    pub reply_ms: u64,
    /// Whether "yes" waits for the ledger. Then a key that is remembered already stops its shard, for nobody was told of the entry;
    /// otherwise the entry is stored and counted as doubled.
    pub is_awaited: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { batch_bytes_max: 1 << 20, lease_ms: 10_000, reply_ms: 35_000, is_awaited: false }
    }
}

/// Writes what is durable at a source into the ledger, as long as it runs. One runs for each source.
pub struct LedgerWriter {
    database: Database,
    source: Arc<dyn EntrySource>,
    watermarks: Arc<Watermarks>,
    now: Now,
    options: WriterOptions,
    id: String,
    known: HashMap<ShardId, Known>,
}

/// What is known of a shard.
#[derive(Clone, Debug)]
enum Known {
    Writing(Fence),
    Stopped,
}

/// Why following ends for now.
enum Hitch {
    Database(DatabaseFailure),
    Source(SourceFailure),
    /// Somebody else writes what is left.
    Held,
}

impl From<DatabaseFailure> for Hitch {
    fn from(failure: DatabaseFailure) -> Hitch {
        Hitch::Database(failure)
    }
}

impl From<SourceFailure> for Hitch {
    fn from(failure: SourceFailure) -> Hitch {
        Hitch::Source(failure)
    }
}

/// Whoever could tell may also have gone.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

impl LedgerWriter {
    /// A writer whose database has its tables. It does nothing before it runs.
    #[must_use]
    pub fn new(database: Database, source: Arc<dyn EntrySource>, now: Now, options: WriterOptions) -> LedgerWriter {
        let id = source.id();
        LedgerWriter { database, source, watermarks: Arc::default(), now, options, id, known: HashMap::new() }
    }

    /// What it shares with those who wait.
    #[must_use]
    pub fn watermarks(&self) -> Arc<Watermarks> {
        Arc::clone(&self.watermarks)
    }

    /// Writes until it is told to stop and has written what is durable by then, or the source has ended.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut pause = PAUSE_MIN;
        loop {
            let written_before = self.watermarks.batches_written();
            let what = match self.follow(&mut stop).await {
                Ok(()) | Err(Hitch::Source(SourceFailure::Ended)) => break,
                Err(Hitch::Database(failure)) => failure.to_string(),
                Err(Hitch::Source(failure)) => format!("the entries can't be read: {failure}"),
                Err(Hitch::Held) => "another server writes a shard of this one".to_owned(),
            };
            tracing::warn!(what, "the ledger was not written; it is tried again");
            self.watermarks.failed(&what);
            // Whether a unit of work whose reply was lost is in the ledger is seen by asking for the fence again.
            self.known.retain(|_, known| matches!(known, Known::Stopped));
            if self.watermarks.batches_written() > written_before {
                pause = PAUSE_MIN;
            }
            // Told to stop, it does not insist.
            if timeout(pause, told_to_stop(&mut stop)).await.is_ok() {
                break;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        if let Err(failure) = self.reply(self.database.give_back_leases(&self.id)).await {
            tracing::warn!(%failure, "the leases of the ledger were not given back; they end by themselves");
        }
    }

    async fn follow(&mut self, stop: &mut watch::Receiver<bool>) -> Result<(), Hitch> {
        let mut reader = self.begin().await?;
        let renew_ms = self.options.lease_ms / 3;
        let renew_every = Duration::from_millis(u64::try_from(renew_ms).unwrap_or(1));
        let mut renewed_at = (self.now)();
        loop {
            // Shards without entries keep their leases too, however much comes of the others.
            if (self.now)().saturating_sub(renewed_at) >= renew_ms {
                renewed_at = (self.now)();
                self.reply(self.database.renew_leases(&self.id, self.lease_end())).await?;
            }
            let entries = reader.read(self.options.batch_bytes_max)?;
            if !entries.is_empty() {
                self.write(&entries, &mut *reader).await?;
                continue;
            }
            self.watermarks.level();
            if *stop.borrow() {
                return Ok(());
            }
            tokio::select! {
                more = reader.more() => more?,
                () = told_to_stop(stop) => {}
                () = sleep(renew_every) => {}
            }
        }
    }

    /// Opens the source where the ledger's mark of it is. If that holds, so does what the ledger has of its shards.
    async fn begin(&mut self) -> Result<Box<dyn EntryReader>, Hitch> {
        let Some(mark) = self.reply(self.database.mark_of(&self.id)).await? else {
            return Ok(self.source.open(None)?);
        };
        let mut reader = match self.source.open(Some(&mark)) {
            Ok(reader) => reader,
            Err(SourceFailure::Differs) => {
                tracing::warn!(mark, "the ledger has seen another history of this place: all entries that are left are compared");
                return Ok(self.source.open(None)?);
            }
            Err(failure) => return Err(failure.into()),
        };
        for shard in self.reply(self.database.shards_of(&self.id)).await? {
            if let Some(fence) = self.fence(&shard).await? {
                self.watermarks.reach(&shard, fence.last, i64::MIN);
            }
        }
        reader.let_go();
        Ok(reader)
    }

    /// Writes entries that came next, however long it takes.
    async fn write(&mut self, entries: &[SourceEntry], reader: &mut dyn EntryReader) -> Result<(), Hitch> {
        if let Some(first) = entries.first() {
            self.watermarks.read(first.head.at_ms);
        }
        let mut left: BTreeMap<&ShardId, Vec<&SourceEntry>> = BTreeMap::new();
        for entry in entries {
            left.entry(&entry.head.shard).or_default().push(entry);
        }
        let mut one_by_one = false;
        loop {
            left.retain(|shard, entries| !entries.is_empty() && !self.is_stopped(shard));
            if left.is_empty() {
                break;
            }
            let mut rows = Vec::new();
            let mut is_held = false;
            for (shard, entries) in &mut left {
                let Some(fence) = self.fence(shard).await? else {
                    is_held = true;
                    continue;
                };
                if let Some(why) = self.skip_known(shard, fence.last, entries).await? {
                    self.stop(shard, &why).await;
                    continue;
                }
                let Plan { entries, retention_ms, stop } = plan(&fence, entries.iter().copied());
                if entries.is_empty() {
                    if let Some(why) = stop {
                        self.stop(shard, &why).await;
                    }
                    continue;
                }
                rows.push(ShardRows { shard, fence, retention_ms, entries, doubles: Vec::new() });
                if one_by_one {
                    break;
                }
            }
            if rows.is_empty() {
                if is_held && left.values().all(|entries| !entries.is_empty()) {
                    return Err(Hitch::Held);
                }
                continue;
            }
            // The mark says that all before it is in the ledger: with a shard that stands still it stays where it is.
            let is_all = rows.iter().all(|rows| left[rows.shard].len() == rows.entries.len())
                && rows.len() == left.len()
                && !self.known.values().any(|known| matches!(known, Known::Stopped));
            match self.insert(&mut rows, is_all.then(|| reader.mark())).await {
                Ok(is_marked) => {
                    for ShardRows { shard, entries: written, .. } in &rows {
                        let written = written.len();
                        left.entry(shard).and_modify(|entries| drop(entries.drain(..written)));
                    }
                    if is_marked {
                        reader.let_go();
                    }
                }
                Err(DatabaseFailure::Refused { what }) if rows.len() == 1 => {
                    self.stop(rows[0].shard, &format!("the database refuses an entry: {what}")).await;
                }
                Err(DatabaseFailure::Refused { .. }) => one_by_one = true,
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(())
    }

    /// Writes rows in one unit of work, after dealing with keys that came twice; what is left of them is written then. Says whether the
    /// mark was moved with them.
    async fn insert(&mut self, rows: &mut Vec<ShardRows<'_>>, mark: Option<String>) -> Result<bool, DatabaseFailure> {
        let mut mark = mark;
        while !rows.is_empty() {
            match self.reply(self.database.insert(rows, &self.id, self.lease_end(), mark.as_deref())).await? {
                Inserted::All => {
                    self.is_written(rows);
                    return Ok(mark.is_some());
                }
                Inserted::Fenced(shard) => {
                    self.known.remove(&shard);
                    rows.retain(|rows| *rows.shard != shard);
                    mark = None;
                }
                Inserted::Doubled(shard) => {
                    let Some(at) = rows.iter().position(|rows| *rows.shard == shard) else { continue };
                    let doubles = self.reply(self.database.doubles_among(&shard, &rows[at].entries)).await?;
                    if doubles.is_empty() {
                        let what = format!("a key of {shard} is remembered, and then is not");
                        return Err(DatabaseFailure::Busy { what });
                    }
                    if self.options.is_awaited {
                        mark = None;
                        self.cut_before(&mut rows[at], &doubles).await;
                        rows.retain(|rows| !rows.entries.is_empty());
                    } else {
                        for Double { position, first, .. } in &doubles {
                            tracing::error!(%shard, %position, %first, "a key was accepted twice: the ledger has both");
                        }
                        rows[at].doubles = doubles;
                    }
                }
            }
        }
        Ok(false)
    }

    fn is_written(&mut self, rows: &[ShardRows<'_>]) {
        let (mut entries, mut doubled) = (0, 0);
        for ShardRows { shard, fence, retention_ms, entries: written, doubles } in rows {
            let Some(last) = written.last() else { continue };
            let fence = Fence { last: last.head.position, retention_ms: *retention_ms, ..*fence };
            if !self.is_stopped(shard) {
                self.known.insert((*shard).clone(), Known::Writing(fence));
            }
            self.watermarks.reach(shard, fence.last, last.head.at_ms);
            entries += written.len() as u64;
            doubled += doubles.len() as u64;
        }
        self.watermarks.wrote(entries, doubled);
    }

    /// Nobody was told of an entry whose key came twice, nor of what is behind it: the shard ends before it.
    async fn cut_before(&mut self, rows: &mut ShardRows<'_>, doubles: &[Double]) {
        let Some(Double { position, first, .. }) = doubles.iter().min_by_key(|double| double.position) else { return };
        rows.entries.retain(|entry| entry.head.position < *position);
        let why = format!("the key of entry {position} is remembered from entry {first}");
        self.stop(rows.shard, &why).await;
    }

    /// The fence of a shard, which is taken if it has to be; none while somebody else holds it.
    async fn fence(&mut self, shard: &ShardId) -> Result<Option<Fence>, DatabaseFailure> {
        match self.known.get(shard) {
            Some(Known::Writing(fence)) => return Ok(Some(*fence)),
            Some(Known::Stopped) => return Ok(None),
            None => {}
        }
        match self.reply(self.database.take_fence(shard, &self.id, (self.now)(), self.lease_end())).await? {
            Taken::Ours(fence) => {
                self.known.insert(shard.clone(), Known::Writing(fence));
                Ok(Some(fence))
            }
            Taken::Others { writer, expires_at } => {
                tracing::warn!(%shard, writer, expires_at, "another server writes this shard of the ledger");
                Ok(None)
            }
        }
    }

    /// Leaves out what the ledger has already, byte for byte; or says that it has something else.
    async fn skip_known(
        &self,
        shard: &ShardId,
        last: Position,
        entries: &mut Vec<&SourceEntry>,
    ) -> Result<Option<String>, DatabaseFailure> {
        while let Some(first) = entries.first().copied().filter(|entry| entry.head.position.seq <= last.seq) {
            let known = self.reply(self.database.entries_after(shard, first.head.position.seq - 1, COMPARED_MAX)).await?;
            let compared = entries.iter().zip(&known).take_while(|(entry, known)| entry.head.position.seq == known.position.seq);
            let (mut same, mut reached, mut at_ms) = (0, Position::default(), i64::MIN);
            for (entry, known) in compared {
                if entry.bytes != known.bytes {
                    let (ours, theirs) = (entry.head.position, known.position);
                    return Ok(Some(format!("the ledger has another entry {theirs} than this server has as {ours}")));
                }
                (same, reached, at_ms) = (same + 1, known.position, entry.head.at_ms);
            }
            if same == 0 {
                return Ok(Some(format!("the ledger ends at {last} and has no entry {}", first.head.position)));
            }
            entries.drain(..same);
            self.watermarks.reach(shard, reached, at_ms);
        }
        Ok(None)
    }

    async fn stop(&mut self, shard: &ShardId, why: &str) {
        tracing::error!(%shard, why, "the ledger takes nothing more of this shard");
        self.watermarks.stop(shard, why);
        if let Some(Known::Writing(fence)) = self.known.insert(shard.clone(), Known::Stopped)
            && let Err(failure) = self.reply(self.database.note_stopped(shard, fence.number, why)).await
        {
            tracing::warn!(%shard, %failure, "that was not noted in the ledger");
        }
    }

    /// Does not wait for ever: a server that is held, or behind a cable that was cut, says nothing at all.
    async fn reply<T>(&self, asked: impl Future<Output = Result<T, DatabaseFailure>>) -> Result<T, DatabaseFailure> {
        let lost = || DatabaseFailure::Lost { what: format!("nothing came within {} ms", self.options.reply_ms) };
        timeout(Duration::from_millis(self.options.reply_ms), asked).await.unwrap_or_else(|_| Err(lost()))
    }

    fn is_stopped(&self, shard: &ShardId) -> bool {
        matches!(self.known.get(shard), Some(Known::Stopped))
    }

    fn lease_end(&self) -> i64 {
        (self.now)().saturating_add(self.options.lease_ms)
    }
}
