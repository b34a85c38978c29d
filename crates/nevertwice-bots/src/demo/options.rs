//! What a demonstration is run with, and why one cannot be run.

use std::time::Duration;

use crate::http::TargetError;
use crate::worldcup::DataError;

/// A level of the sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelPlan {
    /// Its name.
    pub level: String,
    /// Its cap.
    pub cap: i64,
    /// How many of a thousand candidates want it first.
    pub wanted_per_mille: u64,
}

/// What a demonstration is run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the server listens, before and after the kill: `http://host:port`.
    pub base_url: String,
    /// Sent as `Authorization`, if the server asks for credentials.
    pub authorization: Option<String>,
    /// Fixes the plan.
    pub seed: u64,
    /// Accounts that trade.
    pub accounts: usize,
    /// Orders that they place, all together.
    pub orders: u64,
    /// Candidates who book.
    pub candidates: usize,
    /// The levels of the sale.
    pub levels: Vec<LevelPlan>,
    /// The most live bookings of the sale.
    pub total_cap: i64,
    /// How long after the doors open the last candidate comes; most come in the first quarter.
    pub arrivals_within: Duration,
    /// Connections that trade.
    pub market_connections: usize,
    /// Connections that book.
    pub sale_connections: usize,
    /// How long one request may take.
    pub time_limit: Duration,
    /// How long the clients go on asking: all of them when nobody gets a reply, one of them when it gets no answer.
    pub patience: Duration,
    /// Whether to draw progress bars on the terminal.
    pub progress: bool,
}

impl Options {
    /// The demonstration in full: 1,248 players, 40,000 candidates, 20,700 seats.
    pub fn new(base_url: impl Into<String>, seed: u64) -> Self {
        let level = |level: &str, cap, wanted_per_mille| LevelPlan { level: level.to_owned(), cap, wanted_per_mille };
        Self {
            base_url: base_url.into(),
            authorization: None,
            seed,
            accounts: 300,
            orders: 60_000,
            candidates: 40_000,
            // The caps add up to more than the total, so that both kinds of full are met.
            levels: vec![level("B1", 8_000, 300), level("B2", 7_000, 320), level("C1", 4_500, 250), level("C2", 2_000, 130)],
            total_cap: 20_700,
            arrivals_within: Duration::from_secs(12),
            market_connections: 48,
            sale_connections: 80,
            time_limit: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            progress: false,
        }
    }

    /// The same in small, for a first look: all the players and goals, and a fiftieth of the crowd.
    pub fn small(base_url: impl Into<String>, seed: u64) -> Self {
        let level = |level: &str, cap, wanted_per_mille| LevelPlan { level: level.to_owned(), cap, wanted_per_mille };
        Self {
            accounts: 24,
            orders: 1_500,
            candidates: 700,
            levels: vec![level("A", 180, 500), level("B", 150, 300), level("C", 60, 200)],
            total_cap: 350,
            arrivals_within: Duration::from_secs(2),
            market_connections: 8,
            sale_connections: 12,
            ..Self::new(base_url, seed)
        }
    }
}

/// Why a demonstration cannot be run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DemoError {
    /// The base address cannot be used.
    Target(TargetError),
    /// The input cannot be read.
    Data(DataError),
    /// A request cannot be written; the message says why.
    Request(String),
    /// The server did not do what the demonstration needs first.
    Setup {
        /// What was asked of it.
        what: String,
        /// What it said.
        said: String,
    },
    /// The server was not killed and restarted; the caller's reason.
    Restart(String),
    /// The server did not answer for as long as [`Options::patience`].
    Silent(Duration),
    /// The final state cannot be read.
    Read {
        /// The path that was read.
        path: String,
        /// What came instead.
        said: String,
    },
    /// A part of the crowd ended before its work was done: a fault of this program.
    Crowd(String),
}

impl std::fmt::Display for DemoError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Target(error) => error.fmt(out),
            Self::Data(error) => error.fmt(out),
            Self::Request(detail) => write!(out, "a request cannot be written: {detail}"),
            Self::Setup { what, said } => {
                write!(out, "{what} failed: {said}. The demonstration needs an empty server")
            }
            Self::Restart(detail) => write!(out, "the server was not killed and restarted: {detail}"),
            Self::Silent(patience) => {
                write!(out, "the server has not answered for {} seconds", patience.as_secs())
            }
            Self::Read { path, said } => write!(out, "the final state cannot be read at {path}: {said}"),
            Self::Crowd(detail) => write!(out, "a part of the crowd broke off: {detail}"),
        }
    }
}

impl std::error::Error for DemoError {}

impl From<TargetError> for DemoError {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

impl From<DataError> for DemoError {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

impl From<serde_json::Error> for DemoError {
    fn from(error: serde_json::Error) -> Self {
        Self::Request(error.to_string())
    }
}
