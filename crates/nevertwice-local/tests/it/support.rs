//! What the journal's tests share.

use std::sync::Arc;

use nevertwice_local::error::{AppendError, OpenError};
use nevertwice_local::folder::Folder;
use nevertwice_local::journal::{Floor, FrameBuffer, Journal, JournalOptions, Recovery, RecoveryReport};
use nevertwice_local::storage::Storage;

/// Small segments, filled by the writer itself, so that every call has its number.
pub(crate) const SMALL: JournalOptions = JournalOptions { segment_bytes: 16 << 10, segments_ahead: 0 };

/// A folder, opened.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    pub(crate) kept: Vec<Vec<u8>>,
    pub(crate) report: RecoveryReport,
    pub(crate) _folder: Folder,
}

/// Claims, scans, replays and finishes. What is kept leaves out the seals.
pub(crate) fn open(storage: &(impl Storage + Clone)) -> Result<Opened, OpenError> {
    open_with(storage, &SMALL)
}

pub(crate) fn open_with(storage: &(impl Storage + Clone), options: &JournalOptions) -> Result<Opened, OpenError> {
    let folder = Folder::claim(Arc::new(storage.clone()))?;
    let recovery = Recovery::scan(Arc::clone(folder.storage()), folder.id(), Floor::default())?;
    let mut kept = Vec::new();
    let mut next = 1;
    recovery
        .replay(0, |frame| {
            assert_eq!(frame.batch, next, "batches have no gaps");
            next += 1;
            if frame.entries > 0 {
                kept.push(frame.payload.to_vec());
            }
            Ok::<(), OpenError>(())
        })?
        .expect("the closure never fails");
    let report = recovery.report();
    let journal = recovery.finish(options)?;
    Ok(Opened { journal, kept, report, _folder: folder })
}

/// Appends one batch of one entry.
pub(crate) fn append(journal: &mut Journal, payload: &[u8]) -> Result<u64, AppendError> {
    let mut batch = FrameBuffer::new();
    batch.push(|out| out.extend_from_slice(payload));
    journal.append(&mut batch)
}

/// A payload that says who wrote it and when, of a length between a few bytes and three blocks.
pub(crate) fn payload(life: u64, number: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = format!("life {life} number {number} ").into_bytes();
    let len = bytes.len() + random.below(3 * 4096) as usize;
    while bytes.len() < len {
        bytes.push(random.below(256) as u8);
    }
    bytes
}

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// CRC32C, bit by bit.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
    })
}
