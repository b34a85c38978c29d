//! The only place of this crate that touches the disk.
//!
//! # What is assumed of the media
//!
//! Everything that recovery promises rests on these, and the double in `nevertwice_testkit::storage` breaks whatever
//! they do not promise:
//!
//! 1. A write that was not followed by a successful [`StorageFile::sync_data`] may be lost at power loss by sectors of
//!    512 bytes, in any order, and a sector that was being written may come back as garbage. Sectors that were not
//!    written to keep their contents.
//! 2. The page cache writes back whole pages of 4096 bytes, and discs with 4096-byte physical sectors rewrite whole
//!    ones. So nothing durable may share a 4096-byte block with something that is still to be written.
//! 3. After a successful `sync_data` the bytes of the file, and the length that is needed to read them, survive.
//!    Whether a *failed* one can be repeated is unknown: Linux marks the pages clean, and the next call succeeds
//!    without having written them. So a failed sync is final.
//! 4. A name (created, renamed, removed) survives only after [`Storage::sync_folder`]. A rename is atomic: the new
//!    name is the old file or the new one.
//! 5. A file never shows bytes that belonged to another file.
//! 6. Overwriting bytes that were written and synced needs no new space, so it cannot fail for a full disk. (Not true
//!    on copy-on-write file systems: there a full disk shows as a failed write, which poisons.)

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A data folder: files by plain names, no folders inside.
pub trait Storage: Send + Sync + 'static {
    /// Claims the folder for this process until the returned guard is dropped. Fails with
    /// [`io::ErrorKind::WouldBlock`] while another process holds it.
    fn claim(&self) -> io::Result<Box<dyn FolderClaim>>;
    /// Whether some process holds the folder now. Writes nothing.
    fn is_claimed(&self) -> io::Result<bool>;
    /// The names of all files, in no particular order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Creates a file for reading and writing; fails if the name is taken.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Opens a file for reading.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;
    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Renames a file, replacing what had the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Shortens a file to `len` bytes.
    fn truncate(&self, name: &str, len: u64) -> io::Result<()>;
    /// Makes the names durable.
    fn sync_folder(&self) -> io::Result<()>;
}

/// One file, read and written by position.
pub trait StorageFile: Send + Sync {
    /// Its length now.
    fn size(&self) -> io::Result<u64>;
    /// Reads up to `into.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything that was written durable.
    fn sync_data(&self) -> io::Result<()>;
}

/// Holds the data folder for this process while it lives.
pub trait FolderClaim: Send + Sync {}

/// A folder of the file system.
#[derive(Debug, Clone)]
pub struct FileStorage {
    root: PathBuf,
}

/// The file whose lock stands for the folder.
pub(crate) const CLAIM_FILE: &str = "in-use";

impl FileStorage {
    /// The folder at `root`, made if it is missing.
    pub fn create(root: impl Into<PathBuf>) -> io::Result<FileStorage> {
        let root = root.into();
        if !root.is_dir() {
            std::fs::create_dir_all(&root)?;
            if let Some(parent) = root.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(FileStorage { root })
    }

    /// The folder at `root`, which must exist; nothing is written.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<FileStorage> {
        let root = root.into();
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is no folder", root.display())));
        }
        Ok(FileStorage { root })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

struct FileClaim {
    _file: File,
}

impl FolderClaim for FileClaim {}

impl Storage for FileStorage {
    fn claim(&self) -> io::Result<Box<dyn FolderClaim>> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(self.path(CLAIM_FILE))?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(FileClaim { _file: file })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn is_claimed(&self) -> io::Result<bool> {
        let file = match File::open(self.path(CLAIM_FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let file = OpenOptions::new().create_new(true).read(true).write(true).open(self.path(name))?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(File::open(self.path(name))?))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.path(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path(name))
    }

    fn truncate(&self, name: &str, len: u64) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.path(name))?.set_len(len)
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.root)?.sync_all()
    }
}

impl StorageFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            match FileExt::read_at(self, &mut into[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }
}
