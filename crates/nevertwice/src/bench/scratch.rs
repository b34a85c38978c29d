//! A folder that is gone when the benchmark is.

use std::path::PathBuf;

/// A temporary folder on the disk of the working directory: the system's temporary folder is often memory, on which a sync
/// costs nothing.
pub(super) fn folder() -> std::io::Result<tempfile::TempDir> {
    let here = std::env::var_os("NVT_BENCH_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    tempfile::Builder::new().prefix(".nevertwice-bench-").tempdir_in(here)
}
