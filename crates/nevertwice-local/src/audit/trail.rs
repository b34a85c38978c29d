//! What is in the files, and what is still to be written.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nevertwice_api::encoding::{DecodeError, decode_fact};
use nevertwice_api::{Fact, FolderFact};

use super::chain::{AuditFile, Chain, FrameRef, file_name};
use super::facts::Facts;
use super::frame::{Header, seal};
use super::writer::FrameWriter;
use crate::error::{IoFailure, OpenError};
use crate::folder::JournalId;
use crate::journal::Frame;
use crate::states::Items;
use crate::storage::Storage;

/// How much waits before it is worth a frame, which costs a sync.
const FRAME_BYTES: usize = 64 << 10;

/// How much may wait in memory while nothing can be written. What comes beyond that is left to the next start, which finds it in
/// the journal: nothing of that is removed meanwhile.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// A file is not begun over this length.
const FILE_BYTES: u64 = 64 << 20;

/// The audit of a folder. Clones are the same.
#[derive(Clone)]
pub(crate) struct Trail(Arc<Shared>);

struct Shared {
    storage: Arc<dyn Storage>,
    id: JournalId,
    known: Mutex<Known>,
    writer: Mutex<FrameWriter>,
    /// Everything up to this batch of the journal is in a frame, or waits.
    heard: AtomicU64,
    /// Nothing is written any more.
    failed: AtomicBool,
    /// Somebody has heard of it.
    is_failure_told: AtomicBool,
}

/// What readers see. What waits goes on where the last frame ends.
pub(super) struct Known {
    pub(super) frames: Vec<FrameRef>,
    /// Up to this batch everything is in frames that are durable for certain.
    pub(super) written: u64,
    pub(super) waiting: Facts,
    /// The last batch of which something waits.
    waiting_upto: u64,
    /// The last batch that some frame on the disk covers, durable or not.
    found: u64,
    /// Somebody was told that there is enough for a frame.
    is_flush_asked: bool,
    /// Something came that did not fit.
    pub(super) is_cut: bool,
}

/// Why the audit of a folder can't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrailFault(pub(crate) String);

impl Trail {
    /// Reads what the files hold, up to what is wrong with them. Writes nothing.
    ///
    /// The last frame may never have reached the disk: what it holds waits to be written again.
    pub(crate) fn read(storage: &Arc<dyn Storage>, id: JournalId) -> Result<(Trail, Option<TrailFault>), OpenError> {
        let Chain { mut frames, last_file, fault } = Chain::read(storage.as_ref(), id)?;
        let mut fault = fault.map(TrailFault);
        let mut waiting = Facts::default();
        let (mut written, mut found) = (0, 0);
        if let Some(FrameRef { header, offset }) = frames.pop() {
            match AuditFile::open(storage.as_ref(), header.file)?.payload(offset, &header)? {
                Some(payload) => waiting.extend(&payload, header.entries, (header.first_at_ms, header.last_at_ms)),
                None => fault = fault.or_else(|| Some(TrailFault(format!("{} is damaged at byte {offset}", file_name(header.file))))),
            }
            (written, found) = (header.after, header.upto);
        }
        let crc = frames.last().map_or(0, |frame| frame.header.crc);
        let known = Known { frames, written, waiting, waiting_upto: found, found, is_flush_asked: false, is_cut: false };
        let shared = Shared {
            storage: Arc::clone(storage),
            id,
            known: Mutex::new(known),
            writer: Mutex::new(FrameWriter::after(Arc::clone(storage), id, FILE_BYTES, last_file, crc)),
            heard: AtomicU64::new(found),
            failed: AtomicBool::new(false),
            is_failure_told: AtomicBool::new(false),
        };
        Ok((Trail(Arc::new(shared)), fault))
    }

    /// Compares with the journal of the folder, whose batches are these. Nothing may be missing in between, and nothing may be
    /// told that the journal has not got.
    pub(crate) fn meet(&self, first_batch: Option<u64>, last_batch: u64) -> Option<TrailFault> {
        let mut known = self.known();
        let found = known.found;
        if found > last_batch {
            return Some(TrailFault(format!("the audit tells of batch {found}, and the journal ends with batch {last_batch}")));
        }
        let first = first_batch?;
        if found == 0 {
            // Nobody kept an audit before: it begins with what there is.
            (known.written, known.found, known.waiting_upto) = (first - 1, first - 1, first - 1);
            self.0.heard.store(first - 1, Ordering::Release);
            return None;
        }
        let what = || format!("the audit ends with batch {found}, and the journal begins with batch {first}");
        (first > found + 1).then(|| TrailFault(what()))
    }

    /// The batch of the journal after which copying goes on.
    pub(crate) fn cursor(&self) -> u64 {
        self.0.heard.load(Ordering::Acquire)
    }

    /// Takes the entries of operators out of a batch of the journal, if it is one that was not taken before.
    pub(crate) fn take(&self, frame: &Frame<'_>) -> Result<(), OpenError> {
        if frame.batch <= self.cursor() {
            return Ok(());
        }
        let mut facts = Facts::default();
        for bytes in Items(frame.payload) {
            match bytes.map(decode_fact) {
                Ok(Ok(Fact::Entry(entry))) if entry.is_operators() => facts.push(&entry),
                Ok(Ok(Fact::Entry(_))) => {}
                Ok(Ok(Fact::Folder(fact))) => facts.push_folder(&fact),
                Ok(Ok(Fact::Key(fact))) => facts.push_key(&fact, frame.batch),
                Ok(Err(DecodeError::TooNew { version, known })) => return Err(OpenError::too_new(version, known)),
                // Whoever applies the batch says where it is damaged.
                Ok(Err(DecodeError::Malformed(_))) | Err(_) => break,
            }
        }
        self.hear(frame.batch, &mut facts);
        Ok(())
    }

    /// Hears what operators did in a batch that is durable, after all batches before it; true: there is enough for a frame.
    pub(crate) fn hear(&self, batch: u64, facts: &mut Facts) -> bool {
        let mut is_enough = false;
        facts.place(batch);
        if !facts.is_empty() {
            let mut known = self.known();
            if known.is_cut || known.waiting.payload().len() + facts.payload().len() > WAITING_BYTES_MAX {
                // From here on a frame would leave something out.
                known.is_cut = true;
                *facts = Facts::default();
                self.fail("what waits to be written does not fit into memory any more");
            } else {
                known.waiting.append(facts);
                known.waiting_upto = batch;
                is_enough = known.waiting.payload().len() >= FRAME_BYTES && !known.is_flush_asked;
                known.is_flush_asked |= is_enough;
            }
        }
        self.0.heard.store(batch, Ordering::Release);
        is_enough
    }

    /// Hears what was done to the folder, of which this batch tells.
    pub(crate) fn hear_folder(&self, batch: u64, fact: &FolderFact) {
        let mut facts = Facts::default();
        facts.push_folder(fact);
        self.hear(batch, &mut facts);
    }

    /// Up to this batch everything is in the files for certain: the journal may lose it.
    pub(crate) fn written(&self) -> u64 {
        self.known().written
    }

    /// Whether something waits that no file has.
    pub(crate) fn has_news(&self) -> bool {
        let known = self.known();
        known.waiting_upto > known.found
    }

    /// Whether nothing is written any more, until a restart; true once.
    pub(crate) fn take_failure(&self) -> bool {
        self.has_failed() && !self.0.is_failure_told.swap(true, Ordering::AcqRel)
    }

    fn has_failed(&self) -> bool {
        self.0.failed.load(Ordering::Acquire)
    }

    /// Writes what waits, and how far the journal has been followed. A failure is told once, and nothing is written after it; for a
    /// full disk it is tried again the next time.
    pub(crate) fn flush(&self) {
        let mut writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_failed() {
            return;
        }
        // What was heard by now waits already; what comes meanwhile may be among it, and then all before it is as well.
        let heard = self.0.heard.load(Ordering::Acquire);
        let (facts, after, upto) = {
            let mut known = self.known();
            known.is_flush_asked = false;
            let upto = heard.max(known.waiting_upto);
            if known.is_cut || upto <= known.found {
                return;
            }
            (known.waiting.clone(), known.written, upto)
        };
        match writer.write(after, upto, &facts) {
            Ok(frame) => {
                let mut known = self.known();
                known.waiting.drop_first(facts.payload().len(), facts.entries());
                (known.written, known.found) = (upto, upto);
                known.frames.push(frame);
            }
            Err(failure) if failure.source.kind() == io::ErrorKind::StorageFull => {
                tracing::warn!(%failure, "the audit is not written while the disk is full; the journal keeps what is missing");
            }
            Err(failure) => self.fail(&failure.to_string()),
        }
    }

    fn fail(&self, why: &str) {
        if !self.0.failed.swap(true, Ordering::AcqRel) {
            tracing::error!(why, "the audit is not written any more until a restart; the journal keeps what is missing, and grows");
        }
    }

    /// What readers see.
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The payload of a frame; `None` if it is not as it was written.
    pub(super) fn payload(&self, frame: &FrameRef) -> Result<Option<Vec<u8>>, IoFailure> {
        let FrameRef { header, offset } = frame;
        AuditFile::open(self.0.storage.as_ref(), header.file)?.payload(*offset, header)
    }

    /// Frames one behind the other without their padding, from the first that begins after that batch or a later one: what is in the
    /// files, and what waits, as the last one. At least one, and no more once these are so many bytes; none: nothing more is known.
    pub(crate) fn frames_after(&self, after: u64, bytes_max: usize) -> Result<Vec<u8>, OpenError> {
        let (frames, last) = {
            let known = self.known();
            let first = known.frames.partition_point(|frame| frame.header.after < after);
            // Behind what did not fit nothing is known.
            let upto = if known.is_cut { known.waiting_upto } else { self.cursor().max(known.waiting_upto) };
            let crc = known.frames.last().map_or(0, |frame| frame.header.crc);
            let waits = known.written >= after && upto > known.written;
            (known.frames[first..].to_vec(), waits.then(|| (known.written, upto, known.waiting.clone(), crc)))
        };
        let mut bytes = Vec::new();
        for frame in &frames {
            if bytes.len() >= bytes_max {
                return Ok(bytes);
            }
            let raw = AuditFile::open(self.0.storage.as_ref(), frame.header.file)?.raw(frame, self.0.id)?;
            let damaged = || OpenError::Audit { what: format!("{} is damaged at byte {}", file_name(frame.header.file), frame.offset) };
            bytes.extend_from_slice(&raw.ok_or_else(damaged)?);
        }
        if let Some((after, upto, facts, crc)) = last.filter(|_| bytes.len() < bytes_max) {
            let (frame, header) = seal(self.0.id, 0, after, upto, &facts, crc);
            bytes.extend_from_slice(&frame[..header.len()]);
        }
        Ok(bytes)
    }

    /// All frames of which something is in the files, checked; and what is wrong with any.
    pub(crate) fn check(&self) -> Result<Vec<String>, IoFailure> {
        let frames = self.known().frames.clone();
        let mut faults = Vec::new();
        for frame in &frames {
            if self.payload(frame)?.is_none() {
                let Header { file, .. } = frame.header;
                faults.push(format!("{} is damaged at byte {}", file_name(file), frame.offset));
            } else if !AuditFile::open(self.0.storage.as_ref(), frame.header.file)?.is_padded(frame)? {
                let Header { file, upto, .. } = frame.header;
                faults.push(format!("{}: what lies behind the frame up to batch {upto} was zeros, and is not", file_name(file)));
            }
        }
        Ok(faults)
    }
}
