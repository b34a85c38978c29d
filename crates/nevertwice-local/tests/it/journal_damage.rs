//! Where damage ends and the torn tail begins.

use std::sync::Arc;

use nevertwice_local::error::OpenError;
use nevertwice_local::folder::Folder;
use nevertwice_local::journal::{Floor, FrameRef, Recovery};
use nevertwice_local::storage::Storage;
use nevertwice_testkit::storage::MemoryStorage;

use crate::support::{Random, append, crc32c, open, payload};

fn name(segment: u64) -> String {
    format!("journal-{segment:020}.segment")
}

/// A stopped folder with some batches over several segments, and where its frames lie.
fn written(seed: u64, batches: usize) -> (MemoryStorage, Vec<FrameRef>) {
    let storage = MemoryStorage::new(seed);
    let mut random = Random(seed);
    {
        let mut opened = open(&storage).unwrap();
        for number in 0..batches {
            append(&mut opened.journal, &payload(1, number, &mut random)).unwrap();
        }
    }
    let folder = Folder::claim(Arc::new(storage.clone())).unwrap();
    let recovery = Recovery::scan(Arc::clone(folder.storage()), folder.id(), Floor::default()).unwrap();
    let frames = recovery.frames().to_vec();
    (storage, frames)
}

#[test]
fn a_flipped_bit_in_a_durable_frame_is_damage_at_its_place() {
    let (storage, frames) = written(1, 14);
    assert!(frames.last().unwrap().segment > frames[0].segment, "more than one segment");
    let mut random = Random(2);
    for frame in &frames[..frames.len() - 1] {
        let bytes = storage.read(&name(frame.segment)).unwrap();
        let used = bytes[frame.offset as usize..frame.end as usize].iter().rposition(|byte| *byte != 0).unwrap();
        for at in [0, 5, 8, 20, 25, 35, 41, 46, 49, 55, 62, used.min(64), used, random.below(used as u64) as usize] {
            let storage = storage.fork(3);
            storage.flip(&name(frame.segment), frame.offset as usize + at, 1 << random.below(8));
            match open(&storage).map(|_| ()) {
                Err(OpenError::Damage(damage)) => {
                    assert_eq!((damage.segment, damage.offset), (frame.segment, frame.offset), "byte {at}: {damage}");
                }
                other => panic!("batch {}, byte {at}: {other:?}", frame.batch),
            }
        }
    }
}

#[test]
fn a_flip_in_the_last_frame_is_a_torn_tail_unless_the_journal_was_closed() {
    let (storage, frames) = written(4, 5);
    let last = frames.last().unwrap();
    let torn = storage.fork(1);
    torn.flip(&name(last.segment), last.offset as usize + 70, 1);
    let opened = open(&torn).unwrap();
    assert_eq!(opened.kept.len(), 4);
    assert!(opened.report.cut_bytes > 0);

    let closed = storage.fork(2);
    open(&closed).unwrap().journal.close().unwrap();
    let folder = Folder::claim(Arc::new(closed.clone())).unwrap();
    let recovery = Recovery::scan(Arc::clone(folder.storage()), folder.id(), Floor::default()).unwrap();
    let last = *recovery.frames().iter().rfind(|frame| frame.entries > 0).unwrap();
    drop(folder);
    closed.flip(&name(last.segment), last.offset as usize + 70, 1);
    assert!(matches!(open(&closed).map(|_| ()), Err(OpenError::Damage(_))));
}

#[test]
fn a_missing_segment_is_damage_at_its_beginning() {
    let (storage, frames) = written(5, 16);
    let segments: Vec<u64> = {
        let mut all: Vec<u64> = frames.iter().map(|frame| frame.segment).collect();
        all.dedup();
        all
    };
    assert!(segments.len() > 3);
    for segment in &segments[..segments.len() - 1] {
        let storage = storage.fork(1);
        storage.remove(&name(*segment)).unwrap();
        assert!(matches!(open(&storage).map(|_| ()), Err(OpenError::Damage(_))), "segment {segment}");
    }
    for segment in &segments[..segments.len() - 1] {
        let storage = storage.fork(1);
        storage.truncate(&name(*segment), 20).unwrap();
        match open(&storage).map(|_| ()) {
            Err(OpenError::Damage(damage)) => {
                assert_eq!((damage.segment, damage.offset), (*segment, 0))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_torn_tail_is_cut_even_if_good_frames_follow_and_never_comes_back() {
    // A disc may keep a later write and lose an earlier one. Here the last two frames were written by a writer that
    // did not wait (so the last names neither durable), and the first of the two is torn.
    let (storage, frames) = written(6, 6);
    let (torn, follows) = (frames[5], frames[6]);
    let segment = name(torn.segment);
    assert_eq!(torn.segment, follows.segment);
    let mut bytes = storage.read(&segment).unwrap();
    let at = follows.offset as usize;
    let len = u32::from_le_bytes(bytes[at + 44..at + 48].try_into().unwrap()) as usize;
    bytes[at + 32..at + 40].copy_from_slice(&(torn.batch - 1).to_le_bytes());
    let crc = crc32c(&[&bytes[at..at + 60], &bytes[at + 64..at + 64 + len]].concat());
    bytes[at + 60..at + 64].copy_from_slice(&crc.to_le_bytes());
    bytes[torn.offset as usize + 65] ^= 1;
    storage.put(&segment, &bytes);

    let mut opened = open(&storage).unwrap();
    assert_eq!(opened.kept.len(), 4, "two of six were cut");
    assert_eq!(opened.report.cut_frames, 1, "the good frame behind the torn one");
    assert!(opened.report.cut_bytes > 4096);
    let before = opened.kept.clone();
    append(&mut opened.journal, b"new").unwrap();
    drop(opened);
    for _ in 0..3 {
        let opened = open(&storage).unwrap();
        assert_eq!(opened.kept[..4], before[..]);
        assert_eq!(opened.kept[4..], [b"new".to_vec()]);
        assert_eq!(opened.report.cut_bytes, 0);
    }
}

#[test]
fn frames_of_another_folder_count_for_nothing() {
    let (storage, frames) = written(8, 4);
    let (other, _) = written(9, 6);
    let last = frames.last().unwrap().segment;
    storage.put(&name(last + 1), &other.read(&name(1)).unwrap());
    let opened = open(&storage).unwrap();
    assert_eq!(opened.kept.len(), 4);
    assert!(opened.report.cut_bytes > 0);
}

#[test]
fn any_bytes_in_a_segment_are_an_error_or_a_cut_never_a_panic() {
    let (storage, frames) = written(10, 8);
    let all = open(&storage.fork(0)).unwrap().kept;
    for seed in 0..400 {
        let storage = storage.fork(seed);
        let mut random = Random(seed);
        let frame = frames[random.below(frames.len() as u64) as usize];
        let segment = name(frame.segment);
        let mut bytes = storage.read(&segment).unwrap();
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => bytes[frame.offset as usize + 44..frame.offset as usize + 48].fill(0xff),
            2 => {
                let at = random.below(bytes.len() as u64) as usize;
                let end = bytes.len().min(at + 3_000);
                for byte in &mut bytes[at..end] {
                    *byte = random.below(256) as u8;
                }
            }
            _ => {
                let at = random.below(bytes.len() as u64) as usize;
                bytes.drain(at..(at + 4096).min(frame.end as usize).max(at));
            }
        }
        storage.put(&segment, &bytes);
        match open(&storage) {
            Ok(opened) => assert_eq!(opened.kept, all[..opened.kept.len()], "seed {seed}"),
            Err(OpenError::Damage(_)) => {}
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
}

/// Nothing in the segments themselves tells that their end is gone.
#[test]
fn a_journal_that_lost_its_end_is_damaged_even_where_every_frame_that_is_left_is_good() {
    let (storage, frames) = written(11, 14);
    open(&storage).unwrap().journal.close().unwrap();
    let segments = || -> Vec<String> {
        let mut names: Vec<_> = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".segment")).collect();
        names.sort();
        names
    };
    let refused = |storage: &MemoryStorage, what: &str| match open(storage).map(|_| ()) {
        Err(OpenError::Damage(damage)) => assert!(damage.what.contains("had reached"), "{what}: {damage}"),
        other => panic!("{what}: {other:?}"),
    };
    // All segments gone, but for the marker; then the newest ones, one by one.
    let bare = storage.fork(1);
    segments().iter().for_each(|name| bare.remove(name).unwrap());
    refused(&bare, "no segments");
    let shorter = storage.fork(2);
    let mut names = segments();
    while names.len() > 1 {
        shorter.remove(&names.pop().unwrap()).unwrap();
        refused(&shorter, "without the newest segments");
    }
    // The last segment cut where a good frame begins.
    let cut = storage.fork(3);
    segments().iter().filter(|segment| **segment != name(frames[0].segment)).for_each(|segment| cut.remove(segment).unwrap());
    cut.truncate(&name(frames[0].segment), frames[0].end).unwrap();
    refused(&cut, "cut after the first frame");
    // As it was, it opens.
    open(&storage).unwrap();
}

/// Numbers are written in one way alone: what is written in another was not written by this program.
#[test]
fn names_and_texts_that_only_look_like_its_own_are_not_taken_for_them() {
    let (storage, frames) = written(12, 6);
    for stray in ["journal-+0000000000000000001.segment", "snapshot-+0000000000000000001.records", "journal-1.segment"] {
        let storage = storage.fork(1);
        storage.put(stray, b"somebody else's");
        assert_eq!(open(&storage).unwrap().kept.len(), 6, "{stray}");
        assert_eq!(storage.read(stray).unwrap(), b"somebody else's");
    }
    let last = frames.last().unwrap().batch;
    for (reach, good) in [(format!("batch {last}\n"), true), (format!("batch +{last}\n"), false), (format!("batch 0{last}\n"), false)] {
        let storage = storage.fork(2);
        storage.put("reach", reach.as_bytes());
        assert_eq!(open(&storage).is_ok(), good, "{reach:?}");
    }
    let marker = String::from_utf8(storage.read("format").unwrap()).unwrap();
    for other in [marker.replace('\n', "\r\n"), marker.clone() + "more\n", marker.to_uppercase(), marker.replace("format 1", "format +1")] {
        let storage = storage.fork(3);
        storage.put("format", other.as_bytes());
        assert!(matches!(open(&storage).map(|_| ()), Err(OpenError::Marker { .. })), "{other:?}");
    }
}

/// What is wrong with the two small files is told by their names and by what should stand there, not by a segment that there is not.
#[test]
fn damage_of_the_small_files_is_told_in_words() {
    let (storage, _) = written(13, 3);
    let told = |name: &str, text: &[u8]| {
        let storage = storage.fork(4);
        storage.put(name, text);
        open(&storage).map(|_| ()).expect_err("it is damaged").to_string()
    };
    let reach = told("reach", b"far\n");
    assert!(reach.starts_with("the file `reach`") && reach.contains("is not the line `batch` and a number"), "{reach}");
    assert!(!reach.contains("segment 0"), "{reach}");
    let short = told("reach", b"batch 99\n");
    assert!(short.contains("had reached batch 99"), "{short}");
    for (text, expected) in [
        (&b"\xff"[..], "it is not text"),
        (b"somebody else's\n", "its first line is not `nevertwice data`"),
        (b"nevertwice data\nformat x\n", "its second line is not `format` and a number"),
        (b"nevertwice data\nformat 1\njournal x\n", "its third line is not `journal` and 16 hexadecimal digits"),
        (b"nevertwice data\nformat 1\njournal 0123456789abcdef\nmore\n", "it has something beside its three lines"),
    ] {
        let format = told("format", text);
        assert!(format.starts_with("the file `format`") && format.contains(expected) && format.contains("nothing was done"), "{format}");
    }
}
