//! The committed inputs: one file each, in a folder for each target, where the coverage-guided fuzzer looks for them too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::seeds;
use crate::target::{TARGETS, Target};

/// Where the inputs of all targets are.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a target, in the order of their file names.
///
/// # Errors
/// If its folder can't be read.
pub fn read(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join(target.name))?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.sort();
    files.into_iter().map(fs::read).collect()
}

/// How the names of inputs begin that [`seeds`] makes.
const SEED: &str = "seed-";

/// Writes the first inputs of every target, those that [`seeds`] makes, in the place of those that it made before. Others stay as
/// they are. Returns how many were written.
///
/// # Errors
/// If a file can't be written.
pub fn write_seeds() -> io::Result<usize> {
    let mut written = 0;
    for target in TARGETS {
        let folder = root().join(target.name);
        fs::create_dir_all(&folder)?;
        for file in fs::read_dir(&folder)? {
            let file = file?;
            if file.file_name().to_string_lossy().starts_with(SEED) {
                fs::remove_file(file.path())?;
            }
        }
        for (name, bytes) in seeds::of(target.name) {
            fs::write(folder.join(format!("{SEED}{name}")), bytes)?;
            written += 1;
        }
    }
    Ok(written)
}
