//! Changes the keys file, for the command line. A server that runs reads the file; it never writes it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use nevertwice_api::ErrorCode;
use nevertwice_core::ShardId;

use super::file::{FILE_BYTES_MAX, KeyRecord, KeyRole, read, write};
use super::text::{KeyId, digest, draw};
use crate::config::Secret;
use crate::error::StartError;

/// A key that is wanted.
#[derive(Clone, Debug)]
pub struct WantedKey {
    /// By which it is to be known.
    pub id: KeyId,
    /// What it may do.
    pub role: KeyRole,
    /// For which shards it is; all if absent.
    pub shards: Option<Vec<ShardId>>,
    /// From when on it is not taken any more; milliseconds since 1970.
    pub expires_at: Option<i64>,
}

/// All keys of a file.
///
/// # Errors
/// If the file can't be read, or is none.
pub fn list_keys(path: &Path) -> Result<Vec<KeyRecord>, StartError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| refuse(path, &format!("can't be opened: {error}")))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| refuse(path, &format!("can't be read: {error}")))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refuse(path, &format!("is larger than {FILE_BYTES_MAX} bytes")));
    }
    read(&bytes).map_err(|wrong| refuse(path, &format!("is not as it should be: {wrong}")))
}

/// Makes a key, and writes down its digest. The key itself is in what is returned and nowhere else.
///
/// # Errors
/// If the id is there already, or the file can't be read or written. Then there is no new key.
pub fn make_key(path: &Path, wanted: WantedKey, now_ms: i64) -> Result<Secret, StartError> {
    let _alone = claim(path)?;
    let mut records = match list_keys(path) {
        Ok(records) => records,
        Err(_) if !path.exists() => Vec::new(),
        Err(error) => return Err(error),
    };
    let WantedKey { id, role, shards, expires_at } = wanted;
    if records.iter().any(|record| record.id == id) {
        return Err(refuse(path, &format!("has a key `{id}` already; ids are never used again")));
    }
    if expires_at.is_some_and(|expires_at| expires_at <= now_ms) {
        return Err(refuse(path, "takes no key whose time is over before it begins"));
    }
    let key = draw(&id).map_err(|error| refuse(path, &format!("gets no new key, since there is no randomness: {error}")))?;
    let digest = digest(key.reveal().as_bytes());
    // Whole seconds: that is what people read and write.
    let created_at = now_ms - now_ms.rem_euclid(1_000);
    records.push(KeyRecord { id, role, shards, created_at, expires_at, revoked_at: None, digest });
    replace(path, &records)?;
    Ok(key)
}

/// Revokes a key. Its record stays, so that its id is never used for another.
///
/// # Errors
/// If there is no key of that id, it was revoked before, or the file can't be read or written. Then nothing is changed.
pub fn revoke_key(path: &Path, id: &str, now_ms: i64) -> Result<(), StartError> {
    let _alone = claim(path)?;
    let mut records = list_keys(path)?;
    let Some(record) = records.iter_mut().find(|record| record.id.as_str() == id) else {
        return Err(refuse(path, "has no key of that id; `nevertwice key list` shows those that there are"));
    };
    if record.revoked_at.is_some() {
        return Err(refuse(path, &format!("says that the key `{id}` was revoked before")));
    }
    record.revoked_at = Some(now_ms - now_ms.rem_euclid(1_000));
    replace(path, &records)
}

/// Waits until nobody else changes the file. What is claimed lies beside it and stays empty.
fn claim(path: &Path) -> Result<File, StartError> {
    let beside = beside(path, ".claim");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private(&mut options);
    let open = || {
        if let Some(folder) = folder(path) {
            std::fs::create_dir_all(folder)?;
        }
        let file = options.open(&beside)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(|error: std::io::Error| refuse(path, &format!("can't be claimed with {}: {error}", beside.display())))
}

/// Writes the whole file beside the old one, and puts it in its place: whoever reads sees the one or the other.
fn replace(path: &Path, records: &[KeyRecord]) -> Result<(), StartError> {
    let text = write(records).map_err(|wrong| refuse(path, &format!("can't be written: {wrong}")))?;
    // Where the path is a link, what it leads to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let next = beside(path, ".next");
    let put = || {
        match std::fs::remove_file(&next) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        private(&mut options);
        let mut file = options.open(&next)?;
        keep_owner(path, &file)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&next, path)?;
        File::open(folder(path).unwrap_or_else(|| Path::new(".")))?.sync_all()
    };
    put().map_err(|error: std::io::Error| refuse(path, &format!("can't be written: {error}")))
}

fn folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|parent| !parent.as_os_str().is_empty())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Only its owner may read the file.
fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Whoever could read the old file, such as the server's own user, can read the new one.
fn keep_owner(old: &Path, new: &File) -> std::io::Result<()> {
    let known = match std::fs::metadata(old) {
        Ok(known) => known,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let made = new.metadata()?;
        if (known.uid(), known.gid()) != (made.uid(), made.gid()) {
            std::os::unix::fs::fchown(new, Some(known.uid()), Some(known.gid()))?;
        }
    }
    new.set_permissions(known.permissions())
}

fn refuse(path: &Path, wrong: &str) -> StartError {
    StartError::new(
        ErrorCode::ConfigurationInvalid,
        format!("The keys file {} {wrong}. Nothing was changed. See docs/access.md for the keys file and its commands.", path.display()),
    )
}
