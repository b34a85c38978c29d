//! The files by which callers are known: API keys, and the keys of JWTs.

use std::path::Path;

use nevertwice_server::config::Config;
use nevertwice_server::{KeyRecord, KeyRole, check_jwt_files, list_keys};

use super::finding::{Finding, Grade};
use super::permissions::{self, Kept};

const KEYS: &str = "keys file";
const JWT: &str = "JWT";

/// Keys that end before that are named.
const SOON_MS: i64 = 14 * 86_400_000;

/// The most keys that are named.
const NAMED_MAX: usize = 5;

pub(super) fn look(config: &Config, now_ms: i64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut has_operator = config.operator_key.is_some();
    if let Some(file) = &config.keys_file {
        match list_keys(file) {
            Ok(keys) => {
                has_operator |= keys.iter().any(|key| key.role == KeyRole::Operator && is_good(key, now_ms));
                findings.push(judge_keys(file, &keys, now_ms));
            }
            Err(error) => findings.push(refused(KEYS, error.to_string(), "mend the file, or name another with `keys_file`")),
        }
        findings.extend(permissions::look(KEYS, file, Kept::Open));
    }
    if config.has_jwt() {
        findings.push(match check_jwt_files(config) {
            Ok((public, secrets)) => Finding::fine(
                JWT,
                format!("{public} public keys and {secrets} secrets were read"),
                "JWTs that they have signed are taken, if they hold otherwise.",
            ),
            Err(wrong) => refused(JWT, wrong, "mend the files; docs/access.md says what they may hold"),
        });
        let files = [(&config.jwt_jwks_file, Kept::Open), (&config.jwt_key_file, Kept::Open), (&config.jwt_secret_file, Kept::Secret)];
        findings.extend(files.into_iter().filter_map(|(file, kept)| permissions::look(JWT, file.as_deref()?, kept)));
    }
    if config.has_credentials() && !has_operator {
        findings.push(Finding::new(
            KEYS,
            Grade::Warning,
            "there is no `operator_key`, and no key of an operator that is taken now",
            "Nobody can do an operator's work on this server.",
            "make one with `nevertwice key make --role operator`",
        ));
    }
    findings
}

fn refused(subject: &'static str, wrong: String, advice: &str) -> Finding {
    let means = "`serve` would refuse to start; one that runs goes on with what it had read.";
    Finding::new(subject, Grade::Error, wrong, means, advice)
}

fn is_good(key: &KeyRecord, now_ms: i64) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| now_ms < expires_at)
}

fn judge_keys(file: &Path, keys: &[KeyRecord], now_ms: i64) -> Finding {
    let good: Vec<&KeyRecord> = keys.iter().filter(|key| is_good(key, now_ms)).collect();
    let found = format!("{} keys in {}, {} of them taken now", keys.len(), file.display(), good.len());
    let ends_soon = |key: &&&KeyRecord| key.expires_at.is_some_and(|expires_at| expires_at.saturating_sub(now_ms) < SOON_MS);
    let soon: Vec<&str> = good.iter().filter(ends_soon).map(|key| key.id.as_str()).collect();
    if soon.is_empty() {
        return Finding::fine(KEYS, found, "Callers with these keys are let in.");
    }
    let named = soon.get(..NAMED_MAX).map_or_else(|| soon.join(", "), |first| format!("{} and others", first.join(", ")));
    let advice = "make the next keys now and hand them out; both are taken for a while (docs/access.md)";
    Finding::new(
        KEYS,
        Grade::Warning,
        format!("{found}; within 14 days these end: {named}"),
        "From then on their callers are refused.",
        advice,
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nevertwice_server::{KeyId, WantedKey, make_key, revoke_key};
    use tempfile::TempDir;

    use super::*;

    const NOW_MS: i64 = 1_790_000_000_000;

    fn make(file: &Path, id: &str, role: KeyRole, ends_ms: Option<i64>) {
        let id = KeyId::new(id).expect("an id");
        let wanted = WantedKey { id, role, shards: None, expires_at: ends_ms.map(|ms| NOW_MS + ms) };
        make_key(file, wanted, NOW_MS).expect("a key is made");
    }

    fn check(config: &Config, now_ms: i64, subject: &str, grade: Grade, told: &str) {
        let findings = look(config, now_ms);
        let is_it = |finding: &Finding| finding.subject == subject && finding.grade == grade && finding.found.contains(told);
        assert!(findings.iter().any(is_it), "{told}: {findings:?}");
    }

    #[test]
    fn keys_that_end_and_missing_operators_are_told() {
        let folder = TempDir::new().expect("a folder can be made");
        let file = folder.path().join("keys.toml");
        let config = Config { keys_file: Some(file.clone()), ..Config::default() };
        check(&config, NOW_MS, KEYS, Grade::Error, "keys.toml");
        make(&file, "web-1", KeyRole::Service, None);
        check(&config, NOW_MS, KEYS, Grade::Fine, "1 keys");
        check(&config, NOW_MS, KEYS, Grade::Warning, "no key of an operator");
        make(&file, "desk-1", KeyRole::Operator, Some(SOON_MS));
        check(&config, NOW_MS, KEYS, Grade::Fine, "2 of them");
        assert!(!look(&config, NOW_MS).iter().any(|finding| finding.found.contains("operator")));
        check(&config, NOW_MS + 1, KEYS, Grade::Warning, "end: desk-1");
        check(&config, NOW_MS + SOON_MS, KEYS, Grade::Warning, "no key of an operator");
        revoke_key(&file, "desk-1", NOW_MS).expect("it is revoked");
        check(&config, NOW_MS, KEYS, Grade::Warning, "no key of an operator");
        fs::write(&file, "hush-0123456789").expect("it can be written");
        assert!(!format!("{:?}", look(&config, NOW_MS)).contains("hush"));
    }

    #[test]
    fn the_keys_of_jwts_are_read_as_a_start_would() {
        let folder = TempDir::new().expect("a folder can be made");
        let (jwks, secret) = (folder.path().join("jwks.json"), folder.path().join("secret"));
        let config = Config {
            jwt_issuer: Some("https://login.example".to_owned()),
            jwt_audience: Some("tickets".to_owned()),
            jwt_algorithms: "EdDSA, HS256".parse().expect("algorithms"),
            jwt_jwks_file: Some(jwks.clone()),
            jwt_secret_file: Some(secret.clone()),
            ..Config::default()
        };
        check(&config, NOW_MS, JWT, Grade::Error, "can't be opened");
        fs::write(&jwks, r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#).expect("written");
        fs::write(&secret, "hush-hush-0123456789-0123456789-0123456789").expect("written");
        check(&config, NOW_MS, JWT, Grade::Fine, "1 public keys and 1 secrets");
        check(&config, NOW_MS, KEYS, Grade::Warning, "no key of an operator");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |file: &Path, mode| fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("it is ours");
            mode(&secret, 0o644);
            check(&config, NOW_MS, JWT, Grade::Warning, "secret has the mode 644");
            mode(&secret, 0o600);
            mode(&jwks, 0o666);
            check(&config, NOW_MS, JWT, Grade::Warning, "jwks.json has the mode 666");
        }
        fs::write(&secret, "hush").expect("written");
        check(&config, NOW_MS, JWT, Grade::Error, "32");
        assert!(!format!("{:?}", look(&config, NOW_MS)).contains("hush"));
    }
}
