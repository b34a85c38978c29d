//! Why a database did not serve.

use std::fmt;
use std::io;

use sqlx::migrate::MigrateError;

/// Why a database did not serve. What is told holds no statement and no password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseFailure {
    /// It can't be reached, or lets nobody in. Nothing was done.
    Unreachable {
        /// What was said.
        what: String,
    },
    /// It may only be read: a standby, a file without the right to write, or a setting. Nothing was done.
    ReadOnly {
        /// What was said.
        what: String,
    },
    /// There is no space left, or a limit of it is reached. Nothing was done.
    Full {
        /// What was said.
        what: String,
    },
    /// The server is older than this program can use. Nothing was done.
    ServerTooOld {
        /// Its version.
        found: String,
    },
    /// Its tables are made by a newer version of this program. Nothing was done.
    TooNew {
        /// The newest migration there.
        found: i64,
        /// The newest that this program knows.
        supported: i64,
    },
    /// Its tables are not made yet, or those of an older version.
    NotMigrated {
        /// The newest migration there; 0 if there is none.
        found: i64,
        /// What this program needs.
        needed: i64,
    },
    /// What is there is not this program's: no database at all, or other tables under the same names. Nothing was done.
    OtherSchema {
        /// What was found.
        what: String,
    },
    /// It is set so that a commit would not outlive a power cut.
    Forgetful {
        /// The setting, and what it is.
        what: String,
    },
    /// Others had what was wanted: a deadlock, a serialization failure, a busy file. Nothing was done; the same may be tried again.
    Busy {
        /// What was said.
        what: String,
    },
    /// The connection or the reply was lost, or came too late: what was asked for may have been done.
    Lost {
        /// What was said.
        what: String,
    },
    /// It refused what was asked for. Nothing was done.
    Refused {
        /// What was said.
        what: String,
    },
}

impl DatabaseFailure {
    /// A stable word for it.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "ledger_unreachable",
            Self::ReadOnly { .. } => "ledger_read_only",
            Self::Full { .. } => "ledger_full",
            Self::ServerTooOld { .. } => "ledger_server_too_old",
            Self::TooNew { .. } => "data_too_new",
            Self::NotMigrated { .. } => "ledger_not_migrated",
            Self::OtherSchema { .. } => "ledger_other_schema",
            Self::Forgetful { .. } => "ledger_forgetful",
            Self::Busy { .. } => "ledger_busy",
            Self::Lost { .. } => "ledger_lost",
            Self::Refused { .. } => "ledger_refused",
        }
    }

    /// Whether the same may simply be tried again: nothing was done, and nobody has to mend anything.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Unreachable { .. })
    }

    pub(crate) fn of_migration(error: MigrateError, supported: i64) -> DatabaseFailure {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            MigrateError::VersionMissing(found) => Self::TooNew { found, supported },
            MigrateError::VersionMismatch(version) => {
                Self::OtherSchema { what: format!("migration {version} was made with other words than this program's") }
            }
            MigrateError::Dirty(version) => Self::OtherSchema { what: format!("migration {version} was made by half") },
            other => Self::Refused { what: other.to_string() },
        }
    }
}

impl fmt::Display for DatabaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { what } => {
                write!(
                    f,
                    "the database can't be reached: {what}. Nothing was done. See that it runs, and that the address and the password are right"
                )
            }
            Self::ReadOnly { what } => {
                write!(f, "the database is read-only: {what}. Nothing was done. Name the primary, or give the right to write")
            }
            Self::Full { what } => write!(f, "the database is full: {what}. Nothing was done. Make room; writing goes on by itself"),
            Self::ServerTooOld { found } => write!(f, "the server is Postgres {found}; 13 or newer is needed. Nothing was done"),
            Self::TooNew { found, supported } => write!(
                f,
                "the tables are of a newer version (migration {found}; this program knows {supported}). Nothing was done. Start the newer program"
            ),
            Self::NotMigrated { found: 0, .. } => {
                f.write_str("the database has no tables of nevertwice yet. Nothing was done. Run `nevertwice migrate`")
            }
            Self::NotMigrated { found, needed } => write!(
                f,
                "the tables are of an older version (migration {found}; this program needs {needed}). Nothing was done. Run `nevertwice migrate`"
            ),
            Self::OtherSchema { what } => {
                write!(f, "what is there was not made by nevertwice: {what}. Nothing was done. Name another database")
            }
            Self::Forgetful { what } => {
                write!(f, "the database would forget what it has confirmed: {what}. Nothing was done. Change the setting")
            }
            Self::Busy { what } => write!(f, "others had what was wanted: {what}. Nothing was done; the same may be tried again"),
            Self::Lost { what } => write!(f, "the reply of the database was lost: {what}. What was asked for may have been done"),
            Self::Refused { what } => write!(f, "the database refused: {what}. Nothing was done"),
        }
    }
}

impl std::error::Error for DatabaseFailure {}

impl From<sqlx::Error> for DatabaseFailure {
    fn from(error: sqlx::Error) -> DatabaseFailure {
        match &error {
            sqlx::Error::Database(told) => {
                let what = told.message().to_owned();
                match told.code().as_deref() {
                    Some(code) => of_code(code, what),
                    None => Self::Refused { what },
                }
            }
            sqlx::Error::Io(io) => of_io(io),
            sqlx::Error::PoolTimedOut => Self::Unreachable { what: "no connection came free in time".to_owned() },
            sqlx::Error::PoolClosed => Self::Unreachable { what: "it was closed".to_owned() },
            sqlx::Error::Tls(what) => Self::Unreachable { what: what.to_string() },
            sqlx::Error::Configuration(what) => Self::Unreachable { what: what.to_string() },
            sqlx::Error::Protocol(what) => Self::Lost { what: what.clone() },
            sqlx::Error::WorkerCrashed => Self::Lost { what: "the thread of the database has ended".to_owned() },
            other => Self::Refused { what: other.to_string() },
        }
    }
}

fn of_io(error: &io::Error) -> DatabaseFailure {
    let what = error.to_string();
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable => DatabaseFailure::Unreachable { what },
        _ => DatabaseFailure::Lost { what },
    }
}

/// Postgres has codes of five letters and digits, SQLite has numbers, of which the low byte is the kind.
fn of_code(code: &str, what: String) -> DatabaseFailure {
    if code.len() == 5 && !code.starts_with(|first: char| first.is_ascii_lowercase()) {
        return match code {
            "25006" => DatabaseFailure::ReadOnly { what },
            "53100" | "53200" | "53400" => DatabaseFailure::Full { what },
            "40001" | "40P01" | "55P03" => DatabaseFailure::Busy { what },
            // The server goes down or comes up; a statement that was under way was not done, a commit may have been.
            "57P01" | "57P02" | "57P05" | "08006" | "08003" | "08007" | "25P03" => DatabaseFailure::Lost { what },
            "57P03" | "53300" | "28P01" | "28000" | "3D000" | "08001" | "08004" => DatabaseFailure::Unreachable { what },
            // A statement that took too long was undone.
            "57014" => DatabaseFailure::Busy { what },
            "42P01" | "42703" | "42P07" | "42804" => DatabaseFailure::OtherSchema { what },
            _ => DatabaseFailure::Refused { what },
        };
    }
    match code.parse::<i64>().map(|number| number & 0xff) {
        Ok(5 | 6) => DatabaseFailure::Busy { what },
        Ok(8) => DatabaseFailure::ReadOnly { what },
        Ok(13) => DatabaseFailure::Full { what },
        Ok(14) => DatabaseFailure::Unreachable { what },
        Ok(26) => DatabaseFailure::OtherSchema { what },
        // A disk that can't write, or that reads what was not written.
        Ok(10 | 11) => DatabaseFailure::Lost { what },
        Ok(1) if what.starts_with("no such ") => DatabaseFailure::OtherSchema { what },
        _ => DatabaseFailure::Refused { what },
    }
}
