//! What can be set, its default, and what it means: one list, from which the docs are made.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use nevertwice_api::Level;
use nevertwice_local::KEYS_FOLDER;
use serde::Deserialize;
use tokio::time::Duration;

use super::{KeysStore, Networks, Secret, Shards};
use crate::access::JwtAlgorithms;
use crate::app::Limits;
use crate::limits::{Bounds, LimiterOptions, Rate, TurnsOptions};
use crate::{person_secret, secret_file};

/// A setting, for the docs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key.
    pub key: &'static str,
    /// Its default, as the docs show it.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! settings {
    ($($(#[doc = $meaning:literal])* $key:ident: $ty:ty = $default:expr, $shown:literal;)*) => {
        /// What can be set.
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            $($(#[doc = $meaning])* pub $key: $ty,)*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($key: $default),* }
            }
        }

        /// All settings, in the order of the docs.
        pub const SETTINGS: &[Setting] = &[$(Setting { key: stringify!($key), default: $shown, meaning: concat!($($meaning),*) }),*];
    };
}

/// The settings that are secrets: they are not taken from the command line, where everybody on the machine could see them.
pub const SECRET_SETTINGS: &[&str] = &["operator_key", "service_key", "otlp_headers"];

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

settings! {
    /// The address to listen on; port 0 takes a free one. Without credentials it must be a loopback address, and a request's `Host` has to be a loopback address, `localhost` or the host of `public_url`.
    listen: SocketAddr = LOOPBACK, "127.0.0.1:8080";
    /// The data folder. One process uses it at a time.
    data: PathBuf = PathBuf::from("nevertwice-data"), "nevertwice-data";
    /// The file with the secret from which the digests of persons are made; if absent, the data folder's path with `.key` added. Made at the first start.
    person_key_file: Option<PathBuf> = None, "";
    /// The address under which people reach the server, for the pages of payments; if absent, `http://` (or `https://`) and the bound address.
    public_url: Option<String> = None, "";
    /// The key that may do everything; 16 to 512 visible ASCII characters. It is never logged.
    operator_key: Option<Secret> = None, "";
    /// The key with which a service acts for principals: orders, bookings and reads. It is never logged.
    service_key: Option<Secret> = None, "";
    /// The file with the digests of API keys, which `nevertwice key` makes. It is read again when it changes.
    keys_file: Option<PathBuf> = None, "";
    /// The issuer whose JWTs are taken, exactly as their `iss` has it; 1 to 256 visible ASCII characters. With it `jwt_audience`, `jwt_algorithms` and a file of keys are needed.
    jwt_issuer: Option<String> = None, "";
    /// For whom JWTs have to be meant: their `aud` is it, or has it among others; 1 to 256 visible ASCII characters.
    jwt_audience: Option<String> = None, "";
    /// The algorithms by which JWTs may be signed, separated by commas: of `RS256`, `ES256`, `EdDSA` and `HS256`.
    jwt_algorithms: JwtAlgorithms = JwtAlgorithms::default(), "";
    /// The file with the issuer's public keys as a JWK Set, for RS256, ES256 and EdDSA. It is read again when it changes.
    jwt_jwks_file: Option<PathBuf> = None, "";
    /// The file with one public key in PEM, for RS256, ES256 or EdDSA. It is read again when it changes.
    jwt_key_file: Option<PathBuf> = None, "";
    /// The file with the secrets of HS256, one a line, each of 32 to 512 visible ASCII characters. It is read again when it changes.
    jwt_secret_file: Option<PathBuf> = None, "";
    /// For which shards JWTs are, separated by commas: `market/NAME` and `sale/NAME`; if absent, for all.
    jwt_shards: Shards = Shards::default(), "";
    /// By how much the issuer's clock and this one may differ when the times of a JWT are looked at.
    jwt_leeway_ms: i64 = 30_000, "30000";
    /// The file with the server's certificate, and after it those that lead to its root, in PEM. With it and `tls_key` the server speaks TLS 1.3 and 1.2 alone. It is read again when it changes.
    tls_certificate: Option<PathBuf> = None, "";
    /// The file with the certificate's private key, in PEM and not encrypted. It is read again when it changes.
    tls_key: Option<PathBuf> = None, "";
    /// How long a client may take to agree on a key, before its connection is closed.
    tls_handshake_ms: u64 = 10_000, "10000";
    /// Proxies whose `X-Forwarded-For` is believed: addresses and networks, separated by commas. From others the header is ignored, and the address of a caller is that of the connection.
    trusted_proxies: Networks = Networks::default(), "";
    /// What is logged, as a filter of targets and levels.
    log: String = "info".to_owned(), "info";
    /// Whether the log is written as JSON.
    log_json: bool = false, "false";
    /// Where traces are sent, by OTLP over HTTP with protobuf: the address of a collector, `http://` or `https://`, to which `/v1/traces` is added. If absent, none are recorded.
    otlp_endpoint: Option<String> = None, "";
    /// The file with the certificates, in PEM, of the authorities that are believed when the collector is reached over `https://`; if absent, those of the system.
    otlp_ca_file: Option<PathBuf> = None, "";
    /// Headers that go with each request to the collector, lines `name: value`. They are never logged.
    otlp_headers: Option<Secret> = None, "";
    /// The same in a file, which is read at the start.
    otlp_headers_file: Option<PathBuf> = None, "";
    /// The name by which the collector knows the server, `service.name`; 1 to 128 characters.
    otlp_service_name: String = "nevertwice".to_owned(), "nevertwice";
    /// The share of the requests without `traceparent` that is recorded, from 0 to 1. One with a `traceparent` is recorded if that says `sampled`.
    otlp_sample_ratio: f64 = 1.0, "1";
    /// The most recorded requests that wait to be sent; further ones are dropped and counted.
    otlp_queue_max: usize = 4_096, "4096";
    /// How long a recorded request waits for others, to be sent with them.
    otlp_flush_ms: u64 = 1_000, "1000";
    /// How long the collector may take for an answer.
    otlp_timeout_ms: u64 = 5_000, "5000";
    /// When "yes" is said: `journaled` (fsynced on this node), `decided` (held in memory, lost with the process), `replicated` (fsynced here and on `replicas_min` standbys), or `ledgered` (committed in the `ledger`).
    level: Level = Level::Journaled, "journaled";
    /// The database that every entry is written to: `sqlite:PATH` or `postgres://USER@HOST/NAME`. Its tables are made at the start. If absent, there is no ledger. A password in it is never logged.
    ledger: Option<Secret> = None, "";
    /// The file with the password of that database, which is read at the start.
    ledger_password_file: Option<PathBuf> = None, "";
    /// How long an answer waits for the ledger before it is told that its outcome is unknown; at most `answer_deadline_ms`.
    ledger_wait_ms: u64 = 5_000, "5000";
    /// How far the ledger may be behind: beyond that nothing is decided until it has caught up. Less than `retention_ms`.
    ledger_lag_ms_max: u64 = 60_000, "60000";
    /// The most connections to the ledger's database.
    ledger_connections_max: u32 = 4, "4";
    /// How long a statement may take in the ledger's database.
    ledger_statement_ms: u64 = 30_000, "30000";
    /// How many standbys, each with a name of its own, have to confirm before something is `replicated`. 0: that level is not offered.
    replicas_min: usize = 0, "0";
    /// How long an answer waits for their confirmation before it is told that its outcome is unknown; at most `answer_deadline_ms`.
    replicas_wait_ms: u64 = 1_000, "1000";
    /// The most commands and reads that wait to be decided; further ones are told `overloaded`.
    queue_max: usize = 16_384, "16384";
    /// A snapshot is made after so many bytes of entries; 0: never.
    snapshot_bytes: u64 = 536_870_912, "536870912 (512 MiB)";
    /// How long an accepted intent is remembered, for markets and sales that don't say so themselves.
    retention_ms: i64 = 86_400_000, "86400000 (24 h)";
    /// Where records of keys are: `local`, in the folder `keys` of the data folder; `memory`, where they end with the process; or on a Redis server, `redis://USER:PASSWORD@HOST:PORT` or `rediss://` for TLS, which several servers may share.
    keys_store: KeysStore = KeysStore::Local, "local";
    /// The file with the secret under which keys are named: 64 hexadecimal digits. If absent, the data folder's path with `-keys.key` added, which is made at the first start. Who shares keys on a Redis server has to name it, the same for all.
    keys_secret_file: Option<PathBuf> = None, "";
    /// The file with the secret before it, for `keys_retention_ms` after it was changed: so no key is forgotten. See docs/keys-api.md.
    keys_previous_secret_file: Option<PathBuf> = None, "";
    /// What every answer about keys on a Redis server has reached: `decided`, `replicated` or `journaled`. Of other stores `level` says it.
    keys_level: Level = Level::Decided, "decided";
    /// How many replicas of that server have to confirm before something about keys is `replicated`. 0: that level is not offered.
    keys_replicas: u32 = 0, "0";
    /// How long an answer about keys waits for their confirmation; at most `answer_deadline_ms`.
    keys_replicas_wait_ms: u64 = 200, "200";
    /// Whether you vouch that that server runs with `appendfsync always`, which it does not show. Without it `journaled` is not offered.
    keys_fsync_vouched: bool = false, "false";
    /// The most records of keys; at the bound further keys are refused, and none is thrown away.
    keys_records_max: u64 = 1_000_000, "1000000";
    /// The most bytes of answers that are kept with keys, all together.
    keys_answers_bytes_max: u64 = 268_435_456, "268435456 (256 MiB)";
    /// The most records of keys of one principal; further ones of its are refused with `keys_full`. 0: half of `keys_records_max`.
    keys_records_per_principal_max: u64 = 0, "0";
    /// The most bytes of answers that are kept with one principal's keys. 0: half of `keys_answers_bytes_max`.
    keys_answers_bytes_per_principal_max: u64 = 0, "0";
    /// The most bytes of one answer, header lines and body together. Calls that bring one may be larger than `body_bytes_max` by twice that.
    keys_answer_bytes_max: u64 = 65_536, "65536";
    /// How long a key is remembered, from the last change of its record.
    keys_retention_ms: i64 = 86_400_000, "86400000 (24 h)";
    /// How long a claim of a key is, for who registers one and does not say.
    keys_lease_ms: i64 = 60_000, "60000";
    /// The longest claim that may be asked for; shorter than `keys_retention_ms`.
    keys_lease_ms_max: i64 = 3_600_000, "3600000 (1 h)";
    /// How long a seat is held for its payment, for sales that don't say so themselves.
    hold_ms: i64 = 600_000, "600000 (10 min)";
    /// How often the steward ends holds and pays holders; at most a quarter of the hold.
    sweep_ms: u64 = 5_000, "5000";
    /// How long after the end of its hold a payment that is still open may yet be made, before it is closed and its seat given back.
    closing_grace_ms: i64 = 60_000, "60000";
    /// How long a request may wait for its answer before it is told that its outcome is unknown.
    answer_deadline_ms: u64 = 10_000, "10000";
    /// How long a request's head, and then its body, may take to arrive.
    request_read_ms: u64 = 30_000, "30000";
    /// How often files that may change while the server runs are looked at: `keys_file`, those of JWTs, `tls_certificate` and `tls_key`. SIGHUP does it at once.
    reload_ms: u64 = 5_000, "5000";
    /// How long the server waits at its end for what is under way. Whose body is not there by then is told `shutting_down`, for which there is one second more.
    drain_ms: u64 = 15_000, "15000";
    /// The largest body of a request.
    body_bytes_max: usize = 262_144, "262144";
    /// The most lines of a batch of orders.
    batch_lines_max: usize = 1_000, "1000";
    /// The longest line of a batch of orders.
    batch_line_bytes_max: usize = 4_096, "4096";
    /// The largest head of a request.
    headers_bytes_max: usize = 16_384, "16384";
    /// The most header lines of a request.
    headers_max: usize = 64, "64";
    /// The most connections at a time; further ones wait to be accepted.
    connections_max: usize = 20_000, "20000";
    /// The most connections of one address at a time; further ones are closed. Trusted proxies may have as many as they like. 0: no bound.
    connections_per_address_max: usize = 10_000, "10000";
    /// The most requests under way at a time; further ones wait for their turn.
    requests_max: u32 = 8_192, "8192";
    /// The share of these, in percent, that is for operators alone.
    requests_reserved_percent: u32 = 5, "5";
    /// The most requests that wait for their turn, and a fourth of them for one credential; further ones are told `overloaded`.
    requests_waiting_max: u32 = 8_192, "8192";
    /// How long a request waits for its turn before it is told `overloaded`.
    request_wait_ms: u64 = 1_000, "1000";
    /// How many requests a second one principal may make in the long run; further ones are told `rate_limited`. 0: no bound.
    rate_per_principal: u32 = 2_000, "2000";
    /// How many requests one principal may make at once after a pause.
    burst_per_principal: u32 = 4_000, "4000";
    /// How many requests a second may come with one key in the long run. 0: no bound.
    rate_per_key: u32 = 0, "0";
    /// How many requests may come with one key at once after a pause.
    burst_per_key: u32 = 10_000, "10000";
    /// How many requests a second may come from one address in the long run. 0: no bound; behind a proxy that is not in `trusted_proxies` all come from one.
    rate_per_address: u32 = 0, "0";
    /// How many requests may come from one address at once after a pause.
    burst_per_address: u32 = 1_000, "1000";
    /// The most requests of one principal under way at a time; further ones are told `in_flight_limited`. 0: no bound.
    in_flight_per_principal_max: u32 = 1_000, "1000";
    /// The most requests under way at a time with one key. 0: no bound.
    in_flight_per_key_max: u32 = 0, "0";
    /// The most requests under way at a time from one address. 0: no bound.
    in_flight_per_address_max: u32 = 0, "0";
}

impl Config {
    /// Whether there are credentials that requests have to carry.
    #[must_use]
    pub const fn has_credentials(&self) -> bool {
        self.operator_key.is_some() || self.service_key.is_some() || self.keys_file.is_some() || self.has_jwt()
    }

    /// Whether people are known by JWTs.
    #[must_use]
    pub const fn has_jwt(&self) -> bool {
        self.jwt_issuer.is_some()
    }

    /// Whether connections are made safe by TLS.
    #[must_use]
    pub const fn has_tls(&self) -> bool {
        self.tls_certificate.is_some() && self.tls_key.is_some()
    }

    /// Where the secret of persons is: beside the data folder, never in it.
    #[must_use]
    pub fn person_key_path(&self) -> PathBuf {
        self.person_key_file.clone().unwrap_or_else(|| person_secret::path_of(&self.data))
    }

    /// Where the local store of keys is: a folder in the data folder, with a journal of its own.
    #[must_use]
    pub fn keys_path(&self) -> PathBuf {
        self.data.join(KEYS_FOLDER)
    }

    /// Where the secret of the local store of keys is: beside the data folder, never in it.
    #[must_use]
    pub fn keys_secret_path(&self) -> PathBuf {
        self.keys_secret_file.clone().unwrap_or_else(|| secret_file::beside(&self.data, "-keys.key"))
    }

    pub(crate) fn limiter(&self) -> LimiterOptions {
        let bounds = |per_second: u32, burst: u32, in_flight_max: u32| Bounds {
            rate: (per_second > 0).then_some(Rate { per_second, burst }),
            in_flight_max: (in_flight_max > 0).then_some(in_flight_max),
        };
        LimiterOptions {
            address: bounds(self.rate_per_address, self.burst_per_address, self.in_flight_per_address_max),
            credential: bounds(self.rate_per_key, self.burst_per_key, self.in_flight_per_key_max),
            principal: bounds(self.rate_per_principal, self.burst_per_principal, self.in_flight_per_principal_max),
            turns: TurnsOptions {
                under_way_max: self.requests_max,
                reserved: u32::try_from(u64::from(self.requests_max) * u64::from(self.requests_reserved_percent) / 100).unwrap_or(0),
                waiting_max: self.requests_waiting_max,
                // A turn that comes after the deadline is of no use.
                wait: Duration::from_millis(self.request_wait_ms.min(self.answer_deadline_ms)),
            },
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            body_bytes_max: self.body_bytes_max,
            // In base 64 an answer is a third longer, and its header lines have members around them.
            answer_call_bytes_max: self.body_bytes_max + 2 * usize::try_from(self.keys_answer_bytes_max).unwrap_or(0),
            batch_lines_max: self.batch_lines_max,
            batch_line_bytes_max: self.batch_line_bytes_max,
            headers_bytes_max: self.headers_bytes_max,
            headers_max: self.headers_max,
            request_read: Duration::from_millis(self.request_read_ms),
            answer_deadline: Duration::from_millis(self.answer_deadline_ms),
        }
    }
}
