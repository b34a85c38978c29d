//! The data folder and the person key: would a start take them?

use std::path::Path;
use std::sync::Arc;

use nevertwice_local::clock::{Clock as _, SystemClock};
use nevertwice_local::error::OpenError;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;
use nevertwice_server::config::Config;
use nevertwice_server::{LocalKeys, StartError, check_data_folder, inspect_person_secret};

use super::clock;
use super::configuration::mode_of;
use super::finding::{Finding, Grade};

const SUBJECT: &str = "data folder";

/// A secret in a file of its own, and what it is for.
struct SecretFile {
    subject: &'static str,
    /// What a new one would do.
    anew: &'static str,
    /// What whoever has it and the data can do.
    opens: &'static str,
}

const PERSON_KEY: SecretFile =
    SecretFile { subject: "person key", anew: "a new one would make strangers of all candidates", opens: "test who is a candidate" };

const KEYS_SECRET: SecretFile = SecretFile {
    subject: "secret of keys",
    anew: "under a new one no key is known, and what was carried out runs again",
    opens: "test which keys were used",
};

pub(super) fn look(config: &Config) -> Vec<Finding> {
    let (data, key) = (&config.data, config.person_key_path());
    if !data.exists() {
        let found = format!("{} is not there yet", data.display());
        return vec![Finding::fine(SUBJECT, found, "The first start makes it, and the person key beside it.")];
    }
    if let Err(error) = check_data_folder(data) {
        let advice = "name the folder of the server's data, or an empty one, with `data`";
        return vec![Finding::new(SUBJECT, Grade::Error, error.to_string(), "`serve` would refuse to start.", advice)];
    }
    let mut findings = look_at_data(data);
    let is_fine = inspect_person_secret(&key, data);
    findings.push(PERSON_KEY.look(&key, is_fine));
    let keys = LocalKeys::inspect_secret(config).filter(|_| config.keys_path().exists());
    findings.extend(keys.map(|is_fine| KEYS_SECRET.look(&config.keys_secret_path(), is_fine)));
    findings
}

fn look_at_data(data: &Path) -> Vec<Finding> {
    let shown = data.display();
    let opened = FileStorage::open(data).map_err(|error| error.to_string()).and_then(|storage| {
        match Inspection::open(Arc::new(storage)) {
            Ok(inspection) => inspection.last_entry().map(Some).map_err(|error| format!("{error} [{}]", error.code())),
            Err(OpenError::InUse) => Ok(None),
            // Nothing was ever started here.
            Err(OpenError::Marker { .. }) if is_empty(data) => Err(String::new()),
            Err(error) => Err(format!("{error} [{}]", error.code())),
        }
    });
    match opened {
        Ok(None) => {
            let means = "What is in it is the server's to tell: `/readyz`, `/metrics`. The sync times above were measured beside its work.";
            vec![Finding::fine(SUBJECT, format!("a server runs on {shown}"), means)]
        }
        Ok(Some(last)) => {
            let mut findings = Vec::new();
            if let Some(damage) = last.damage {
                let advice = "keep a copy of the folder, then run `nevertwice verify`; docs/operation.md says how to go on";
                let means = "`serve` would refuse to start (`journal_damaged`).";
                findings.push(Finding::new(SUBJECT, Grade::Error, format!("{shown}: {damage}"), means, advice));
            } else {
                findings.push(Finding::fine(SUBJECT, format!("the journal in {shown} is whole"), "A start would take it."));
            }
            findings.extend(last.entry.map(|entry| clock::judge_last(entry.at_ms, SystemClock.now_ms())));
            findings
        }
        Err(nothing) if nothing.is_empty() => vec![Finding::fine(SUBJECT, format!("{shown} is empty"), "The first start fills it.")],
        Err(wrong) => {
            let advice = "docs/operation.md has a table of the codes with which a start is refused; nothing was changed";
            vec![Finding::new(SUBJECT, Grade::Error, format!("{shown}: {wrong}"), "`serve` would refuse to start.", advice)]
        }
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

impl SecretFile {
    fn look(&self, file: &Path, is_fine: Result<(), StartError>) -> Finding {
        let (subject, shown) = (self.subject, file.display());
        if let Err(error) = is_fine {
            let advice = format!("restore the file that belongs to the data; {}", self.anew);
            return Finding::new(subject, Grade::Error, error.to_string(), "`serve` would refuse to start.", advice);
        }
        match mode_of(file) {
            None => Finding::fine(subject, format!("{shown} is not there yet"), "The first start makes it."),
            Some(mode) if mode & 0o077 != 0 => Finding::new(
                subject,
                Grade::Warning,
                format!("{shown} has the mode {:o}", mode & 0o777),
                format!("Other users of this machine can read it. Whoever has it and the data can {}.", self.opens),
                format!("chmod 600 {shown}, owned by the user of the server"),
            ),
            Some(_) => {
                Finding::fine(subject, format!("{shown} belongs to the data"), "Keep a copy of it, and not beside the backups of the data.")
            }
        }
    }
}
