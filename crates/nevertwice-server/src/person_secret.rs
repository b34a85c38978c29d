//! The secret from which the keys of sales are made: 32 bytes in a file of its own, beside the data and not in it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER_PERMISSIVE;
use nevertwice_api::ErrorCode;
use nevertwice_api::person::SaleKey;

use crate::error::StartError;

/// Reads the secret, or makes one at the first start; only its owner may read it. Where there are data already, another
/// secret would make strangers of all who are in them, so a missing one is not made anew.
///
/// # Errors
/// If the file can't be read or made, is missing although there are data, or holds something else than 64 hexadecimal digits.
pub fn load_or_create(path: &Path, data: &Path) -> Result<[u8; 32], StartError> {
    match File::open(path) {
        Ok(file) => load(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound && has_entries(data) => Err(missing(path, data)),
        Err(error) if error.kind() == ErrorKind::NotFound => create(path),
        Err(error) => Err(refuse(path, format!("can't be opened: {error}"))),
    }
}

/// What tells in the data folder with which secret its data were made, without telling the secret.
pub(crate) const CHECK: &str = "person-key.check";

/// The version of that file. The first has no number in it; a later one begins with a line `person-key N`.
const VERSION: u32 = 1;

/// Refuses a secret other than the one that the data were made with: it would make strangers of all who are in them, and give
/// them second seats. Nothing is written, so it comes before the data are touched; [`note`] comes after.
///
/// # Errors
/// If the secret is another one, a later version noted it, or the file in the folder can't be read.
pub fn check(path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
    let file = data.join(CHECK);
    match std::fs::read_to_string(&file) {
        Ok(known) => compare(path, &data.display().to_string(), secret, &known),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refuse(path, format!("can't be compared with {}: {error}", file.display()))),
    }
}

/// Whether a start would take the secret that is there, or make one. Nothing is written.
///
/// # Errors
/// If a start would refuse it.
pub fn inspect(path: &Path, data: &Path) -> Result<(), StartError> {
    match File::open(path) {
        Ok(file) => check(path, data, &load(path, file)?),
        Err(error) if error.kind() == ErrorKind::NotFound && !has_entries(data) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(missing(path, data)),
        Err(error) => Err(refuse(path, format!("can't be opened: {error}"))),
    }
}

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

/// Looks whether what is noted in a folder can be what was noted there, and compares the secret with it if that is there. Nothing is
/// written.
///
/// # Errors
/// If it is damaged, a later version noted it, or the secret is another one or can't be read.
pub fn inspect_note(path: &Path, data: &Path) -> Result<Noted, StartError> {
    let file = data.join(CHECK);
    let known = match std::fs::read(&file) {
        Ok(known) => String::from_utf8_lossy(&known).into_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Noted::Absent),
        Err(error) => return Err(refuse(path, format!("can't be compared with {}: {error}", file.display()))),
    };
    let digits = known.strip_suffix('\n').filter(|digits| digits.len() == 64);
    let is_well_formed = digits.is_some_and(|digits| digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    if !is_well_formed && later_version(&known).is_none() {
        let wrong = format!("can't be compared with {}, which is damaged: it is not 64 hexadecimal digits in one line", file.display());
        return Err(refuse(path, wrong));
    }
    match File::open(path) {
        Ok(secret) => compare(path, &data.display().to_string(), &load(path, secret)?, &known).map(|()| Noted::Compared),
        Err(error) if error.kind() == ErrorKind::NotFound && is_well_formed => Ok(Noted::NotCompared),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            compare(path, &data.display().to_string(), &[0; 32], &known).map(|()| Noted::NotCompared)
        }
        Err(error) => Err(refuse(path, format!("can't be opened: {error}"))),
    }
}

/// Where the secret of a data folder lies, unless it is named.
#[must_use]
pub fn path_of(data: &Path) -> PathBuf {
    // Without a slash at the end, behind which the name would be one in the folder.
    let mut path = data.components().collect::<PathBuf>().into_os_string();
    path.push(".key");
    path.into()
}

/// The same for what is noted elsewhere, in the folder of a server that is copied.
///
/// # Errors
/// If the secret is another one, or a later version noted it.
pub fn compare(path: &Path, place: &str, secret: &[u8; 32], known: &str) -> Result<(), StartError> {
    if known == noted(secret) {
        return Ok(());
    }
    Err(match later_version(known) {
        Some(version) => StartError::new(
            ErrorCode::DataTooNew,
            format!(
                "{CHECK} in {place} has version {version}, and this program reads up to {VERSION}. Nothing was started. Run the version that wrote it, or a newer one."
            ),
        ),
        None => refuse(path, format!("is not the one with which the data in {place} were made")),
    })
}

/// Whether the folder says with which secret its data were made.
#[must_use]
pub fn is_noted(data: &Path) -> bool {
    data.join(CHECK).exists()
}

/// Reads the secret, and makes none.
///
/// # Errors
/// If the file is missing, can't be read, or holds something else than 64 hexadecimal digits.
pub fn load_existing(path: &Path) -> Result<[u8; 32], StartError> {
    match File::open(path) {
        Ok(file) => load(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(refuse(path, "is missing; copy the one of the server that is followed".to_owned()))
        }
        Err(error) => Err(refuse(path, format!("can't be opened: {error}"))),
    }
}

/// Writes down in a data folder what [`check`] compares with from then on, unless it is there. It appears whole or not at all: a
/// half of it would be taken for another secret's. The folder belongs to this process.
///
/// # Errors
/// If it can't be written.
pub fn note(path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
    let file = data.join(CHECK);
    let written = || {
        if file.try_exists()? {
            return Ok(());
        }
        let new = file.with_extension("tmp");
        let mut making = File::create(&new)?;
        making.write_all(noted(secret).as_bytes())?;
        making.sync_all()?;
        std::fs::rename(&new, &file)?;
        File::open(data)?.sync_all()
    };
    written().map_err(|error: std::io::Error| refuse(path, format!("can't be noted in {}: {error}", file.display())))
}

fn noted(secret: &[u8; 32]) -> String {
    HEXLOWER_PERMISSIVE.encode(&SaleKey::derive(secret, "").email(CHECK)) + "\n"
}

fn later_version(text: &str) -> Option<u32> {
    text.lines().next()?.strip_prefix("person-key ")?.parse().ok().filter(|version| *version > VERSION)
}

fn missing(path: &Path, data: &Path) -> StartError {
    refuse(
        path,
        format!(
            "is missing, and {} is not empty: if it holds data of this server, they were made with that file; if not, name an empty folder \
             with `data`",
            data.display()
        ),
    )
}

fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn load(path: &Path, file: File) -> Result<[u8; 32], StartError> {
    let mut text = String::new();
    file.take(256).read_to_string(&mut text).map_err(|error| refuse(path, format!("can't be read: {error}")))?;
    let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).ok();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| refuse(path, "does not hold 64 hexadecimal digits".to_owned()))
}

fn create(path: &Path) -> Result<[u8; 32], StartError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| refuse(path, format!("can't be made, since there is no randomness: {error}")))?;
    write(path, &secret).map_err(|error| refuse(path, format!("can't be made: {error}")))?;
    tracing::info!(path = %path.display(), "made a new secret for the digests of persons; keep it as long as the data");
    Ok(secret)
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

fn refuse(path: &Path, wrong: String) -> StartError {
    StartError::new(
        ErrorCode::ConfigurationInvalid,
        format!(
            "The person key file {} {wrong}. Nothing was started. Restore the file that belongs to the data, or name another with `person_key_file`.",
            path.display()
        ),
    )
}
