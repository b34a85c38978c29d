//! What the machine tells of itself: room on the disk, open files, memory. It is read when somebody asks, never on a request's
//! way; what can't be read is absent, and nothing fails for it.

use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this process may still write.
    pub free_bytes: u64,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Room where the data folder is.
    pub disk: Option<DiskSpace>,
    /// Files and sockets that this process has open.
    pub open_files: Option<u64>,
    /// How many it may have open; absent where there is no limit.
    pub open_files_max: Option<u64>,
    /// Bytes of memory that it occupies.
    pub resident_bytes: Option<u64>,
}

/// Something that can be asked how the machine is.
pub trait Machine: Send + Sync + 'static {
    /// Reads. It may block for as long as a file system takes to answer.
    fn read(&self) -> Readings;
}

/// The machine on which this process runs.
#[derive(Clone, Debug)]
pub struct ThisMachine {
    data: PathBuf,
}

impl ThisMachine {
    /// The machine, asked about the file system of that folder.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into() }
    }
}

impl Machine for ThisMachine {
    fn read(&self) -> Readings {
        Readings {
            disk: rustix::fs::statvfs(&self.data).ok().map(|room| DiskSpace {
                free_bytes: room.f_bavail.saturating_mul(room.f_frsize),
                size_bytes: room.f_blocks.saturating_mul(room.f_frsize),
            }),
            open_files: std::fs::read_dir("/proc/self/fd").ok().map(|open| open.count() as u64),
            open_files_max: getrlimit(Resource::Nofile).current,
            resident_bytes: std::fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident_bytes),
        }
    }
}

/// The line `VmRSS:      1234 kB`.
fn resident_bytes(status: &str) -> Option<u64> {
    let figure = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = figure.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_in_bytes() {
        assert_eq!(resident_bytes("VmPeak:\t 9 kB\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        for nothing in ["", "VmRSS: many kB", "VmRSS: 5", "VmRSS: 99999999999999999999 kB"] {
            assert_eq!(resident_bytes(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_room_to_tell_of() {
        let here = ThisMachine::new(env!("CARGO_MANIFEST_DIR")).read().disk.expect("a file system has a size");
        assert!(here.size_bytes >= here.free_bytes && here.size_bytes > 0);
        assert_eq!(ThisMachine::new("/no/such/folder").read().disk, None);
    }
}
