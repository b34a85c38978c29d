//! What is in a backup: lines of text that a person can read, with a checksum at the end.
//!
//! ```text
//! nevertwice backup
//! format 2
//! journal 0123456789abcdef
//! epoch 3
//! batch 4182 crc 1a2b3c4d
//! taken_at_ms 1790000000000
//! snapshot 4000 bytes 81920
//! segment 7 first 4000 last 4182 bytes 749568
//! audit after 0
//! audit-file 1 upto 4100 bytes 12288 sha256 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
//! note person-key.check 6162630a
//! shard market/cup 3-90125 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
//! check 5e6f7081
//! ```
//!
//! What it does not name does not count, whatever else lies in the folder.

use std::fmt::Write as _;
use std::io;
use std::str::FromStr;

use nevertwice_core::{Position, ShardId};

use super::error::BackupError;
use crate::error::IoFailure;
use crate::folder::{JournalId, NOTE_BYTES_MAX, remove_if_there, write_small};
use crate::journal::Extent;
use crate::source::Note;
use crate::storage::{CLAIM_FILE, Storage};

const NAME: &str = "backup.manifest";
/// There from when a first backup begins until its manifest is.
const BEGUN: &str = "backup.begun";
const BEGUN_NEW: &str = "backup.begun.tmp";
const FIRST_LINE: &str = "nevertwice backup";
/// The newest format of a manifest that this version reads, and the one that it writes. The first one knows no audit.
const FORMAT: u32 = 2;

/// The most characters of a bad line that are shown.
const SHOWN_MAX: usize = 80;

/// A snapshot in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// The last batch in it.
    pub batch: u64,
    /// Its length.
    pub bytes: u64,
}

/// What operators did up to the manifest's batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAudit {
    /// It begins after this batch of the journal; 0: with the first one.
    pub after: u64,
    /// Its files, in order. What was done in batches behind the last one's is nothing.
    pub files: Vec<StoredAuditFile>,
}

/// A file of the audit in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAuditFile {
    /// Its number.
    pub number: u64,
    /// The last batch that it covers.
    pub upto: u64,
    /// How much of it counts.
    pub bytes: u64,
    /// The SHA-256 of that, in hexadecimal digits.
    pub hash: String,
}

/// A shard at the end of a backup or of what was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardAt {
    /// Which.
    pub shard: ShardId,
    /// The position of its last entry.
    pub position: Position,
    /// Its state hash there, as text.
    pub hash: String,
}

/// What is in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The journal's number.
    pub journal: JournalId,
    /// The highest epoch up to that batch.
    pub epoch: u32,
    /// Up to which batch it counts.
    pub batch: u64,
    /// The checksum of that batch's frame.
    pub crc: u32,
    /// When it was taken, in milliseconds by the clock of the server that was backed up; 0 for a stopped folder.
    pub taken_at_ms: i64,
    /// The snapshots, the oldest first.
    pub snapshots: Vec<StoredSnapshot>,
    /// The segments, in order, each up to where it counts.
    pub segments: Vec<Extent>,
    /// What operators did; none where the source did not give it, as in backups of earlier versions.
    pub audit: Option<StoredAudit>,
    /// Small files that go with the data.
    pub notes: Vec<Note>,
    /// The shards, in the order of their names.
    pub shards: Vec<ShardAt>,
}

/// Whether the folder is a backup, finished or not.
pub(crate) fn is_backup(storage: &dyn Storage) -> Result<bool, IoFailure> {
    let names = storage.list().map_err(IoFailure::of("listing", ""))?;
    Ok(names.iter().any(|name| name == NAME || name == BEGUN))
}

impl Manifest {
    /// The manifest of a backup; `None` if the folder has none.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or a newer version wrote it.
    pub fn read(storage: &dyn Storage) -> Result<Option<Manifest>, BackupError> {
        match storage.read(NAME) {
            Ok(bytes) => Manifest::parse(&bytes).map(Some).map_err(|what| BackupError::invalid(format!("its file {NAME:?} {what}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(IoFailure::new("reading", NAME, error).into()),
        }
    }

    /// Writes it, whole or not at all. All that it names is durable by now.
    pub(crate) fn write(&self, storage: &dyn Storage) -> Result<(), IoFailure> {
        write_small(storage, NAME, self.text().as_bytes())?;
        remove_if_there(storage, BEGUN)
    }

    /// Marks a folder in which a first backup begins; `false` if it holds something else than an unfinished one.
    pub(crate) fn begin(storage: &dyn Storage) -> Result<bool, IoFailure> {
        let names = storage.list().map_err(IoFailure::of("listing", ""))?;
        if !names.iter().any(|name| name == BEGUN) {
            if names.iter().any(|name| name != CLAIM_FILE && name != BEGUN_NEW) {
                return Ok(false);
            }
            write_small(storage, BEGUN, b"a first backup has begun; without a manifest nothing here counts\n")?;
        }
        Ok(true)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{FIRST_LINE}\nformat {FORMAT}\njournal {}\nepoch {}", self.journal, self.epoch);
        let _ = writeln!(text, "batch {} crc {:08x}\ntaken_at_ms {}", self.batch, self.crc, self.taken_at_ms);
        for StoredSnapshot { batch, bytes } in &self.snapshots {
            let _ = writeln!(text, "snapshot {batch} bytes {bytes}");
        }
        for Extent { segment, first_batch, last_batch, bytes } in &self.segments {
            let _ = writeln!(text, "segment {segment} first {first_batch} last {last_batch} bytes {bytes}");
        }
        if let Some(StoredAudit { after, files }) = &self.audit {
            let _ = writeln!(text, "audit after {after}");
            for StoredAuditFile { number, upto, bytes, hash } in files {
                let _ = writeln!(text, "audit-file {number} upto {upto} bytes {bytes} sha256 {hash}");
            }
        }
        for Note { name, bytes } in &self.notes {
            let _ = write!(text, "note {name} ");
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push('\n');
        }
        for ShardAt { shard, position, hash } in &self.shards {
            let _ = writeln!(text, "shard {shard} {position} {hash}");
        }
        let check = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "check {check:08x}");
        text
    }
}

impl Manifest {
    /// Reads a manifest. The error says what is wrong with it, after "its file".
    pub(crate) fn parse(bytes: &[u8]) -> Result<Manifest, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is not text")?;
        let body = text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n')).ok_or("is cut short")?;
        let (body, last) = (&text[..body.0.len() + 1], body.1);
        let mut lines = body.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err("is no manifest of a backup".to_owned());
        }
        // A newer format is told from damage before anything else.
        let format: u32 = field(lines.next(), "format")?;
        if !(1..=FORMAT).contains(&format) {
            return Err(format!("has format {format}, and this version reads up to {FORMAT}"));
        }
        let check = last.strip_prefix("check ").and_then(hex).ok_or("has no checksum")?;
        if check != crc32c::crc32c(body.as_bytes()) {
            return Err("is damaged: its checksum is wrong".to_owned());
        }
        let journal = field(lines.next(), "journal")?;
        let epoch = field(lines.next(), "epoch")?;
        let (batch, crc) = match words(lines.next().unwrap_or_default()).as_slice() {
            ["batch", batch, "crc", crc] => (number(batch)?, hex(crc).ok_or("has a bad checksum of a batch")?),
            _ => return Err("names no batch".to_owned()),
        };
        let taken_at_ms = field(lines.next(), "taken_at_ms")?;
        let mut manifest = Manifest {
            journal,
            epoch,
            batch,
            crc,
            taken_at_ms,
            snapshots: Vec::new(),
            segments: Vec::new(),
            audit: None,
            notes: Vec::new(),
            shards: Vec::new(),
        };
        for line in lines {
            manifest.take(line)?;
        }
        manifest.check()?;
        Ok(manifest)
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        match words(line).as_slice() {
            ["snapshot", batch, "bytes", bytes] => {
                self.snapshots.push(StoredSnapshot { batch: number(batch)?, bytes: number(bytes)? });
            }
            ["segment", segment, "first", first, "last", last, "bytes", bytes] => self.segments.push(Extent {
                segment: number(segment)?,
                first_batch: number(first)?,
                last_batch: number(last)?,
                bytes: number(bytes)?,
            }),
            ["audit", "after", after] if self.audit.is_none() => {
                self.audit = Some(StoredAudit { after: number(after)?, files: Vec::new() });
            }
            ["audit-file", file, "upto", upto, "bytes", bytes, "sha256", hash] => {
                let audit = self.audit.as_mut().ok_or("names a file of an audit before the audit")?;
                let (number, upto, bytes) = (number(file)?, number(upto)?, number(bytes)?);
                audit.files.push(StoredAuditFile { number, upto, bytes, hash: (*hash).to_owned() });
            }
            ["note", name, digits] if is_note(name) => {
                let bytes = bytes_of(digits).ok_or_else(|| format!("has a bad note {}", shown(name)))?;
                self.notes.push(Note { name: (*name).to_owned(), bytes });
            }
            ["shard", shard, position, hash] => {
                let bad = |_| format!("names a shard badly: {} {}", shown(shard), shown(position));
                let position = position.parse().map_err(|_| bad(()))?;
                self.shards.push(ShardAt { shard: shard.parse().map_err(|_| bad(()))?, position, hash: (*hash).to_owned() });
            }
            _ => return Err(format!("has a line that is not understood: {}", shown(line))),
        }
        Ok(())
    }

    /// Its lines must fit together: what reads a backup rests on that.
    fn check(&self) -> Result<(), String> {
        let mut next = None;
        for extent in &self.segments {
            let follows = next.is_none_or(|next| next == extent.first_batch);
            if !follows || extent.first_batch == 0 || extent.last_batch < extent.first_batch || extent.last_batch == u64::MAX {
                return Err(format!("names batches of segment {} that do not follow", extent.segment));
            }
            next = Some(extent.last_batch + 1);
        }
        let rising = self.segments.is_sorted_by(|a, b| a.segment < b.segment) && self.snapshots.is_sorted_by(|a, b| a.batch < b.batch);
        let ends = next.map_or(0, |next| next - 1) == self.batch;
        let begins = match (self.segments.first(), self.snapshots.first()) {
            (None, oldest) => oldest.is_none(),
            (Some(first), _) if first.first_batch == 1 => true,
            (Some(first), oldest) => oldest.is_some_and(|oldest| oldest.batch >= first.first_batch),
        };
        let within = self.snapshots.last().is_none_or(|newest| newest.batch <= self.batch);
        let audit_fits = self.audit.as_ref().is_none_or(|StoredAudit { after, files }| {
            let rising = files.is_sorted_by(|a, b| a.number < b.number && a.upto < b.upto);
            let last = files.last().map_or(*after, |last| last.upto);
            rising && last <= self.batch && files.first().is_none_or(|first| first.upto > *after)
        });
        if !audit_fits {
            return Err("names an audit that does not fit the segments".to_owned());
        }
        if rising && ends && begins && within { Ok(()) } else { Err("names segments and snapshots that do not fit together".to_owned()) }
    }
}

/// What may be written beside a restored journal: nothing that leads out of the folder or takes another file's name.
pub(crate) fn is_note(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.'));
    plain
        && (1..=64).contains(&name.len())
        && !name.starts_with('.')
        && !name.starts_with("backup.")
        && !name.ends_with(".tmp")
        && name.contains('.')
}

/// The beginning of what somebody else wrote, on one line.
fn shown(text: &str) -> String {
    let first: String = text.chars().take(SHOWN_MAX).collect();
    format!("{first:?}")
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn field<T: FromStr>(line: Option<&str>, name: &str) -> Result<T, String> {
    let value = line.and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).ok_or_else(|| format!("names no {name}"))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("has {} where a number belongs", shown(text)))
}

fn hex(text: &str) -> Option<u32> {
    let plain = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || digits.len() > 2 * NOTE_BYTES_MAX || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}
