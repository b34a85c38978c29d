//! Configuration: a file, the environment, and the flags of the command line.

use nevertwice_api::ErrorCode;
use nevertwice_server::config::Sources;
use nevertwice_server::fuzzing::configuration;

use crate::Verdict;

/// What stands for secrets in the inputs, and the secrets, which nothing may show.
const SECRETS: [(&str, &str); 2] = [("$KEY", "hush-0123456789-hush"), ("$NUMBER", "7310092834410098")];

/// What stands before the `=` of a line in which a secret is in its own place.
const OWN_PLACES: &[&str] =
    &["operator_key", "service_key", "env:NEVERTWICE_OPERATOR_KEY", "env:NEVERTWICE_SERVICE_KEY", "flag:operator_key", "flag:service_key"];

/// What configurations are made of.
pub const WORDS: &[&str] = &[
    "operator_key = \"$KEY\"\n",
    "service_key = ",
    "$KEY",
    "$NUMBER",
    "\"",
    "\n",
    " = ",
    "env:NEVERTWICE_",
    "flag:",
    "OPERATOR_KEY=$KEY\n",
    "listen",
    "127.0.0.1:0",
    "0.0.0.0:80",
    "retention_ms",
    "hold_ms = 1\n",
    "sweep_ms",
    "level",
    "journaled",
    "ledgered",
    "[",
    "]",
    "{",
    "}",
    "'''",
    "\"\"\"",
    "1e9",
    "0x7f",
    "true",
    "9223372036854775808",
    "-1",
    "public_url",
    "http://",
    "data = ''\n",
    "person_key_file",
    "#",
    "\\u0000",
];

/// The input is a TOML file, but for lines that begin with `env:` or `flag:` and hold `key=value`.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let text = SECRETS.iter().fold(text, |text, (placeholder, secret)| text.replace(placeholder, secret));
    let mut sources = Sources::default();
    let mut toml = String::new();
    for line in text.split_inclusive('\n') {
        let pair = |rest: &str| {
            let (key, value) = rest.trim_end_matches('\n').split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        };
        if let Some(rest) = line.strip_prefix("env:") {
            sources.environment.extend(pair(rest));
        } else if let Some(rest) = line.strip_prefix("flag:") {
            sources.flags.extend(pair(rest));
        } else {
            toml.push_str(line);
        }
    }
    match configuration(&toml, &sources) {
        Ok(config) => {
            config.check().expect("what was taken is sound");
            assert!(!shows_secret(&text, &format!("{config:?}")), "a key is shown: {config:?}");
            Verdict::Accepted
        }
        Err(error) => {
            assert!(matches!(error.code, ErrorCode::ConfigurationInvalid | ErrorCode::CredentialsRequired), "{error}");
            assert!(error.detail.contains("Nothing was started."), "{error}");
            assert!(!shows_secret(&text, &error.to_string()), "a key is shown: {error}");
            Verdict::Refused
        }
    }
}

/// Whether a secret is shown that stood in its own place. (In the place of something else it may be, for nobody can know.)
fn shows_secret(text: &str, shown: &str) -> bool {
    let is_in_place = |line: &str| line.split_once('=').is_some_and(|(name, _)| OWN_PLACES.contains(&name.trim_end()));
    SECRETS.iter().any(|(_, secret)| shown.contains(secret) && text.lines().filter(|line| line.contains(secret)).all(is_in_place))
}
