//! From where, and to whom.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nevertwice_idempotency::proxy::StoreUrl;
use nevertwice_ledger::Address;
use nevertwice_ledger::publisher::{PublisherOptions, WebhookSecret};
use nevertwice_server::Poster;
use serde::Deserialize;

use super::courier::{Clock, Route, WebhookCourier};
use crate::database;

/// The largest file of settings.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Endpoints, at most.
const ENDPOINTS_MAX: usize = 256;

/// Letters of an endpoint's name, at most.
const NAME_BYTES_MAX: usize = 128;

/// All settings of a publisher.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PublishSettings {
    /// The database: `sqlite:PATH` or `postgres://…`.
    address: Option<StoreUrl>,
    /// The file with the password for it.
    password_file: Option<PathBuf>,
    /// How often it is looked for new messages.
    pub(super) look_ms: u64,
    /// How long this process is the one that publishes, without a renewal.
    lease_ms: i64,
    /// The pause after the first failed try; it doubles.
    pause_ms: i64,
    /// The longest pause.
    pause_ms_max: i64,
    /// Tries before a message is a dead letter.
    tries_max: i64,
    /// What is logged, as a filter of targets and levels.
    pub(super) log: String,
    /// To whom.
    endpoints: Vec<Endpoint>,
}

/// To whom.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Endpoint {
    name: String,
    url: String,
    secret_file: PathBuf,
    #[serde(default = "timeout_ms")]
    timeout_ms: u64,
    ca: Option<PathBuf>,
}

const fn timeout_ms() -> u64 {
    10_000
}

impl Default for PublishSettings {
    fn default() -> Self {
        let PublisherOptions { lease_ms, pause_ms, pause_ms_max, tries_max, .. } = PublisherOptions::default();
        Self {
            address: None,
            password_file: None,
            look_ms: 200,
            lease_ms,
            pause_ms,
            pause_ms_max,
            tries_max,
            log: "info".to_owned(),
            endpoints: Vec::new(),
        }
    }
}

impl PublishSettings {
    /// Reads a file of settings, and refuses what is nonsense.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let wrong = |what: String| format!("{} {what}", path.display());
        let length = std::fs::metadata(path).map_err(|error| wrong(format!("can't be read: {error}")))?.len();
        if length > CONFIG_BYTES_MAX {
            return Err(wrong(format!("is larger than {CONFIG_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("can't be read: {error}")))?;
        let settings: Self = toml::from_str(&text).map_err(|error| wrong(format!("is no file of settings: {}", error.message())))?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
        let mut wrong = Vec::new();
        let mut refuse = |is_wrong: bool, text: &str| {
            if is_wrong {
                wrong.push(text.to_owned());
            }
        };
        refuse(self.address.is_none(), "`address` is missing: it names the database with the outbox");
        refuse(!(10..=60_000).contains(&self.look_ms), "`look_ms` must be from 10 to 60000");
        refuse(!(1..=DAY_MS).contains(&self.pause_ms), "`pause_ms` must be from 1 to a day");
        refuse(self.pause_ms_max < self.pause_ms || self.pause_ms_max > DAY_MS, "`pause_ms_max` must be from `pause_ms` to a day");
        refuse(!(1..=1_000).contains(&self.tries_max), "`tries_max` must be from 1 to 1000");
        refuse(self.endpoints.len() > ENDPOINTS_MAX, "there are more than 256 endpoints");
        for endpoint in &self.endpoints {
            let is_name = (1..=NAME_BYTES_MAX).contains(&endpoint.name.len()) && endpoint.name.bytes().all(|byte| byte.is_ascii_graphic());
            refuse(!is_name, "an endpoint's `name` must be of 1 to 128 visible ASCII letters");
            let timeout_ms = i64::try_from(endpoint.timeout_ms).unwrap_or(i64::MAX);
            // One that is slow must not outlast the lease: another would carry the same message meanwhile.
            refuse(
                timeout_ms < 1 || timeout_ms >= self.lease_ms / 2,
                "an endpoint's `timeout_ms` must be from 1 to less than half of `lease_ms`",
            );
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Where the database is.
    pub(super) fn address(&self) -> Result<Address, String> {
        let address = self.address.as_ref().map_or("", StoreUrl::reveal);
        database::address("address", address, self.password_file.as_deref())
    }

    /// The names of the endpoints.
    pub(super) fn names(&self) -> Vec<String> {
        self.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect()
    }

    /// How the publisher works.
    pub(super) fn options(&self, holder: String) -> PublisherOptions {
        PublisherOptions {
            holder,
            endpoints: self.names(),
            lease_ms: self.lease_ms,
            pause_ms: self.pause_ms,
            pause_ms_max: self.pause_ms_max,
            tries_max: self.tries_max,
            ..PublisherOptions::default()
        }
    }

    /// Who carries.
    pub(super) fn courier(&self, clock: Clock) -> Result<WebhookCourier, String> {
        let mut routes = BTreeMap::new();
        for Endpoint { name, url, secret_file, timeout_ms, ca } in &self.endpoints {
            let wrong = |what: String| format!("the endpoint `{name}` can't be used: {what}");
            let file = secret_file.display();
            let text = std::fs::read_to_string(secret_file).map_err(|error| wrong(format!("{file} can't be read: {error}")))?;
            let secret: WebhookSecret = text.trim().parse().map_err(|fault| wrong(format!("{file} has no secret in it: {fault}")))?;
            let poster = Poster::new(url, ca.as_deref()).map_err(wrong)?;
            if routes.insert(name.clone(), Arc::new(Route::new(poster, secret, *timeout_ms))).is_some() {
                return Err(wrong("there is another one of that name".to_owned()));
            }
        }
        Ok(WebhookCourier::new(routes, clock))
    }
}
