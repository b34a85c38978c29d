//! The memory: all states live in it, and while a snapshot is made they do twice.

use std::path::Path;

use super::disk::shown;
use super::finding::{Finding, Grade};

const SUBJECT: &str = "memory";

/// How many times the size of a snapshot its states occupy in memory, the snapshot's own copy included.
const TIMES_SNAPSHOT: u64 = 4;

/// What the server needs with next to no states.
const OWN_BYTES: u64 = 256 << 20;

pub(super) fn look(data: &Path) -> Finding {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    judge(available(&meminfo), granted(), newest_snapshot(data))
}

/// The line `MemAvailable:    1234 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let figure = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    figure.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// What the control group of this process grants, if it does limit it.
fn granted() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let limit = std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(own).join("memory.max")).ok()?;
    limit.trim().parse().ok()
}

/// The size of the largest snapshot, 0 if there is none.
fn newest_snapshot(data: &Path) -> u64 {
    let files = std::fs::read_dir(data).into_iter().flatten().flatten();
    let snapshots = files.filter(|file| file.file_name().to_string_lossy().starts_with("snapshot-"));
    snapshots.filter_map(|file| Some(file.metadata().ok()?.len())).max().unwrap_or(0)
}

fn judge(available: Option<u64>, granted: Option<u64>, snapshot: u64) -> Finding {
    let Some(bytes) = available.into_iter().chain(granted).min() else {
        return Finding::new(
            SUBJECT,
            Grade::Note,
            "this system does not tell how much is available",
            "All states live in memory.",
            "see to it that the process has several times the size of its largest snapshot",
        );
    };
    let needed = OWN_BYTES.saturating_add(snapshot.saturating_mul(TIMES_SNAPSHOT));
    let found = format!("{} are available, and the largest snapshot has {}", shown(bytes), shown(snapshot));
    if bytes < needed {
        let means = "All states live in memory, and while a snapshot is made they do twice. A process without memory is killed.";
        let advice = format!("give it {} or more (a server that runs already has its part)", shown(needed));
        Finding::new(SUBJECT, Grade::Warning, found, means, advice)
    } else {
        Finding::fine(SUBJECT, found, "Enough for the states and the copy that a snapshot is made from.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_what_there_is_and_what_is_granted_counts() {
        let gib = 1 << 30;
        assert_eq!(judge(Some(2 * gib), None, gib / 4).grade, Grade::Fine);
        assert_eq!(judge(Some(2 * gib), Some(gib), gib / 4).grade, Grade::Warning);
        assert_eq!(judge(None, Some(gib), 0).grade, Grade::Fine);
        assert_eq!(judge(None, None, gib).grade, Grade::Note);
        assert_eq!(judge(Some(u64::MAX - 1), None, u64::MAX).grade, Grade::Warning);
    }

    #[test]
    fn what_is_available_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   512 kB\n"), Some(524_288));
        assert_eq!(available("MemAvailable: lots\n"), None);
    }
}
