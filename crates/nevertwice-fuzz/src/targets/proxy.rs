//! The settings of a proxy.

use nevertwice_api::{ErrorCode, Level, Levels};
use nevertwice_idempotency::proxy::{IdentityConfig, LevelChoice, ProxyConfig, ProxyError};

use crate::Verdict;

/// What they are made of.
pub const WORDS: &[&str] = &[
    "upstream = \"http://127.0.0.1:9000\"\n",
    "listen = \"127.0.0.1:8080\"\n",
    "trusted_proxies = \"127.0.0.1, 10.0.0.0/8\"\n",
    "identity = { header = { principal = \"X-User\" } }\n",
    "identity = \"nobody\"\n",
    "first_byte_ms = ",
    "whole_ms = ",
    "connections_max = ",
    "secret_file = \"s\"\n",
    "[bodies]\n",
    "[store]\n",
    "[[routes]]\n",
    "methods = [\"POST\"]\n",
    "path = \"/{*rest}\"\n",
    "path = \"/v1/{id}/x\"\n",
    "preset = \"stripe\"\n",
    "levels = [\"journaled\"]\n",
    "oversize = { spill = 1000 }\n",
    "query = { named = [\"page\"] }\n",
    "lease_ms = ",
    "retention_ms = ",
    "missing_status = ",
    "{*",
    "}",
    "\"",
    "-1",
    "0",
    "18446744073709551615",
    "\n",
    "#",
];

/// The input is the file. Accepted: a proxy would start with it.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let read = ProxyConfig::from_toml("proxy.toml", &text);
    let previewed = read.and_then(|config| config.preview(Levels::reached(Level::Journaled)).map(|lines| (config, lines)));
    match previewed {
        Ok((config, lines)) => {
            check(&config);
            assert_eq!(lines.len(), config.routes.len().max(1), "one line for each route");
            assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
            Verdict::Accepted
        }
        Err(ProxyError { code, detail }) => {
            assert_eq!(code, ErrorCode::ConfigurationInvalid);
            assert!(detail.contains("Nothing was started.") && detail.len() < 16 << 10, "{detail}");
            assert!(!detail.contains(char::is_control), "{detail:?}");
            Verdict::Refused
        }
    }
}

/// What is taken is sound.
fn check(config: &ProxyConfig) {
    assert!(config.upstream.is_some());
    assert!(0 < config.connect_ms && config.connect_ms < config.first_byte_ms && config.first_byte_ms <= config.whole_ms);
    assert!(config.connections_max > 0 && config.requests_max > 0 && config.streams_max > 0 && config.headers_max > 0);
    assert_eq!(config.tls_certificate.is_some(), config.tls_key.is_some());
    assert!(config.secret_file.is_some() || config.previous_secret_file.is_none());
    let is_by_header = matches!(config.identity, IdentityConfig::Header { .. });
    assert!(!is_by_header || !config.trusted_proxies.is_empty(), "nobody's header would be believed");
    for route in &config.routes {
        assert!(route.path.starts_with('/') && !route.methods.is_empty(), "{route:?}");
        assert!(!route.levels.contains(&LevelChoice::Replicated), "no store that a proxy opens reaches it");
    }
}
