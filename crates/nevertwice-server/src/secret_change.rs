//! A change of the secret under which a folder's keys are named: how long the previous one is still needed.
//!
//! Under the new secret alone, what is remembered under the previous one is unknown, and a retry of it runs again. So the folder
//! notes the previous one's mark and the instant from which nobody needs it, and a start without it before then is refused.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use crate::secret_file::write_note;

/// The file in the folder.
const CHANGE: &str = "secret-change.check";

/// Why a folder's note of a change stops a start. `Display` is a sentence without its full stop.
#[derive(Debug)]
pub enum SecretChangeError {
    /// The previous secret is still needed.
    Needed {
        /// From when on it is not, in milliseconds since 1970.
        until_ms: i64,
    },
    /// The note is no note.
    Malformed,
    /// It can't be read or written.
    Unusable(std::io::Error),
}

impl fmt::Display for SecretChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Needed { until_ms } => write!(
                f,
                "Keys are remembered under the secret before this one until {until_ms} (milliseconds since 1970), and without it their retries would run again; name it until then"
            ),
            Self::Malformed => {
                write!(f, "{CHANGE} is damaged: name the previous secret for one retention; once that is over, remove the file")
            }
            Self::Unusable(error) => write!(f, "{CHANGE} can't be used: {error}"),
        }
    }
}

impl std::error::Error for SecretChangeError {}

/// Refuses a start with the secrets of these marks while a previous one that is not among them is needed.
///
/// # Errors
/// If it is, or the note can't be read.
pub fn check_secret_change(folder: &Path, marks: &[String], now_ms: i64) -> Result<(), SecretChangeError> {
    match read(folder)? {
        Some((mark, until_ms)) if until_ms > now_ms && !marks.contains(&mark) => Err(SecretChangeError::Needed { until_ms }),
        _ => Ok(()),
    }
}

/// Notes that keys are named under the mark of the previous secret and remembered until then at the latest. A note of the same
/// secret stays as it is: from its beginning on every key has been named under the new secret as well.
///
/// # Errors
/// If it can't be written, or what is there can't be read.
pub fn note_secret_change(folder: &Path, previous: &str, until_ms: i64) -> Result<(), SecretChangeError> {
    if read(folder)?.is_some_and(|(mark, _)| mark == previous) {
        return Ok(());
    }
    write_note(folder, CHANGE, &format!("{previous} {until_ms}\n")).map_err(SecretChangeError::Unusable)
}

fn read(folder: &Path) -> Result<Option<(String, i64)>, SecretChangeError> {
    let text = match std::fs::read(folder.join(CHANGE)) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| SecretChangeError::Malformed)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(SecretChangeError::Unusable(error)),
    };
    let (mark, until_ms) = text.strip_suffix('\n').and_then(|line| line.split_once(' ')).ok_or(SecretChangeError::Malformed)?;
    let until_ms = until_ms.parse().map_err(|_| SecretChangeError::Malformed)?;
    Ok(Some((mark.to_owned(), until_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_previous_secret_that_is_still_needed_can_not_be_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let marks = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        check_secret_change(folder, &marks(&["new"]), 0).expect("nothing was changed");
        note_secret_change(folder, "old", 1_000).expect("it is noted");
        note_secret_change(folder, "old", 9_000).expect("a later start moves nothing");
        check_secret_change(folder, &marks(&["new", "old"]), 999).expect("it is there");
        let refused = check_secret_change(folder, &marks(&["new"]), 999).expect_err("it is left out");
        assert!(matches!(refused, SecretChangeError::Needed { until_ms: 1_000 }), "{refused}");
        check_secret_change(folder, &marks(&["new"]), 1_000).expect("it is not needed any more");
        note_secret_change(folder, "new", 5_000).expect("the next change is noted");
        check_secret_change(folder, &marks(&["newer", "new"]), 1_000).expect("it is there");
        std::fs::write(folder.join(CHANGE), "half").expect("it can be written");
        assert!(matches!(check_secret_change(folder, &marks(&["newer"]), 0), Err(SecretChangeError::Malformed)));
    }
}
