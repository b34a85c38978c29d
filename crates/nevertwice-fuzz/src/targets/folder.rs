//! Real data folders, damaged: whatever is done to their files, they are refused with a code, or give a prefix of their history,
//! never more, and never less than is known to have been durable.

use std::sync::LazyLock;

use nevertwice_api::ErrorCode;
use nevertwice_local::fuzzing::{segment_name, segment_number};
use nevertwice_local::storage::Storage as _;
use nevertwice_testkit::storage::MemoryStorage;

use super::opened;
use crate::Verdict;
use crate::seeds::house::{House, Left};

/// The folders: left orderly, with snapshots, and killed.
static HOUSES: LazyLock<[House; 3]> =
    LazyLock::new(|| [House::build(1, Left::Stopped), House::build(2, Left::StoppedWithSnapshots), House::build(3, Left::Killed)]);

/// How many bytes say what is done once.
const STEP_BYTES: usize = 8;
/// How often something is done.
const STEPS_MAX: usize = 12;
const BLOCK: usize = 4096;

/// The input is one byte that chooses the folder, then steps of damage, 8 bytes each. Accepted: it is served in spite of them.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, script)) = bytes.split_first() else { return Verdict::Refused };
    let house = &HOUSES[usize::from(*choice) % HOUSES.len()];
    let storage = house.storage.fork(1);
    for step in script.chunks_exact(STEP_BYTES).take(STEPS_MAX) {
        damage(&storage, step);
    }
    let kept = |name: &str| storage.read(name).ok() == house.storage.read(name).ok();
    match opened::open(&storage) {
        Ok(shown) => {
            house.check_prefix(&shown);
            if kept("reach") && kept("format") {
                house.check_reached(&shown);
            }
            Verdict::Accepted
        }
        Err(code) => {
            let known = matches!(
                code,
                ErrorCode::JournalDamaged | ErrorCode::HistoryDamaged | ErrorCode::DataFolderInvalid | ErrorCode::DataTooNew
            );
            assert!(known, "{code}: damage has four codes");
            Verdict::Refused
        }
    }
}

/// Does one thing to the files.
fn damage(storage: &MemoryStorage, step: &[u8]) {
    let mut names = storage.list().expect("memory can be listed");
    names.sort();
    let pick = |number: u8| names.get(usize::from(number) % names.len().max(1));
    let (Some(name), Some(other)) = (pick(step[1]), pick(step[6])) else { return };
    let mut bytes = storage.read(name).expect("it is listed");
    let at = u32::from_le_bytes([step[2], step[3], step[4], step[5]]) as usize % (bytes.len() + 1);
    let count = usize::from(step[7]) * 37;
    let end = bytes.len().min(at + count);
    let block = at / BLOCK * BLOCK;
    match step[0] % 11 {
        0 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (step[7] % 8)),
        1 => bytes[at..end].fill(0),
        2 => bytes[at..end].fill(step[6]),
        3 => bytes.truncate(at),
        4 => return storage.remove(name).expect("it is listed"),
        5 => {
            // An older or younger block of the same file, as a disc that mixes up its sectors would have it.
            let from = usize::from(step[7]) * BLOCK;
            if from + BLOCK <= bytes.len() && block + BLOCK <= bytes.len() {
                bytes.copy_within(from..from + BLOCK, block);
            }
        }
        6 => {
            let swapped = storage.read(other).expect("it is listed");
            storage.put(other, &bytes);
            bytes = swapped;
        }
        7 => bytes.resize(bytes.len() + count, 0),
        8 => bytes = storage.read(other).expect("it is listed"),
        9 => {
            // Another number for a segment.
            let Some(number) = segment_number(name) else { return };
            let moved = segment_name(number.wrapping_add(u64::from(step[7]) % 5).wrapping_sub(2));
            return storage.rename(name, &moved).expect("it is listed");
        }
        _ => drop(bytes.drain(at..end)),
    }
    storage.put(name, &bytes);
}
