//! Who else may read and write a file that decides who is let in.

use std::path::Path;

use super::configuration::mode_of;
use super::finding::{Finding, Grade};

/// What a file may be to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Whoever reads it can do what it is for.
    Secret,
    /// It may be read; whoever writes it decides who is let in.
    Open,
}

/// What is wrong with the permissions of a file, if anything is.
pub(super) fn look(subject: &'static str, file: &Path, kept: Kept) -> Option<Finding> {
    let mode = mode_of(file)? & 0o777;
    let (bad, means, right) = match kept {
        Kept::Secret if mode & 0o077 != 0 => {
            (true, "Other users of this machine can read it, and then pass for whoever it stands for.", 600)
        }
        _ if mode & 0o022 != 0 => (true, "Other users of this machine can write it, and so let in whom they like.", 644),
        _ => (false, "", 0),
    };
    bad.then(|| {
        let advice = format!("chmod {right} {}, owned by the user of the server", file.display());
        Finding::new(subject, Grade::Warning, format!("{} has the mode {mode:o}", file.display()), means, advice)
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_is_for_its_owner_and_nothing_is_written_by_others() {
        let folder = tempfile::TempDir::new().expect("a folder can be made");
        let file = folder.path().join("file");
        fs::write(&file, "hush").expect("it can be written");
        for (mode, kept, told) in [
            (0o600, Kept::Secret, None),
            (0o400, Kept::Secret, None),
            (0o640, Kept::Secret, Some("read")),
            (0o604, Kept::Secret, Some("read")),
            (0o644, Kept::Open, None),
            (0o664, Kept::Open, Some("write")),
            (0o646, Kept::Open, Some("write")),
        ] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
            let finding = look("keys", &file, kept);
            let words = told.map(|told| format!("can {told} it"));
            assert_eq!(finding.is_some(), words.is_some(), "{mode:o} {kept:?}");
            assert!(finding.zip(words).is_none_or(|(finding, words)| finding.means.contains(&words)), "{mode:o} {kept:?}");
        }
        assert_eq!(look("keys", &folder.path().join("none"), Kept::Secret), None);
    }
}
