//! The frames and the states of a backup, by its manifest and by nothing else that lies in the folder.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::audit::read_audit;
use super::error::BackupError;
use super::manifest::{Manifest, ShardAt, StoredSnapshot};
use crate::audit::AuditFrame;
use crate::chance::{SystemChance, draw_seed};
use crate::journal::{Extent, Frame, SegmentReader};
use crate::snapshot;
use crate::states::States;
use crate::storage::Storage;

/// A backup, opened for reading.
pub struct BackupReader {
    storage: Arc<dyn Storage>,
    manifest: Manifest,
}

/// Where all shards are, with their state hashes, in the order of their names. It walks all states.
pub fn shards_at(states: &States) -> Vec<ShardAt> {
    let at = |state: &nevertwice_core::State| ShardAt {
        shard: state.shard().clone(),
        position: state.position(),
        hash: state.state_hash().to_string(),
    };
    states.shards().map(at).collect()
}

impl BackupReader {
    /// Opens a backup by its manifest.
    ///
    /// # Errors
    /// If the folder is no backup, or its manifest is damaged.
    pub fn open(storage: Arc<dyn Storage>) -> Result<BackupReader, BackupError> {
        match Manifest::read(storage.as_ref())? {
            Some(manifest) => Ok(BackupReader { storage, manifest }),
            None => Err(BackupError::invalid("it has no manifest: no backup into it was ever finished")),
        }
    }

    pub(crate) fn with(storage: Arc<dyn Storage>, manifest: Manifest) -> BackupReader {
        BackupReader { storage, manifest }
    }

    /// What is in it.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(crate) fn into_manifest(self) -> Manifest {
        self.manifest
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The first batch at which a restored folder can end.
    pub(crate) fn first_end(&self) -> u64 {
        match self.manifest.segments.first() {
            Some(extent) if extent.first_batch > 1 => self.manifest.snapshots.first().map_or(0, |oldest| oldest.batch),
            _ => 0,
        }
    }

    /// The snapshots at or before a batch, the newest first; the state of nothing where the journal is whole.
    pub(crate) fn starts(&self, upto: u64) -> Vec<Option<StoredSnapshot>> {
        let before = self.manifest.snapshots.iter().rev().filter(|snapshot| snapshot.batch <= upto);
        let mut starts: Vec<Option<StoredSnapshot>> = before.copied().map(Some).collect();
        if self.manifest.segments.first().is_none_or(|extent| extent.first_batch == 1) {
            starts.push(None);
        }
        starts
    }

    /// The states at a start, and the batch that they are after.
    pub(crate) fn load(&self, start: Option<StoredSnapshot>) -> Result<(States, u64), BackupError> {
        let Some(StoredSnapshot { batch, bytes }) = start else { return Ok((States::new(draw_seed(&SystemChance)?), 0)) };
        let name = snapshot::snapshot_name(batch);
        let bad = |what: String| BackupError::invalid(format!("its snapshot {name}: {what}"));
        let verified = snapshot::verify(self.storage.as_ref(), self.manifest.journal, batch)?.map_err(bad)?;
        if verified.bytes != bytes {
            return Err(bad(format!("it has {} bytes, and the manifest says {bytes}", verified.bytes)));
        }
        let states = States::load(self.storage.as_ref(), self.manifest.journal, batch, draw_seed(&SystemChance)?)?.map_err(bad)?;
        // What follows the snapshot must be what followed it then.
        self.frames(batch - 1, batch, |frame| {
            if frame.crc == verified.floor.crc {
                return Ok(ControlFlow::Break(()));
            }
            Err(bad("it belongs to another history than the segments".to_owned()))
        })?;
        Ok((states, batch))
    }

    /// Hands what operators did to `take`, frame by frame, in order, each checked. Returns the checksum of the last; 0 for none.
    pub(crate) fn audit(&self, take: impl FnMut(&AuditFrame<'_>) -> Result<(), BackupError>) -> Result<u32, BackupError> {
        read_audit(self.storage.as_ref(), &self.manifest, take)
    }

    /// The states at the manifest's batch, from the newest snapshot on, compared with what the manifest says.
    pub(crate) fn verified_states(&self, mut progress: impl FnMut(u64)) -> Result<States, BackupError> {
        let batch = self.manifest.batch;
        let (mut states, after) = self.load(self.starts(batch).first().copied().flatten())?;
        self.frames(after, batch, |frame| {
            states.apply(frame, |_, _| {})?;
            progress(frame.raw.len() as u64);
            Ok(ControlFlow::Continue(()))
        })?;
        let found = shards_at(&states);
        match self.manifest.shards.iter().zip(&found).find(|(said, found)| said != found) {
            None if found.len() == self.manifest.shards.len() => Ok(states),
            Some((said, found)) => Err(BackupError::invalid(format!(
                "it makes {} at {} with hash {}, and its manifest says {} at {} with hash {}",
                found.shard, found.position, found.hash, said.shard, said.position, said.hash
            ))),
            None => {
                let (found, said) = (found.len(), self.manifest.shards.len());
                Err(BackupError::invalid(format!("it makes {found} shards, and its manifest says {said}")))
            }
        }
    }

    /// Hands the frames after `after` and up to `upto` to `take`, in order, each checked, until it says that it has enough.
    pub(crate) fn frames(
        &self,
        after: u64,
        upto: u64,
        mut take: impl FnMut(&Frame<'_>) -> Result<ControlFlow<()>, BackupError>,
    ) -> Result<(), BackupError> {
        let mut link: Option<(u64, u32)> = None;
        for extent in self.manifest.segments.iter().filter(|extent| extent.last_batch > after) {
            if extent.first_batch > upto {
                break;
            }
            let mut segment = SegmentReader::open(self.storage.as_ref(), extent.segment, self.manifest.journal)?;
            let (mut offset, mut expected) = (0, extent.first_batch);
            while expected <= extent.last_batch.min(upto) {
                let bad = || BackupError::invalid(format!("segment {} is damaged at byte {offset}: batch {expected}", extent.segment));
                let (header, frame) = segment.frame_at(offset)?.ok_or_else(bad)?;
                let end = header.end(offset);
                let links = link.is_none_or(|(batch, crc)| batch + 1 == frame.batch && crc == frame.crc_before);
                if frame.batch != expected || !links || end > extent.bytes {
                    return Err(bad());
                }
                link = Some((frame.batch, frame.crc));
                if frame.batch > after && take(&frame)?.is_break() {
                    return Ok(());
                }
                offset = end;
                expected += 1;
            }
        }
        let last = self.manifest.segments.last().map(|extent| (extent.last_batch, self.manifest.crc));
        if upto >= self.manifest.batch && link.is_some() && link != last {
            return Err(BackupError::invalid("its last batch is not the one that its manifest names"));
        }
        Ok(())
    }

    /// The manifest without its last batch, for who has to go back one: the server had not been sure of it.
    pub(crate) fn without_last(&self) -> Result<Option<(Vec<Extent>, u64, u32)>, BackupError> {
        let mut segments = self.manifest.segments.clone();
        let Some(last) = segments.pop() else { return Ok(None) };
        let Some(before) = last.last_batch.checked_sub(1).filter(|before| *before > 0) else { return Ok(None) };
        let (mut crc, mut end) = (None, None);
        self.frames(last.last_batch.saturating_sub(2), last.last_batch, |frame| {
            if frame.batch == before {
                crc = Some(frame.crc);
            } else if frame.batch == last.last_batch {
                end = Some(frame.offset);
                crc = crc.or(Some(frame.crc_before));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let (Some(crc), Some(end)) = (crc, end) else { return Ok(None) };
        if last.first_batch < last.last_batch {
            segments.push(Extent { last_batch: before, bytes: end, ..last });
        }
        Ok(Some((segments, before, crc)))
    }
}
