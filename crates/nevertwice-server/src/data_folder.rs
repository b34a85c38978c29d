//! Whether what `data` names may be a data folder at all. It is asked before anything in it is read or made, so that somebody who
//! has named the wrong place is told so, and not what that place lacks to be the right one.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use nevertwice_api::ErrorCode;

use crate::error::StartError;
use crate::person_secret::CHECK;

/// What the names of a data folder's files begin with.
const OWN: &[&str] = &["format", "in-use", "reach", CHECK, "journal-", "snapshot-", "audit-"];

/// What the names of a backup's manifest begin with.
const BACKUP: &str = "backup.";

/// Refuses a data folder that is a file, a backup, or somebody else's. What it does not refuse may still be damaged, or in use.
///
/// # Errors
/// If it is no folder that a server may have made, or may make its own.
pub fn check_data_folder(data: &Path) -> Result<(), StartError> {
    let entries = match fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(refuse(
                data,
                "is a file, and has to be a folder",
                "Name a folder, or a path at which one can be made, with `data`",
            ));
        }
        Err(error) => return Err(refuse(data, &format!("can't be looked into: {error}"), "See what its path and its rights are")),
    };
    let names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if names.iter().any(|name| name.starts_with(BACKUP)) {
        let next = "Make a data folder out of it with `nevertwice restore`, and name that one";
        return Err(refuse(data, "is a backup, on which no server runs", next));
    }
    match names.first() {
        Some(other) if !names.iter().any(|name| OWN.iter().any(|own| name.starts_with(own))) => Err(refuse(
            data,
            &format!("has files in it, such as {other:?}, and none of them is of a server"),
            "Name the folder of the server's data, or an empty one",
        )),
        _ => Ok(()),
    }
}

fn refuse(data: &Path, wrong: &str, next: &str) -> StartError {
    StartError::new(ErrorCode::DataFolderInvalid, format!("{} {wrong}. Nothing was started. {next}.", data.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_place_that_is_no_data_folder_is_told_from_one() {
        let folder = TempDir::new().expect("a folder can be made");
        let place = |name: &str, files: &[&str]| {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("it can be made");
            files.iter().for_each(|file| fs::write(path.join(file), "").expect("it can be written"));
            path
        };
        let file = folder.path().join("file");
        fs::write(&file, "").expect("it can be written");
        for (path, told) in [
            (folder.path().join("nowhere"), None),
            (place("empty", &[]), None),
            (place("begun", &["in-use"]), None),
            (place("whole", &["format", "reach", "in-use", "notes.txt"]), None),
            // What is missing in it is told by who reads it.
            (place("damaged", &["journal-00000000000000000001.segment"]), None),
            (file.clone(), Some("is a file")),
            (file.join("below"), Some("is a file")),
            (place("backup", &["backup.manifest", "journal-00000000000000000001.segment"]), Some("nevertwice restore")),
            (place("half", &["backup.begun"]), Some("is a backup")),
            (place("home", &["letter.txt"]), Some("such as \"letter.txt\"")),
        ] {
            let refused = check_data_folder(&path).err();
            assert_eq!(refused.is_some(), told.is_some(), "{path:?}: {refused:?}");
            if let (Some(error), Some(told)) = (refused, told) {
                assert!(error.code == ErrorCode::DataFolderInvalid && error.detail.contains(told), "{error}");
            }
        }
    }
}
