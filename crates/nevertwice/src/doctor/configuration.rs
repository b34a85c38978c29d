//! The settings: what `serve` would refuse, and what it would take and one may not have meant.

use std::path::{Path, PathBuf};

use nevertwice_api::Level;
use nevertwice_server::StartError;
use nevertwice_server::config::{Config, SECRET_SETTINGS, Sources, load};

use super::finding::{Finding, Grade};

const SUBJECT: &str = "settings";

/// The settings as `serve` would have them. Where it would refuse them, the others are still looked at with the defaults and the
/// folder that was named.
pub(super) fn look(sources: Result<Sources, StartError>, data: Option<PathBuf>) -> (Config, Vec<Finding>) {
    match sources.and_then(|sources| load(&sources)) {
        Ok(config) => {
            let findings = judge(&config);
            (config, findings)
        }
        Err(error) => {
            let mut config = Config::default();
            if let Some(data) = data {
                config.data = data;
            }
            let advice = format!("correct the settings; `docs/configuration.md` lists them, and the page of {} says more", error.code);
            (config, vec![Finding::new(SUBJECT, Grade::Error, error.to_string(), "`serve` would refuse to start.", advice)])
        }
    }
}

fn judge(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |grade, found: String, means: &str, advice: &str| findings.push(Finding::new(SUBJECT, grade, found, means, advice));
    if !config.has_credentials() {
        add(
            Grade::Note,
            format!("there are no keys of callers, and the server listens on {} only", config.listen),
            "Every program on this machine is the operator.",
            "for anything but trying out, set `operator_key` and `service_key`",
        );
    }
    if config.level == Level::Decided {
        add(
            Grade::Warning,
            "`level` is `decided`".to_owned(),
            "\"Yes\" is said before anything is on the disk: what was said in the last moments before a crash is forgotten.",
            "set `level = \"journaled\"`, unless a lost order is no loss to you",
        );
    }
    if config.snapshot_bytes == 0 {
        add(
            Grade::Warning,
            "`snapshot_bytes` is 0".to_owned(),
            "No snapshot is ever made: the journal grows for ever, and every start applies all of it.",
            "leave it at its default",
        );
    }
    if config.drain_ms < config.answer_deadline_ms {
        add(
            Grade::Warning,
            format!("`drain_ms` ({}) is less than `answer_deadline_ms` ({})", config.drain_ms, config.answer_deadline_ms),
            "An orderly stop may leave callers without the answer that they were still promised.",
            "make `drain_ms` the longer one",
        );
    }
    if config.public_url.is_none() && !config.listen.ip().is_loopback() {
        add(
            Grade::Note,
            format!("`public_url` is not set, and the server listens on {}", config.listen),
            "The pages of the sandbox's payments are given out under that address, which people may not reach.",
            "set `public_url` to the address that people see",
        );
    }
    if findings.is_empty() {
        findings.push(Finding::fine(SUBJECT, "`serve` would take them", "Nothing in them is unsafe alone or together."));
    }
    findings
}

/// A file with keys in it that others may read.
pub(super) fn look_at_file(file: &Path) -> Option<Finding> {
    let names_key = std::fs::read_to_string(file).ok()?.lines().any(|line| {
        let name = line.split('=').next().unwrap_or_default().trim();
        SECRET_SETTINGS.contains(&name)
    });
    let mode = mode_of(file)?;
    (names_key && mode & 0o077 != 0).then(|| {
        Finding::new(
            SUBJECT,
            Grade::Warning,
            format!("{} has a key in it and the mode {:o}", file.display(), mode & 0o777),
            "Other users of this machine can read the key, and then do everything.",
            format!("chmod 600 {}, owned by the user of the server", file.display()),
        )
    })
}

/// The permissions of a file, where there are such.
pub(super) fn mode_of(file: &Path) -> Option<u32> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(file).ok()?.permissions()));
    #[cfg(not(unix))]
    return None;
}

#[cfg(test)]
mod tests {
    use nevertwice_server::config::Secret;

    use super::*;

    #[test]
    fn what_one_may_not_have_meant_is_named() {
        let with_keys = || Config { operator_key: Some(Secret::new("0123456789abcdef")), ..Config::default() };
        let check = |config: Config, grade, told: &str| {
            config.check().expect("`serve` takes it");
            let findings = judge(&config);
            assert!(findings.iter().any(|finding| finding.grade == grade && finding.found.contains(told)), "{findings:?}");
        };
        check(with_keys(), Grade::Fine, "would take");
        check(Config::default(), Grade::Note, "no keys");
        check(Config { level: Level::Decided, ..with_keys() }, Grade::Warning, "`decided`");
        check(Config { snapshot_bytes: 0, ..with_keys() }, Grade::Warning, "`snapshot_bytes`");
        check(Config { drain_ms: 5, ..with_keys() }, Grade::Warning, "`drain_ms` (5)");
        check(Config { listen: ([10, 0, 0, 1], 80).into(), ..with_keys() }, Grade::Note, "`public_url`");
    }

    #[test]
    fn settings_that_serve_refuses_are_an_error_and_the_folder_is_still_looked_at() {
        let flags = vec![("sweep_ms".to_owned(), "999999".to_owned())];
        let (config, findings) = look(Ok(Sources { flags, ..Sources::default() }), Some("/srv/data".into()));
        assert_eq!(config.data, Path::new("/srv/data"));
        assert!(findings[0].grade == Grade::Error && findings[0].found.contains("a quarter"), "{findings:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_with_a_key_is_for_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::TempDir::new().expect("a folder can be made");
        let file = folder.path().join("n.toml");
        for (text, mode, told) in [
            ("operator_key = \"0123456789abcdef\"\n", 0o644, true),
            ("operator_key = \"0123456789abcdef\"\n", 0o600, false),
            ("tls_key = \"/etc/nevertwice/tls.key\"\n", 0o640, false),
            ("listen = \"127.0.0.1:1\"\n", 0o644, false),
        ] {
            std::fs::write(&file, text).expect("it can be written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is ours");
            let finding = look_at_file(&file);
            assert_eq!(finding.is_some(), told, "{text} {mode:o}");
            assert!(!format!("{finding:?}").contains("0123456789"), "the key is not told");
        }
    }
}
