//! What a proxy can be told, by a TOML file or in code.

use std::net::SocketAddr;
use std::path::PathBuf;

use nevertwice_api::{Level, Levels, Networks, ShareBounds};
use serde::Deserialize;

use super::caller::CallerByHeader;
use super::error::ProxyError;
use super::routes_config::{EVERYTHING, RouteConfig, routes};
use super::store_url::StoreUrl;
use super::upstream_url::UpstreamUrl;
use crate::keys::check_policies;
use crate::{MemoryBounds, Policy, StoreLimits};

/// Which `Host` the upstream sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostSeen {
    /// That of the client's request.
    #[default]
    Client,
    /// That of the upstream's URL.
    Upstream,
}

/// Which HTTP is spoken to the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum UpstreamHttp {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2, with prior knowledge where there is no TLS.
    #[serde(rename = "2")]
    Two,
    /// What the handshake of TLS agrees on; HTTP/1.1 without TLS.
    #[serde(rename = "auto")]
    Auto,
}

/// How callers are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IdentityConfig {
    /// By a digest of the `Authorization` header: other credentials are another caller.
    Authorization,
    /// By headers that an authenticating front sets. They count only where a trusted proxy has sent them.
    Header {
        /// The header with the principal.
        principal: String,
        /// The header with the tenant, if there are several.
        #[serde(default)]
        tenant: Option<String>,
    },
    /// By nothing: only routes with `anonymous_shares` take requests.
    Nobody,
}

/// Where the bodies of guarded requests are kept until they are sent on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bodies {
    /// The most bytes of one body in memory; a larger one lies in a file.
    pub one_in_memory_bytes_max: u64,
    /// The most bytes of all of them in memory. Beyond it every body lies in a file.
    pub memory_bytes_max: u64,
    /// The most bytes of all of them in files. Beyond it requests are refused.
    pub disk_bytes_max: u64,
    /// The folder of the files; the system's for temporary files if absent.
    pub folder: Option<PathBuf>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self { one_in_memory_bytes_max: 64 << 10, memory_bytes_max: 64 << 20, disk_bytes_max: 1 << 30, folder: None }
    }
}

/// Which store there is, what it holds, and the patience with it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// What keeps keys, for whoever opens the store: a database, `sqlite:PATH` or `postgres://…`, or a Redis server, `redis://…` or
    /// `rediss://…`. They are kept in `data`, or in memory, if absent.
    pub url: Option<StoreUrl>,
    /// The file with the password for the database.
    pub password_file: Option<PathBuf>,
    /// What every answer of a Redis server has reached.
    pub level: Level,
    /// How many replicas of it have to confirm before something is `replicated`; 0: that level is not offered.
    pub replicas: u32,
    /// How long an answer waits for their confirmation.
    pub replicas_wait_ms: u64,
    /// Whether the operator vouches that it syncs its append-only file before each reply, which it does not show.
    pub fsync_vouched: bool,
    /// The most keys that are remembered.
    pub records_max: u64,
    /// The most bytes of all answers that are kept.
    pub answers_bytes_max: u64,
    /// The most bytes of one answer that is kept.
    pub answer_bytes_max: u64,
    /// The most keys of one caller (of one tenant, where tenants are named); 0: half of all.
    pub records_per_principal_max: u64,
    /// The most bytes of one caller's answers; 0: half of all.
    pub answers_bytes_per_principal_max: u64,
    /// How long one operation of the store may take.
    pub operation_ms: u64,
    /// Failures in a row after which it is left alone.
    pub failures_max: u32,
    /// For how long.
    pub rest_ms: u64,
    /// How often records whose retention is over are looked for.
    pub sweep_ms: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        let (bounds, limits) = (MemoryBounds::default(), StoreLimits::default());
        Self {
            url: None,
            password_file: None,
            level: Level::Decided,
            replicas: 0,
            replicas_wait_ms: 200,
            fsync_vouched: false,
            records_max: bounds.records_max,
            answers_bytes_max: bounds.answers_bytes_max,
            answer_bytes_max: bounds.answer_bytes_max,
            records_per_principal_max: bounds.of_one.records_max,
            answers_bytes_per_principal_max: bounds.of_one.answers_bytes_max,
            operation_ms: limits.operation_ms,
            failures_max: limits.failures_max,
            rest_ms: limits.rest_ms,
            sweep_ms: 1_000,
        }
    }
}

impl StoreConfig {
    /// What the store in memory holds.
    #[must_use]
    pub const fn memory_bounds(&self) -> MemoryBounds {
        MemoryBounds {
            records_max: self.records_max,
            answers_bytes_max: self.answers_bytes_max,
            answer_bytes_max: self.answer_bytes_max,
            of_one: self.of_one(),
        }
    }

    /// What one caller may hold of any store.
    #[must_use]
    pub const fn of_one(&self) -> ShareBounds {
        ShareBounds { records_max: self.records_per_principal_max, answers_bytes_max: self.answers_bytes_per_principal_max }
    }

    pub(super) const fn limits(&self) -> StoreLimits {
        StoreLimits { operation_ms: self.operation_ms, failures_max: self.failures_max, rest_ms: self.rest_ms }
    }
}

/// All settings of a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyConfig {
    /// The service behind the proxy: `http://` or `https://`, a host and a port. It has no default.
    pub upstream: Option<UpstreamUrl>,
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address of health and metrics; nobody is asked for credentials there.
    pub admin: Option<SocketAddr>,
    /// Proxies whose `X-Forwarded-*`, `Forwarded` and identity headers are believed: addresses and networks, separated by commas.
    pub trusted_proxies: Networks,
    /// How callers are told apart.
    pub identity: IdentityConfig,
    /// Which `Host` the upstream sees.
    pub host: HostSeen,
    /// Which HTTP is spoken to the upstream.
    pub upstream_http: UpstreamHttp,
    /// The certificates that the upstream's has to lead to, in PEM; the system's if absent.
    pub upstream_ca: Option<PathBuf>,
    /// How long a connection to the upstream may take, its handshake included.
    pub connect_ms: u64,
    /// How long the upstream may take to begin its answer, from the end of an unguarded request, or the begin of a guarded one.
    pub first_byte_ms: u64,
    /// How long a guarded request may take at the upstream, to the end of its answer.
    pub whole_ms: u64,
    /// How long a connection to the upstream is kept without work. Keep it below the upstream's own time.
    pub idle_ms: u64,
    /// The most connections to the upstream that are kept without work; 0: none is used twice.
    pub idle_connections_max: usize,
    /// The most connections of clients; further ones wait. As many more may have changed to another protocol; a further change is refused.
    pub connections_max: usize,
    /// The most requests that are worked on; further ones are refused.
    pub requests_max: usize,
    /// The most requests of one HTTP/2 connection that are worked on.
    pub streams_max: u32,
    /// The most bytes of a request's head.
    pub head_bytes_max: usize,
    /// The most header lines of a request.
    pub headers_max: usize,
    /// How long the head of a request may take to arrive.
    pub head_ms: u64,
    /// How long requests that are under way have when the proxy stops.
    pub drain_ms: u64,
    /// The folder of keys that outlive the process, for whoever opens the store; they are kept in memory if absent.
    pub data: Option<PathBuf>,
    /// The file with the secret under which keys are named: 64 hexadecimal digits. A store that outlives the process demands it.
    pub secret_file: Option<PathBuf>,
    /// The file with the secret before it, while it is being changed.
    pub previous_secret_file: Option<PathBuf>,
    /// The file with the proxy's certificate, and after it those that lead to its root, in PEM. It is read again when it changes.
    pub tls_certificate: Option<PathBuf>,
    /// The file with the certificate's private key, in PEM.
    pub tls_key: Option<PathBuf>,
    /// How long a client may take to agree on a key.
    pub tls_handshake_ms: u64,
    /// How often files are looked at that are read again when they change.
    pub reload_ms: u64,
    /// What is logged, as a filter of targets and levels.
    pub log: String,
    /// Where the bodies of guarded requests are kept.
    pub bodies: Bodies,
    /// The store, and the patience with it.
    pub store: StoreConfig,
    /// The guarded routes, in the order in which they are tried; POST and PATCH at every path, by the preset `ietf`, if there are none.
    pub routes: Vec<RouteConfig>,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self {
            upstream: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin: None,
            trusted_proxies: Networks::default(),
            identity: IdentityConfig::Authorization,
            host: HostSeen::Client,
            upstream_http: UpstreamHttp::One,
            upstream_ca: None,
            connect_ms: 2_000,
            first_byte_ms: 30_000,
            whole_ms: 600_000,
            idle_ms: 4_000,
            idle_connections_max: 256,
            connections_max: 10_000,
            requests_max: 10_000,
            streams_max: 128,
            head_bytes_max: 64 << 10,
            headers_max: 100,
            head_ms: 30_000,
            drain_ms: 30_000,
            data: None,
            secret_file: None,
            previous_secret_file: None,
            tls_certificate: None,
            tls_key: None,
            tls_handshake_ms: 10_000,
            reload_ms: 10_000,
            log: "info".to_owned(),
            bodies: Bodies::default(),
            store: StoreConfig::default(),
            routes: Vec::new(),
        }
    }
}

impl ProxyConfig {
    /// The longest that a key is remembered, of all routes.
    #[must_use]
    pub fn retention_ms_max(&self) -> i64 {
        let usual = Policy::ietf().retention_ms;
        self.routes.iter().map(|route| route.retention_ms.unwrap_or(usual)).max().unwrap_or(usual)
    }

    /// Reads settings from TOML. `name` is the file's, for people.
    ///
    /// # Errors
    /// If it is no TOML, a key is unknown, or a value is of the wrong type. Whether the values fit each other is looked at by
    /// [`check`](Self::check).
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ProxyError> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            ProxyError::configuration(format!("{name}, line {line}: {}", error.message()))
        })
    }

    /// The patterns of the guarded routes, under which they are observed.
    #[must_use]
    pub fn patterns(&self) -> Vec<String> {
        if self.routes.is_empty() { vec![EVERYTHING.to_owned()] } else { self.routes.iter().map(|route| route.path.clone()).collect() }
    }

    /// What a start with these settings and a store of those levels would say of its routes. No file is read and nothing is opened.
    ///
    /// # Errors
    /// If the settings have nonsense in them, or a policy does.
    pub fn preview(&self, offers: Levels) -> Result<Vec<String>, ProxyError> {
        self.check()?;
        CallerByHeader::of(&self.identity)?;
        let (routes, lines) = routes(&self.routes)?;
        check_policies(&routes, offers).map_err(ProxyError::configuration)?;
        Ok(lines)
    }

    /// Refuses settings that are nonsense, or unsafe together. All that is wrong is named at once.
    ///
    /// # Errors
    /// If anything is wrong.
    pub fn check(&self) -> Result<(), ProxyError> {
        let mut wrong = Vec::new();
        if self.upstream.is_none() {
            wrong.push("`upstream` is missing: it names the service behind the proxy, such as http://127.0.0.1:9000".to_owned());
        }
        if self.connect_ms == 0 || self.connect_ms >= self.first_byte_ms {
            wrong.push("`connect_ms` must be from 1 to less than `first_byte_ms`".to_owned());
        }
        if self.first_byte_ms > self.whole_ms {
            wrong.push("`first_byte_ms` must not be more than `whole_ms`".to_owned());
        }
        let mut in_range = |key: &str, value: u64, min: u64, max: u64| {
            if value < min || value > max {
                wrong.push(format!("`{key}` must be from {min} to {max}, and is {value}"));
            }
        };
        const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
        in_range("whole_ms", self.whole_ms, 2, DAY_MS);
        in_range("idle_ms", self.idle_ms, 1, DAY_MS);
        in_range("connections_max", self.connections_max as u64, 1, 1 << 20);
        in_range("requests_max", self.requests_max as u64, 1, 1 << 20);
        in_range("streams_max", self.streams_max.into(), 1, 1 << 16);
        in_range("head_bytes_max", self.head_bytes_max as u64, 8 << 10, 1 << 20);
        in_range("headers_max", self.headers_max as u64, 1, 10_000);
        in_range("head_ms", self.head_ms, 1, DAY_MS);
        in_range("tls_handshake_ms", self.tls_handshake_ms, 1, DAY_MS);
        in_range("reload_ms", self.reload_ms, 100, DAY_MS);
        in_range("store.operation_ms", self.store.operation_ms, 1, DAY_MS);
        in_range("store.failures_max", self.store.failures_max.into(), 1, u32::MAX.into());
        in_range("store.sweep_ms", self.store.sweep_ms, 10, DAY_MS);
        in_range("store.replicas", self.store.replicas.into(), 0, 64);
        in_range("store.replicas_wait_ms", self.store.replicas_wait_ms, 1, self.store.operation_ms);
        self.check_store(&mut wrong);
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            wrong.push("one of `tls_certificate` and `tls_key` came without the other".to_owned());
        }
        if self.store.url.is_some() && self.data.is_some() {
            wrong.push("`data` and `store.url` both say where keys are kept: name one of them".to_owned());
        }
        if self.store.password_file.is_some() && self.store.url.is_none() {
            wrong.push("`store.password_file` came without `store.url`".to_owned());
        }
        if self.previous_secret_file.is_some() && self.secret_file.is_none() {
            wrong.push("`previous_secret_file` came without `secret_file`".to_owned());
        }
        if matches!(self.identity, IdentityConfig::Header { .. }) && self.trusted_proxies.is_empty() {
            wrong.push("callers are told apart by a header, and `trusted_proxies` names nobody whose header is believed".to_owned());
        }
        if self.upstream_http == UpstreamHttp::Two && self.host == HostSeen::Client {
            wrong.push("`upstream_http` is 2, which needs `host = \"upstream\"`; the client's is in `X-Forwarded-Host`".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(ProxyError::configuration(wrong.join("; "))) }
    }

    fn check_store(&self, wrong: &mut Vec<String>) {
        let StoreConfig { url, level, replicas, fsync_vouched, .. } = &self.store;
        if url.is_some() && self.data.is_some() {
            wrong.push("`data` and `store.url` both say where keys are kept: name one of them".to_owned());
        }
        if url.is_none() && (*level != Level::Decided || *replicas > 0 || *fsync_vouched) {
            wrong.push(
                "`store.level`, `store.replicas` and `store.fsync_vouched` are about the server of `store.url`, which is not named"
                    .to_owned(),
            );
        }
    }
}
