//! Pools, and what a database must be before anything is written.

use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};

use super::address::{Address, Place};
use super::failure::DatabaseFailure;
use crate::migrations;

/// The oldest Postgres that has what the statements use.
const POSTGRES_VERSION_MIN: i32 = 130_000;

/// How often a file is migrated that others migrate at the same time.
const MIGRATE_ATTEMPTS_MAX: u32 = 5;

/// Runs the same expression on the pool of whichever database it is.
macro_rules! on_both {
    ($database:expr, $pool:ident => $body:expr) => {
        match $database {
            $crate::Database::Sqlite { write: $pool, .. } => $body,
            $crate::Database::Postgres { pool: $pool } => $body,
        }
    };
}
pub(crate) use on_both;

/// What a commit has to outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: SQLite syncs at each commit, Postgres has `fsync` and `synchronous_commit` on.
    PowerCut,
    /// The end of the process alone; for tests and for what can be made again.
    Process,
}

/// How a database is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// Connections at most.
    pub connections_max: u32,
    /// How long a connection may take to be made, in milliseconds.
    pub connect_ms: u64,
    /// How long one waits for a free connection, and for a file that another process writes, in milliseconds.
    pub wait_ms: u64,
    /// How long a statement may run, in milliseconds; Postgres ends it then.
    pub statement_ms: u64,
    /// What a commit has to outlive.
    pub durability: Durability,
}

impl Default for DatabaseOptions {
    fn default() -> DatabaseOptions {
        DatabaseOptions { connections_max: 8, connect_ms: 5_000, wait_ms: 5_000, statement_ms: 30_000, durability: Durability::PowerCut }
    }
}

/// A database that is open. Clones share its connections.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite {
        /// The one connection that writes: SQLite has one writer, and who waits for it here waits in order.
        write: SqlitePool,
        /// Those that read, beside it.
        read: SqlitePool,
    },
    /// A server.
    Postgres {
        /// Its connections.
        pool: PgPool,
    },
}

impl Database {
    /// Opens it, and looks whether it can serve: its version, its right to write, what a commit of it outlives. A SQLite file is made
    /// if it is not there; tables are made by [`Database::migrate`] alone.
    ///
    /// # Errors
    /// If it can't be reached, or can't serve.
    pub async fn open(address: &Address, options: &DatabaseOptions) -> Result<Database, DatabaseFailure> {
        match address.place() {
            Place::Sqlite(path) => open_sqlite(path, options).await,
            Place::Postgres(connect) => open_postgres(connect, options).await,
        }
    }

    /// What it is, for people and metrics: `sqlite`, `postgres`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "sqlite",
            Self::Postgres { .. } => "postgres",
        }
    }

    /// Makes the tables, or brings them to this version. Who comes second waits and finds them made.
    ///
    /// # Errors
    /// If they are of a newer version, or can't be made; then nothing was done.
    pub async fn migrate(&self) -> Result<(), DatabaseFailure> {
        let newest = migrations::newest();
        let failed = |error| DatabaseFailure::of_migration(error, newest);
        match self {
            Self::Postgres { pool } => migrations::migrator(&migrations::POSTGRES).run(pool).await.map_err(failed),
            Self::Sqlite { write, .. } => {
                // Nobody holds a file while it is migrated: of two who begin at once, one is told so, and looks again.
                for _ in 1..MIGRATE_ATTEMPTS_MAX {
                    match migrations::migrator(&migrations::SQLITE).run(write).await.map_err(failed) {
                        Err(DatabaseFailure::Busy { .. } | DatabaseFailure::Refused { .. }) => {}
                        made => return made,
                    }
                }
                migrations::migrator(&migrations::SQLITE).run(write).await.map_err(failed)
            }
        }
    }

    /// Looks whether the tables are those of this version, and changes nothing.
    ///
    /// # Errors
    /// If they are not, or the database can't be asked.
    pub async fn check_tables(&self) -> Result<(), DatabaseFailure> {
        let needed = migrations::newest();
        let asked: Result<Option<i64>, sqlx::Error> =
            on_both!(self, pool => sqlx::query_scalar("SELECT MAX(version) FROM nevertwice_migrations").fetch_one(pool).await);
        let found = match asked.map_err(DatabaseFailure::from) {
            Ok(found) => found.unwrap_or(0),
            Err(DatabaseFailure::OtherSchema { .. }) => 0,
            Err(other) => return Err(other),
        };
        match found {
            found if found > needed => Err(DatabaseFailure::TooNew { found, supported: needed }),
            found if found < needed => Err(DatabaseFailure::NotMigrated { found, needed }),
            _ => Ok(()),
        }
    }

    /// Closes all connections; who still uses one is waited for.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Self::Postgres { pool } => pool.close().await,
        }
    }
}

async fn open_sqlite(path: &Path, options: &DatabaseOptions) -> Result<Database, DatabaseFailure> {
    let synchronous = match options.durability {
        Durability::PowerCut => SqliteSynchronous::Full,
        Durability::Process => SqliteSynchronous::Off,
    };
    let connect = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .foreign_keys(true)
        .busy_timeout(Duration::from_millis(options.wait_ms))
        .disable_statement_logging();
    let pool = |connections: u32| {
        // A file does not go away: its connections are kept.
        SqlitePoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_millis(options.wait_ms))
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
    };
    let write = pool(1).connect_with(connect.clone()).await?;
    let read = pool(options.connections_max.max(1)).connect_lazy_with(connect.create_if_missing(false));
    let database = Database::Sqlite { write: write.clone(), read };
    // Whether it may be written is found out by asking for the right to.
    let mut connection = write.acquire().await?;
    connection.execute("BEGIN IMMEDIATE").await?;
    connection.execute("ROLLBACK").await?;
    drop(connection);
    Ok(database)
}

async fn open_postgres(connect: &PgConnectOptions, options: &DatabaseOptions) -> Result<Database, DatabaseFailure> {
    let mut session = vec![
        ("statement_timeout", options.statement_ms.to_string()),
        // Who stands still in the middle of its own statements holds rows that others want.
        ("idle_in_transaction_session_timeout", options.statement_ms.to_string()),
        ("lock_timeout", options.wait_ms.to_string()),
    ];
    if options.durability == Durability::Process {
        session.push(("synchronous_commit", "off".to_owned()));
    }
    let name = connect.get_application_name().unwrap_or("nevertwice").to_owned();
    let connect = connect.clone().application_name(&name).options(session).disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(options.connections_max.max(1))
        .acquire_timeout(Duration::from_millis(options.connect_ms))
        .test_before_acquire(false)
        .connect_with(connect)
        .await?;
    let row: (String, String, String, String, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num'), current_setting('server_version'), current_setting('transaction_read_only'), \
         current_setting('synchronous_commit'), current_setting('fsync')",
    )
    .fetch_one(&pool)
    .await?;
    let (number, version, read_only, synchronous_commit, fsync) = row;
    if number.parse().is_ok_and(|number: i32| number < POSTGRES_VERSION_MIN) {
        return Err(DatabaseFailure::ServerTooOld { found: version });
    }
    if read_only == "on" {
        return Err(DatabaseFailure::ReadOnly { what: "`transaction_read_only` is on, as on a standby".to_owned() });
    }
    if options.durability == Durability::PowerCut {
        for (setting, value) in [("synchronous_commit", synchronous_commit), ("fsync", fsync)] {
            if value == "off" {
                return Err(DatabaseFailure::Forgetful { what: format!("`{setting}` is {value}") });
            }
        }
    }
    Ok(Database::Postgres { pool })
}
