//! What can be set, its default, and what it means: one list, from which the docs are made.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use nevertwice_api::Level;
use serde::Deserialize;
use tokio::time::Duration;

use super::{Networks, Secret};
use crate::app::Limits;

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

const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

settings! {
    /// The address to listen on; port 0 takes a free one. Without credentials it must be a loopback address, and a request's `Host` has to be a loopback address, `localhost` or the host of `public_url`.
    listen: SocketAddr = LOOPBACK, "127.0.0.1:8080";
    /// The data folder. One process uses it at a time.
    data: PathBuf = PathBuf::from("nevertwice-data"), "nevertwice-data";
    /// The file with the secret from which the digests of persons are made; if absent, the data folder's path with `.key` added. Made at the first start.
    person_key_file: Option<PathBuf> = None, "";
    /// The address under which people reach the server, for the pages of payments; if absent, `http://` and the bound address.
    public_url: Option<String> = None, "";
    /// The key that may do everything; 16 to 512 visible ASCII characters. It is never logged.
    operator_key: Option<Secret> = None, "";
    /// The key with which a service acts for principals: orders, bookings and reads. It is never logged.
    service_key: Option<Secret> = None, "";
    /// Proxies whose `X-Forwarded-For` is believed: addresses and networks, separated by commas. From others the header is ignored, and the address of a caller is that of the connection.
    trusted_proxies: Networks = Networks::default(), "";
    /// What is logged, as a filter of targets and levels.
    log: String = "info".to_owned(), "info";
    /// Whether the log is written as JSON.
    log_json: bool = false, "false";
    /// When "yes" is said: `journaled` (fsynced on this node) or `decided` (held in memory, lost with the process).
    level: Level = Level::Journaled, "journaled";
    /// The most commands and reads that wait to be decided; further ones are told `overloaded`.
    queue_max: usize = 16_384, "16384";
    /// A snapshot is made after so many bytes of entries; 0: never.
    snapshot_bytes: u64 = 536_870_912, "536870912 (512 MiB)";
    /// How long an accepted intent is remembered, for markets and sales that don't say so themselves.
    retention_ms: i64 = 86_400_000, "86400000 (24 h)";
    /// How long a claim of a key in progress holds; it must be shorter than the retention. For the Keys job; not used yet.
    lease_ms: i64 = 60_000, "60000";
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
    /// The most requests under way at a time; further ones are told `overloaded`.
    requests_max: usize = 20_000, "20000";
}

impl Config {
    /// Whether there is a key that requests have to carry.
    #[must_use]
    pub const fn has_credentials(&self) -> bool {
        self.operator_key.is_some() || self.service_key.is_some()
    }

    /// Where the secret of persons is: beside the data folder, never in it.
    #[must_use]
    pub fn person_key_path(&self) -> PathBuf {
        self.person_key_file.clone().unwrap_or_else(|| {
            // Without a slash at its end.
            let folder: PathBuf = self.data.components().collect();
            let mut path = folder.into_os_string();
            path.push(".key");
            PathBuf::from(path)
        })
    }

    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            body_bytes_max: self.body_bytes_max,
            batch_lines_max: self.batch_lines_max,
            batch_line_bytes_max: self.batch_line_bytes_max,
            headers_bytes_max: self.headers_bytes_max,
            headers_max: self.headers_max,
            requests_max: self.requests_max,
            request_read: Duration::from_millis(self.request_read_ms),
            answer_deadline: Duration::from_millis(self.answer_deadline_ms),
        }
    }
}
