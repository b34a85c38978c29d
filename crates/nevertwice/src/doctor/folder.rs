//! The data folder and the person key: would a start take them?

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

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
    findings.extend(look_at_change(config, SystemClock.now_ms()));
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

/// Whether the secret of keys is being changed, and whether the previous one may go.
fn look_at_change(config: &Config, now_ms: i64) -> Option<Finding> {
    const CHANGE: &str = "change of the secret of keys";
    let previous = config.keys_previous_secret_file.as_ref()?;
    let shown = previous.display();
    let Some(since) = LocalKeys::changing_since(config) else {
        let means = "The next start names keys under both secrets, and notes the present one.";
        return Some(Finding::fine(CHANGE, format!("{shown} is named, and no start has changed the secret yet"), means));
    };
    let since_ms = since.duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default();
    let left_ms = since_ms.saturating_add(config.keys_retention_ms).saturating_sub(now_ms);
    if left_ms > 0 {
        let found = format!("keys are known under two secrets; {shown} may go in {} minutes", left_ms.saturating_add(59_999) / 60_000);
        return Some(Finding::fine(CHANGE, found, "Until then some keys may be known under the previous one alone."));
    }
    let found = format!("{shown} is named, and everything that is remembered is known without it");
    let means = "Each call about a key asks the store twice, for nothing.";
    Some(Finding::new(
        CHANGE,
        Grade::Warning,
        found,
        means,
        "take `keys_previous_secret_file` out of the settings, restart, and destroy the file",
    ))
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

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_change_of_the_secret_of_keys_is_told_until_the_previous_one_may_go() {
        let folder = TempDir::new().expect("a folder can be made");
        let old = folder.path().join("old.key");
        let config = Config { data: folder.path().join("data"), ..Config::default() };
        let open = |config: &Config| LocalKeys::open(config, Arc::new(SystemClock)).expect("it opens").expect("it is local").stop();
        open(&config);
        let now_ms = SystemClock.now_ms();
        assert_eq!(look_at_change(&config, now_ms), None);
        std::fs::rename(config.keys_secret_path(), &old).expect("it is there");
        std::fs::write(config.keys_secret_path(), "5a".repeat(32)).expect("it can be written");
        let config = Config { keys_previous_secret_file: Some(old), ..config };
        let check = |now_ms, grade, told: &str| {
            let finding = look_at_change(&config, now_ms).expect("it is being changed");
            assert!(finding.grade == grade && finding.found.contains(told), "{finding:?}");
        };
        check(now_ms, Grade::Fine, "no start has changed the secret yet");
        open(&config);
        check(now_ms, Grade::Fine, "may go in 144");
        check(SystemClock.now_ms() + config.keys_retention_ms + 1_000, Grade::Warning, "is known without it");
    }
}
