//! A store in a folder, the same as that of the Python client: each may go on with what the other has begun.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{IntentState, IntentStore, Record, StoreError};

/// The longest file that is read as a record.
const RECORD_BYTES_MAX: u64 = 4_096;

/// Keeps each record in a file of its own, synced before the first sending. Many processes may share the folder.
///
/// A file's name is a digest of the intent's. Reading and writing block for as long as the disk takes.
#[derive(Debug, Clone)]
pub struct FolderStore {
    folder: PathBuf,
}

/// The file's form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    key: String,
    expires_at: u64,
    digest: String,
    state: IntentState,
}

impl FolderStore {
    /// A store in the folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If the folder can't be made.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = folder.into();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(|error| failed(&folder, error))?;
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", HEXLOWER.encode(&Sha256::digest(name))))
    }

    fn write(&self, record: &Record, path: &Path) -> io::Result<()> {
        let Record { key, expires_at, digest, state } = record.clone();
        let mut file = tempfile::Builder::new().prefix("new-").tempfile_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(&Kept { version: 1, key, expires_at, digest, state })?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// What nobody else may do meanwhile. It ends with the file, and so with the process, however that ends.
    fn alone(&self) -> io::Result<File> {
        let file = File::options().create(true).append(true).open(self.folder.join("lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Makes names durable. Windows can't open a folder; its file system keeps names in a journal of its own.
    fn sync_folder(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.folder)?.sync_all()?;
        Ok(())
    }
}

impl IntentStore for FolderStore {
    fn get(&self, name: &str) -> Result<Option<Record>, StoreError> {
        let path = self.path(name);
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(RECORD_BYTES_MAX + 1).read_to_end(&mut text));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, error)),
            Ok(_) => {}
        }
        let whole = text.len() as u64 <= RECORD_BYTES_MAX;
        match serde_json::from_slice(&text) {
            Ok(Kept { version: 1, key, expires_at, digest, state }) if whole => Ok(Some(Record { key, expires_at, digest, state })),
            _ => Err(failed(&path, "no record of this version")),
        }
    }

    fn swap(&self, name: &str, old: Option<&Record>, new: Option<&Record>) -> Result<bool, StoreError> {
        let path = self.path(name);
        let failed = |error| failed(&path, error);
        let _alone = self.alone().map_err(failed)?;
        if self.get(name)?.as_ref() != old {
            return Ok(false);
        }
        let done = match (old, new) {
            (_, Some(new)) => self.write(new, &path),
            (Some(_), None) => fs::remove_file(&path),
            (None, None) => Ok(()),
        };
        done.and_then(|()| self.sync_folder()).map_err(failed)?;
        Ok(true)
    }
}

fn failed(path: &Path, why: impl std::fmt::Display) -> StoreError {
    StoreError { why: format!("{}: {why}", path.display()) }
}
