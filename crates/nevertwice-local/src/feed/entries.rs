//! The durable entries of all shards, for one follower that has to see each of them: the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nevertwice_api::encoding::decode_entry_head;
use nevertwice_api::{BoxFuture, EntryReader, EntrySource, SourceEntry, SourceFailure};
use tokio::sync::watch;

use crate::journal::{JournalCursor, JournalReader, ReadOnError};
use crate::states::entries_of;

/// What a running backend shows of its entries. While it is held, the journal is kept from where its follower is.
pub struct LocalEntries {
    reader: JournalReader,
    keep_from: Arc<AtomicU64>,
}

impl LocalEntries {
    /// From now on the journal is kept for whoever follows.
    pub(crate) fn new(reader: JournalReader, keep_from: Arc<AtomicU64>) -> LocalEntries {
        keep_from.store(0, Ordering::Relaxed);
        LocalEntries { reader, keep_from }
    }
}

impl EntrySource for LocalEntries {
    fn id(&self) -> String {
        self.reader.id().to_string()
    }

    fn open(&self, after: Option<&str>) -> Result<Box<dyn EntryReader>, SourceFailure> {
        let mut before = None;
        let cursor = match after {
            None => self.reader.cursor(self.reader.first().saturating_sub(1)).map_err(|error| failure(&error))?,
            Some(mark) => {
                let (batch, crc) = place(mark).ok_or(SourceFailure::Differs)?;
                if batch > self.reader.durable() {
                    return Err(SourceFailure::Differs);
                }
                let cursor = self.reader.cursor(batch).map_err(|error| failure(&error))?;
                // Of a frame that is gone nobody knows the checksum; then the next one tells, which carries it.
                match cursor.crc() {
                    Some(known) if known != crc => return Err(SourceFailure::Differs),
                    Some(_) => {}
                    None => before = Some(crc),
                }
                cursor
            }
        };
        let durable = self.reader.watch();
        Ok(Box::new(LocalReader { cursor, before, durable, keep_from: Arc::clone(&self.keep_from) }))
    }
}

struct LocalReader {
    cursor: JournalCursor,
    /// What the next frame must say of the one before it, where that is not there any more.
    before: Option<u32>,
    durable: watch::Receiver<u64>,
    keep_from: Arc<AtomicU64>,
}

impl EntryReader for LocalReader {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<SourceEntry>, SourceFailure> {
        let (mut entries, mut bytes_read) = (Vec::new(), 0);
        while bytes_read < bytes_max {
            let Some(frame) = self.cursor.read_next().map_err(|error| failure(&error))? else { break };
            if self.before.take().is_some_and(|before| before != frame.crc_before) {
                return Err(SourceFailure::Differs);
            }
            bytes_read += frame.payload.len();
            let unreadable = |what: String| SourceFailure::Unreadable { what: format!("batch {}: {what}", frame.batch) };
            for bytes in entries_of(frame.payload) {
                let bytes = bytes.map_err(|what| unreadable(what.to_owned()))?;
                let head = decode_entry_head(bytes).map_err(|error| unreadable(error.to_string()))?;
                entries.push(SourceEntry { head, bytes: bytes.to_vec() });
            }
        }
        Ok(entries)
    }

    fn more(&mut self) -> BoxFuture<'_, Result<(), SourceFailure>> {
        let batch = self.cursor.batch();
        Box::pin(async move {
            let reached = self.durable.wait_for(|durable| *durable > batch).await;
            reached.map(|_| ()).map_err(|_| SourceFailure::Ended)
        })
    }

    fn mark(&self) -> String {
        format!("{}:{}", self.cursor.batch(), self.cursor.crc().unwrap_or(0))
    }

    fn let_go(&mut self) {
        self.keep_from.store(self.cursor.batch() + 1, Ordering::Relaxed);
    }
}

fn place(mark: &str) -> Option<(u64, u32)> {
    let (batch, crc) = mark.split_once(':')?;
    Some((batch.parse().ok()?, crc.parse().ok()?))
}

fn failure(error: &ReadOnError) -> SourceFailure {
    match error {
        ReadOnError::Pruned { batch } => SourceFailure::Pruned { what: format!("batch {batch} of the journal") },
        ReadOnError::Open(error) => SourceFailure::Unreadable { what: error.to_string() },
    }
}
