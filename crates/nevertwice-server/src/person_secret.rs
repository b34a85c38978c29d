//! The secret from which the keys of sales are made: 32 bytes in a file of its own, beside the data and not in it.

use std::path::{Path, PathBuf};

use crate::error::StartError;
pub use crate::secret_file::Noted;
use crate::secret_file::{self, SecretFile};

/// What tells in the data folder with which secret its data were made, without telling the secret.
pub(crate) const CHECK: &str = "person-key.check";

pub(crate) const FILE: SecretFile =
    SecretFile { name: "person key", setting: "person_key_file", data_setting: "data", word: "person-key", check: CHECK };

/// Reads the secret, or makes one at the first start; only its owner may read it. Where there are data already, another
/// secret would make strangers of all who are in them, so a missing one is not made anew.
///
/// # Errors
/// If the file can't be read or made, is missing although there are data, or holds something else than 64 hexadecimal digits.
pub fn load_or_create(path: &Path, data: &Path) -> Result<[u8; 32], StartError> {
    FILE.load_or_create(path, data)
}

/// Refuses a secret other than the one that the data were made with: it would make strangers of all who are in them, and give
/// them second seats. Nothing is written, so it comes before the data are touched; [`note`] comes after.
///
/// # Errors
/// If the secret is another one, a later version noted it, or the file in the folder can't be read.
pub fn check(path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
    FILE.check(path, data, secret)
}

/// Whether a start would take the secret that is there, or make one. Nothing is written.
///
/// # Errors
/// If a start would refuse it.
pub fn inspect(path: &Path, data: &Path) -> Result<(), StartError> {
    FILE.inspect(path, data)
}

/// Looks whether what is noted in a folder can be what was noted there, and compares the secret with it if that is there. Nothing is
/// written.
///
/// # Errors
/// If it is damaged, a later version noted it, or the secret is another one or can't be read.
pub fn inspect_note(path: &Path, data: &Path) -> Result<Noted, StartError> {
    FILE.inspect_note(path, data)
}

/// Where the secret of a data folder lies, unless it is named.
#[must_use]
pub fn path_of(data: &Path) -> PathBuf {
    secret_file::beside(data, ".key")
}

/// The same for what is noted elsewhere, in the folder of a server that is copied.
///
/// # Errors
/// If the secret is another one, or a later version noted it.
pub fn compare(path: &Path, place: &str, secret: &[u8; 32], known: &str) -> Result<(), StartError> {
    FILE.compare(path, place, secret, known)
}

/// Whether the folder says with which secret its data were made.
#[must_use]
pub fn is_noted(data: &Path) -> bool {
    FILE.is_noted(data)
}

/// Reads the secret, and makes none.
///
/// # Errors
/// If the file is missing, can't be read, or holds something else than 64 hexadecimal digits.
pub fn load_existing(path: &Path) -> Result<[u8; 32], StartError> {
    FILE.load_existing(path)
}

/// Writes down in a data folder what [`check`] compares with from then on, unless it is there. It appears whole or not at all: a
/// half of it would be taken for another secret's. The folder belongs to this process.
///
/// # Errors
/// If it can't be written.
pub fn note(path: &Path, data: &Path, secret: &[u8; 32]) -> Result<(), StartError> {
    FILE.note(path, data, secret)
}
