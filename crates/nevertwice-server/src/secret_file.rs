//! A secret of 32 bytes in a file of its own, beside the data that were made with it and not in them.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use data_encoding::HEXLOWER_PERMISSIVE;
use nevertwice_api::ErrorCode;
use nevertwice_api::person::SaleKey;

use crate::error::StartError;

/// The version of what is noted. The first has no number in it; a later one begins with a line of the kind's word and the number.
const VERSION: u32 = 1;

/// What a folder says of the secret with which its data were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// Nothing yet.
    Absent,
    /// That it is the one that is there.
    Compared,
    /// Something well-formed; the secret is not there to be compared with it.
    NotCompared,
}

/// One kind of secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecretFile {
    /// What it is called, before `file`.
    pub(crate) name: &'static str,
    /// The setting that names it.
    pub(crate) setting: &'static str,
    /// The setting that names the data.
    pub(crate) data_setting: &'static str,
    /// With what a later version of the note begins.
    pub(crate) word: &'static str,
    /// What tells in the data folder with which secret its data were made, without telling the secret.
    pub(crate) check: &'static str,
}

impl SecretFile {
    /// Reads the secret, or makes one at the first start; only its owner may read it. Where there are data already, a missing one
    /// is not made anew: another secret would not fit them.
    pub(crate) fn load_or_create(&self, path: &Path, data: &Path) -> Result<[u8; 32], StartError> {
        match File::open(path) {
            Ok(file) => self.load(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound && has_entries(data) => Err(self.missing(path, data)),
            Err(error) if error.kind() == ErrorKind::NotFound => self.create(path),
            Err(error) => Err(self.refuse(path, format!("can't be opened: {error}"))),
        }
    }

    /// Refuses a secret other than the one that the data were made with. Nothing is written, so it comes before the data are
    /// touched; [`SecretFile::note`] comes after.
    pub(crate) fn check(&self, path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
        let file = data.join(self.check);
        match std::fs::read_to_string(&file) {
            Ok(known) => self.compare(path, &data.display().to_string(), secret, &known),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.refuse(path, format!("can't be compared with {}: {error}", file.display()))),
        }
    }

    /// Whether a start would take the secret that is there, or make one. Nothing is written.
    pub(crate) fn inspect(&self, path: &Path, data: &Path) -> Result<(), StartError> {
        match File::open(path) {
            Ok(file) => self.check(path, data, &self.load(path, file)?),
            Err(error) if error.kind() == ErrorKind::NotFound && !has_entries(data) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(path, data)),
            Err(error) => Err(self.refuse(path, format!("can't be opened: {error}"))),
        }
    }

    /// Looks whether what is noted in a folder can be what was noted there, and compares the secret with it if that is there. Nothing
    /// is written.
    pub(crate) fn inspect_note(&self, path: &Path, data: &Path) -> Result<Noted, StartError> {
        let file = data.join(self.check);
        let known = match std::fs::read(&file) {
            Ok(known) => self.read_note(path, data, &known)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Noted::Absent),
            Err(error) => return Err(self.refuse(path, format!("can't be compared with {}: {error}", file.display()))),
        };
        match File::open(path) {
            Ok(secret) => self.compare(path, &data.display().to_string(), &self.load(path, secret)?, &known).map(|()| Noted::Compared),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Noted::NotCompared),
            Err(error) => Err(self.refuse(path, format!("can't be opened: {error}"))),
        }
    }

    /// The text of a note, if it can be what this version notes.
    pub(crate) fn read_note(&self, path: &Path, data: &Path, bytes: &[u8]) -> Result<String, StartError> {
        let known = String::from_utf8_lossy(bytes).into_owned();
        if let Some(version) = self.later_version(&known) {
            return Err(self.too_new(&data.display().to_string(), version));
        }
        let digits = known.strip_suffix('\n').filter(|digits| digits.len() == 64);
        if digits.is_some_and(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))) {
            return Ok(known);
        }
        let file = data.join(self.check);
        let wrong = format!("can't be compared with {}, which is damaged: it is not 64 hexadecimal digits in one line", file.display());
        Err(self.refuse(path, wrong))
    }

    /// The same for what is noted elsewhere, in the folder of a server that is copied.
    pub(crate) fn compare(&self, path: &Path, place: &str, secret: &[u8; 32], known: &str) -> Result<(), StartError> {
        if known == self.noted(secret) {
            return Ok(());
        }
        Err(match self.later_version(known) {
            Some(version) => self.too_new(place, version),
            None => self.refuse(path, format!("is not the one with which the data in {place} were made")),
        })
    }

    /// Since when the folder says what it says.
    pub(crate) fn noted_at(&self, data: &Path) -> Option<SystemTime> {
        std::fs::metadata(data.join(self.check)).and_then(|note| note.modified()).ok()
    }

    /// Whether the folder says with which secret its data were made.
    pub(crate) fn is_noted(&self, data: &Path) -> bool {
        data.join(self.check).exists()
    }

    /// Reads the secret, and makes none.
    pub(crate) fn load_existing(&self, path: &Path) -> Result<[u8; 32], StartError> {
        match File::open(path) {
            Ok(file) => self.load(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(self.refuse(path, "is missing; copy it from where it was kept".to_owned()))
            }
            Err(error) => Err(self.refuse(path, format!("can't be opened: {error}"))),
        }
    }

    /// Reads the secret that several processes share, and makes none: each would make another.
    pub(crate) fn load_shared(&self, path: &Path) -> Result<[u8; 32], StartError> {
        match File::open(path) {
            Ok(file) => self.load(path, file),
            Err(error) => Err(self.refuse(
                path,
                format!("can't be opened: {error}. Make one by `openssl rand -hex 32`, and give it to every process that shares the keys"),
            )),
        }
    }

    /// Writes down in a data folder what [`SecretFile::check`] compares with from then on, unless it is there. The folder belongs to
    /// this process.
    pub(crate) fn note(&self, path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
        if data.join(self.check).exists() {
            return Ok(());
        }
        self.note_anew(path, data, secret)
    }

    /// The same, where another secret may be noted: from then on this one counts.
    pub(crate) fn note_anew(&self, path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
        let file = data.join(self.check);
        let written = || match std::fs::read_to_string(&file) {
            Ok(known) if known == self.noted(secret) => Ok(()),
            _ => write_note(data, self.check, &self.noted(secret)),
        };
        written().map_err(|error: std::io::Error| self.refuse(path, format!("can't be noted in {}: {error}", file.display())))
    }

    pub(crate) fn noted(&self, secret: &[u8; 32]) -> String {
        self.mark(secret) + "\n"
    }

    /// What tells a secret from others without telling it.
    pub(crate) fn mark(&self, secret: &[u8; 32]) -> String {
        HEXLOWER_PERMISSIVE.encode(&SaleKey::derive(secret, "").email(self.check))
    }

    fn later_version(&self, text: &str) -> Option<u32> {
        text.lines().next()?.strip_prefix(self.word)?.strip_prefix(' ')?.parse().ok().filter(|version| *version > VERSION)
    }

    fn too_new(&self, place: &str, version: u32) -> StartError {
        StartError::new(
            ErrorCode::DataTooNew,
            format!(
                "{} in {place} has version {version}, and this program reads up to {VERSION}. Nothing was started. Run the version that wrote it, or a newer one.",
                self.check
            ),
        )
    }

    fn missing(&self, path: &Path, data: &Path) -> StartError {
        self.refuse(
            path,
            format!(
                "is missing, and {} is not empty: if it holds data of this server, they were made with that file; if not, name an empty folder \
                 with `{}`",
                data.display(),
                self.data_setting
            ),
        )
    }

    fn load(&self, path: &Path, file: File) -> Result<[u8; 32], StartError> {
        let mut text = String::new();
        file.take(256).read_to_string(&mut text).map_err(|error| self.refuse(path, format!("can't be read: {error}")))?;
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).ok();
        let secret = bytes.and_then(|bytes| bytes.try_into().ok());
        secret.ok_or_else(|| self.refuse(path, "does not hold 64 hexadecimal digits".to_owned()))
    }

    fn create(&self, path: &Path) -> Result<[u8; 32], StartError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| self.refuse(path, format!("can't be made, since there is no randomness: {error}")))?;
        write(path, &secret).map_err(|error| self.refuse(path, format!("can't be made: {error}")))?;
        tracing::info!(path = %path.display(), what = self.name, "made a new secret; keep it as long as the data");
        Ok(secret)
    }

    fn refuse(&self, path: &Path, wrong: String) -> StartError {
        StartError::new(
            ErrorCode::ConfigurationInvalid,
            format!(
                "The {} file {} {wrong}. Nothing was started. Restore the file that belongs to the data, or name another with `{}`.",
                self.name,
                path.display(),
                self.setting
            ),
        )
    }
}

/// Writes down in a folder, under that name, what tells with which secret its data were made. It appears whole or not at all: a half
/// of it would be taken for another secret's. What was there before is replaced. The folder belongs to this process.
///
/// # Errors
/// If it can't be written.
pub fn write_note(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let (file, new) = (folder.join(name), folder.join(name).with_extension("tmp"));
    let mut making = File::create(&new)?;
    making.write_all(text.as_bytes())?;
    making.sync_all()?;
    std::fs::rename(&new, &file)?;
    File::open(folder)?.sync_all()
}

fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn write(path: &Path, secret: &[u8; 32]) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(parent)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(HEXLOWER_PERMISSIVE.encode(secret).as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    File::open(parent)?.sync_all()
}

/// A path with that at the end of its name.
pub(crate) fn beside(folder: &Path, end: &str) -> PathBuf {
    // Without a slash at its end.
    let folder: PathBuf = folder.components().collect();
    let mut path = folder.into_os_string();
    path.push(end);
    PathBuf::from(path)
}
