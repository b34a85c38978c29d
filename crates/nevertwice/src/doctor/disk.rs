//! The disk: room, and how long a sync takes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use nevertwice_server::{DiskSpace, Machine as _, ThisMachine};

use super::finding::{Finding, Grade};

const SUBJECT: &str = "disk";

/// How many syncs are measured.
const SYNCS: usize = 100;

/// What is written before each: a block, as the journal writes.
const BLOCK_BYTES: usize = 4_096;

/// From here on a sync is slow.
const SLOW: Duration = Duration::from_millis(20);

/// No medium is as quick as that.
const UNLIKELY: Duration = Duration::from_micros(5);

/// Under this the next piece of the journal has no room.
const FREE_BYTES_MIN: u64 = 128 << 20;

/// Under this there is little.
const FREE_BYTES_LOW: u64 = 2 << 30;

pub(super) fn look(data: &Path, place: &Path) -> Vec<Finding> {
    let mut findings = vec![judge_room(ThisMachine::new(place).read().disk)];
    findings.push(match measure(place) {
        Ok(times) => judge_syncs(times),
        Err(error) => Finding::new(
            SUBJECT,
            Grade::Error,
            format!("{} can't be written: {error}", place.display()),
            "`serve` could not write its journal.",
            format!("let the user of the server write there, or name another folder than {} with `data`", data.display()),
        ),
    });
    findings
}

/// The times of syncs after writing a block over what is there already, like the journal does. The file has no name: whatever
/// happens, it leaves nothing.
fn measure(place: &Path) -> io::Result<Vec<Duration>> {
    let file = tempfile::tempfile_in(place)?;
    write_block(&file, 0)?;
    file.sync_all()?;
    (0..SYNCS)
        .map(|number| {
            let started = Instant::now();
            write_block(&file, number as u8)?;
            file.sync_data()?;
            Ok(started.elapsed())
        })
        .collect()
}

#[cfg(unix)]
fn write_block(file: &File, number: u8) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, &[number; BLOCK_BYTES], 0)
}

#[cfg(not(unix))]
fn write_block(mut file: &File, number: u8) -> io::Result<()> {
    use io::{Seek as _, Write as _};
    file.rewind()?;
    file.write_all(&[number; BLOCK_BYTES])
}

fn judge_syncs(mut times: Vec<Duration>) -> Finding {
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default();
    let (p50, p99) = (at(50), at(99));
    let found = format!("a sync takes {p50:.1?} (p50) and {p99:.1?} (p99) of {}", times.len());
    if p99 >= SLOW {
        Finding::new(
            SUBJECT,
            Grade::Warning,
            found,
            "Every \"yes\" waits for a sync; many commands share one, so throughput suffers less than each caller does.",
            "see what else writes to this disk (`iostat -x 1`), and choose one whose p99 is under 20 ms; a server under load measures higher",
        )
    } else if p50 < UNLIKELY {
        Finding::new(
            SUBJECT,
            Grade::Warning,
            found,
            "No medium is as quick as that: what is \"synced\" here is probably in a memory that a power cut empties.",
            "find out what this disk is: a virtual machine's with its cache set to unsafe, a memory disk, a file system mounted without barriers",
        )
    } else {
        Finding::fine(SUBJECT, found, "Quick enough for a \"yes\" within some milliseconds.")
    }
}

fn judge_room(room: Option<DiskSpace>) -> Finding {
    let Some(DiskSpace { free_bytes, size_bytes }) = room else {
        return Finding::new(
            SUBJECT,
            Grade::Note,
            "the file system does not tell how much room is left",
            "Nobody will warn before it is full.",
            "look after it by other means",
        );
    };
    let found = format!("{} of {} are free", shown(free_bytes), shown(size_bytes));
    let grade = if free_bytes < FREE_BYTES_MIN {
        Grade::Error
    } else if free_bytes < FREE_BYTES_LOW || free_bytes < size_bytes / 10 {
        Grade::Warning
    } else {
        return Finding::fine(SUBJECT, found, "There is room for the journal and two snapshots, unless your states are very large.");
    };
    let means = "Without room for its next piece of the journal the server decides nothing (`storage_full`).";
    Finding::new(SUBJECT, grade, found, means, "make room or enlarge it; never delete files of the data folder")
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
pub(super) fn shown(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{bytes} bytes"),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_judged_by_their_slowest_and_by_what_is_possible() {
        let times = |slow: u64, usual: u64| {
            let mut times = vec![Duration::from_micros(usual); 98];
            times.extend([Duration::from_micros(slow); 2]);
            judge_syncs(times).grade
        };
        assert_eq!(times(19_999, 800), Grade::Fine);
        assert_eq!(times(20_000, 800), Grade::Warning);
        assert_eq!(times(900, 4), Grade::Warning, "too good");
        assert_eq!(judge_syncs(vec![Duration::from_millis(1)]).grade, Grade::Fine);
    }

    #[test]
    fn a_sync_is_measured_and_leaves_nothing() {
        let folder = tempfile::TempDir::new().expect("a folder can be made");
        assert_eq!(measure(folder.path()).expect("it can be written").len(), SYNCS);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 0);
        assert!(measure(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn room_is_judged_by_bytes_and_by_share() {
        let grade = |free_bytes, size_bytes| judge_room(Some(DiskSpace { free_bytes, size_bytes })).grade;
        assert_eq!(grade(FREE_BYTES_MIN - 1, 1 << 40), Grade::Error);
        assert_eq!(grade(FREE_BYTES_LOW - 1, 4 << 30), Grade::Warning);
        assert_eq!(grade(99 << 30, 1_000 << 30), Grade::Warning);
        assert_eq!(grade(100 << 30, 1_000 << 30), Grade::Fine);
        assert_eq!(judge_room(None).grade, Grade::Note);
    }
}
