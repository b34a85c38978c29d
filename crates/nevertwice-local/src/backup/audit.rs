//! What operators did, in a backup: files of frames, as in a data folder, each with how much of it counts and its hash.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::error::BackupError;
use super::manifest::{Manifest, StoredAudit, StoredAuditFile};
use crate::audit::{AuditFrame, AuditStream, Facts, FrameWriter, audit_name, audit_number};
use crate::error::IoFailure;
use crate::folder::JournalId;
use crate::storage::Storage;

/// A file of a backup is not begun over this length: it is written again with what comes behind it.
const FILE_BYTES: u64 = 4 << 20;

/// The audit of a backup as far as it has come.
pub(super) struct BackupAudit {
    /// It begins after this batch.
    after: u64,
    /// The last batch that a frame covers. What happened later is in `facts`.
    written: u64,
    facts: Facts,
    writer: FrameWriter,
}

impl BackupAudit {
    /// A writer for a backup that begins, or begins anew beside the one that still counts.
    pub(super) fn writer(folder: &Arc<dyn Storage>, id: JournalId) -> Result<FrameWriter, IoFailure> {
        let names = folder.list().map_err(IoFailure::of("listing", ""))?;
        let last = names.iter().filter_map(|name| audit_number(name)).max().unwrap_or(0);
        Ok(FrameWriter::after(Arc::clone(folder), id, FILE_BYTES, last, 0))
    }

    /// Begins after that batch; everything up to `written` is in frames of this writer.
    pub(super) fn new(after: u64, written: u64, writer: FrameWriter) -> BackupAudit {
        BackupAudit { after, written, facts: Facts::default(), writer }
    }

    /// Goes on with what a manifest names, once that was checked.
    pub(super) fn going_on(folder: &Arc<dyn Storage>, id: JournalId, stored: &StoredAudit, crc: u32) -> BackupAudit {
        let last = stored.files.last();
        let (number, upto, bytes) = last.map_or((0, stored.after, 0), |file| (file.number, file.upto, file.bytes));
        let writer = FrameWriter::after(Arc::clone(folder), id, FILE_BYTES, number, crc).going_on(bytes);
        BackupAudit::new(stored.after, upto, writer)
    }

    /// What operators did in batches that come.
    pub(super) fn facts(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// Makes all of it durable that came up to a batch, and says what is there. `known` is what a manifest named before.
    pub(super) fn write(&mut self, storage: &dyn Storage, known: Option<&StoredAudit>, batch: u64) -> Result<StoredAudit, IoFailure> {
        if !self.facts.is_empty() {
            self.writer.write(self.written, batch, &self.facts)?;
            (self.facts, self.written) = (Facts::default(), batch);
        }
        let mut files: Vec<StoredAuditFile> = known.map_or_else(Vec::new, |known| known.files.clone());
        for &(number, upto, bytes) in self.writer.written() {
            files.retain(|file| file.number != number);
            files.push(StoredAuditFile { number, upto, bytes, hash: hash_of(storage, number, bytes)? });
        }
        Ok(StoredAudit { after: self.after, files })
    }
}

/// Hands the frames of a backup's audit to `take`, in order, each checked. Returns the checksum of the last; 0 for none.
pub(super) fn read_audit(
    storage: &dyn Storage,
    manifest: &Manifest,
    mut take: impl FnMut(&AuditFrame<'_>) -> Result<(), BackupError>,
) -> Result<u32, BackupError> {
    let Some(StoredAudit { after, files }) = &manifest.audit else { return Ok(0) };
    let mut before = (*after, 0);
    for file in files {
        let name = audit_name(file.number);
        let bad = |what: &str| BackupError::invalid(format!("its file {name}: {what}"));
        let bytes = match storage.read(&name) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(bad("it is missing")),
            Err(error) => return Err(IoFailure::new("reading", &name, error).into()),
        };
        let len = usize::try_from(file.bytes).unwrap_or(usize::MAX);
        let bytes = bytes.get(..len).ok_or_else(|| bad("it is cut short"))?;
        if digest(bytes) != file.hash {
            return Err(bad("its hash is not the one that the manifest names: it is damaged, or of another backup"));
        }
        let mut stream = AuditStream::of_file(bytes, manifest.journal, before);
        for frame in stream.by_ref() {
            take(&frame.map_err(|error| bad(&error.to_string()))?)?;
        }
        before = stream.before().unwrap_or(before);
        if before.0 != file.upto {
            return Err(bad(&format!("it ends with batch {}, and the manifest says {}", before.0, file.upto)));
        }
    }
    Ok(before.1)
}

fn hash_of(storage: &dyn Storage, number: u64, bytes: u64) -> Result<String, IoFailure> {
    let name = audit_name(number);
    let whole = storage.read(&name).map_err(IoFailure::of("reading", &name))?;
    // One that is shorter than it was written is found when all is read back.
    let len = usize::try_from(bytes).unwrap_or(usize::MAX).min(whole.len());
    Ok(digest(&whole[..len]))
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
