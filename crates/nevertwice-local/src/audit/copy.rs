//! What operators did up to a batch, out of another folder's audit or out of a journal, written again as the audit of a copy.

use nevertwice_api::Fact;
use nevertwice_api::encoding::{DecodeError, decode_fact};

use super::facts::Facts;
use super::stream::{AuditFrame, AuditStream};
use super::writer::FrameWriter;
use crate::error::OpenError;
use crate::folder::JournalId;
use crate::journal::Frame;
use crate::source::{Source, SourceError};
use crate::states::{Items, States};

/// How much is written as one frame, or a little more.
const FRAME_BYTES: usize = 64 << 10;

/// Writes the audit of a copy that ends with a batch. What other frames hold beyond that is cut off: they end where their writer
/// happened to be.
pub(crate) struct AuditCopier<'a> {
    writer: FrameWriter,
    /// The states after the last batch: an entry belongs to the copy if its shard is that far.
    states: &'a States,
    batch: u64,
    /// Everything up to here is written, and up to there it waits.
    written: u64,
    upto: u64,
    facts: Facts,
    begins_after: u64,
    entries: u64,
}

/// What was copied of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedAudit {
    /// It begins after this batch; 0: with the first one.
    pub begins_after: u64,
    /// How much operators did.
    pub entries: u64,
}

impl<'a> AuditCopier<'a> {
    /// Begins with what happened after batch `begins_after`; the copy's states are these after `batch`.
    pub(crate) fn new(writer: FrameWriter, states: &'a States, begins_after: u64, batch: u64) -> AuditCopier<'a> {
        let (written, upto) = (begins_after, begins_after);
        AuditCopier { writer, states, batch, written, upto, facts: Facts::default(), begins_after, entries: 0 }
    }

    /// Up to which batch everything was taken.
    pub(crate) fn upto(&self) -> u64 {
        self.upto
    }

    /// Takes the frame that comes next of another audit.
    pub(crate) fn take(&mut self, frame: &AuditFrame<'_>) -> Result<(), OpenError> {
        if frame.after < self.batch {
            self.take_entries(frame.payload, None)?;
            self.reach(frame.upto)?;
        }
        Ok(())
    }

    /// Takes the batch that comes next of a journal.
    pub(crate) fn take_batch(&mut self, frame: &Frame<'_>) -> Result<(), OpenError> {
        self.take_entries(frame.payload, Some(frame.batch))?;
        self.reach(frame.batch)
    }

    /// Writes what is left, up to the last batch: what was not taken of the batches before holds nothing that operators did.
    pub(crate) fn finish(mut self) -> Result<(CopiedAudit, FrameWriter), OpenError> {
        if self.written < self.batch {
            self.writer.write(self.written, self.batch, &self.facts)?;
        }
        Ok((CopiedAudit { begins_after: self.begins_after, entries: self.entries }, self.writer))
    }

    /// `batch`: the one that this is, if it is one.
    fn take_entries(&mut self, payload: &[u8], batch: Option<u64>) -> Result<(), OpenError> {
        for bytes in Items(payload) {
            let damage = |what: String| OpenError::Audit { what: format!("an entry of the audit that is copied cannot be read: {what}") };
            let fact = match bytes.map(decode_fact) {
                Ok(Ok(fact)) => fact,
                Ok(Err(DecodeError::TooNew { version, known })) => return Err(OpenError::too_new(version, known)),
                Ok(Err(error)) => return Err(damage(error.to_string())),
                Err(bad) => return Err(damage(bad.to_owned())),
            };
            match fact {
                Fact::Entry(entry) => {
                    let is_here = self.states.shard(&entry.shard).is_some_and(|state| entry.position <= state.position());
                    if !is_here || !entry.is_operators() {
                        continue;
                    }
                    self.facts.push(&entry);
                }
                Fact::Folder(fact) if fact.after.batch <= self.batch => self.facts.push_folder(&fact),
                Fact::Folder(_) => continue,
                Fact::Key(fact) => {
                    let batch = batch.unwrap_or(fact.batch);
                    if batch > self.batch {
                        continue;
                    }
                    self.facts.push_key(&fact, batch);
                }
            }
            self.entries += 1;
        }
        Ok(())
    }

    fn reach(&mut self, upto: u64) -> Result<(), OpenError> {
        self.upto = upto.min(self.batch);
        if self.facts.payload().len() >= FRAME_BYTES && self.upto > self.written {
            self.writer.write(self.written, self.upto, &self.facts)?;
            self.written = self.upto;
            self.facts = Facts::default();
        }
        Ok(())
    }
}

/// Fetches what operators did up to a batch, after which a copy's states are these. `None`: the source keeps no audit that could
/// be copied.
pub(crate) fn fetch_audit(
    source: &mut dyn Source,
    source_id: JournalId,
    writer: FrameWriter,
    states: &States,
    batch: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<(CopiedAudit, FrameWriter)>, SourceError> {
    let mut first = Some(writer);
    let mut copier: Option<AuditCopier<'_>> = None;
    let mut before = None;
    loop {
        let asked = before.map_or(0, |(upto, _)| upto);
        let frames = match source.audit(asked) {
            Ok(frames) => frames,
            Err(SourceError::NoAudit) if copier.is_none() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut stream = AuditStream::new(&frames, source_id, before);
        for frame in stream.by_ref() {
            let frame = frame?;
            if let Some(writer) = first.take() {
                copier = Some(AuditCopier::new(writer, states, frame.after, batch));
            }
            if let Some(copier) = &mut copier {
                copier.take(&frame)?;
            }
        }
        before = stream.before();
        progress(frames.len() as u64);
        match copier {
            Some(copier) if copier.upto() >= batch => return Ok(Some(copier.finish()?)),
            // What is durable there is in the audit a moment later.
            _ if frames.is_empty() => return Err(SourceError::Unreachable(format!("its audit has not come to batch {batch} yet"))),
            _ => {}
        }
    }
}
