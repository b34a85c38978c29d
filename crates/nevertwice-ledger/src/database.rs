//! The database: found by its address, opened, and brought to the schema.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Error, PgPool, SqlitePool};

use crate::schema;

/// The oldest Postgres whose SQL and locks the crate was held to.
const POSTGRES_MIN: i64 = 130_000;

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// Connections at most.
    pub connections_max: u32,
    /// How long opening may take, in milliseconds.
    pub open_ms_max: u64,
    /// How long a statement waits for a row, or in SQLite for the file, that another one is writing, in milliseconds.
    pub row_wait_ms_max: u64,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self { connections_max: 16, open_ms_max: 10_000, row_wait_ms_max: 1_000 }
    }
}

/// A database that is open and has the schema.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file of this machine.
    Sqlite(SqlitePool),
    /// A server.
    Postgres(PgPool),
}

/// Why a database can't be used. Nothing was changed in it.
#[derive(Debug)]
pub enum DatabaseError {
    /// The address is none.
    Address(String),
    /// It can't be reached or opened.
    Unreachable(Error),
    /// It takes no writes: a standby, a file without the right, or a disk that is full.
    ReadOnly(Error),
    /// The server is older than what this program needs.
    TooOld(i64),
    /// A newer version of this program, or another program, made its schema.
    OtherSchema(String),
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(what) => {
                write!(f, "The address of the database is none: {what}. Give `sqlite:PATH` or `postgres://USER@HOST:PORT/DATABASE`")
            }
            Self::Unreachable(error) => write!(f, "The database can't be opened: {error}. Start it, or correct its address"),
            Self::ReadOnly(error) => {
                write!(f, "The database takes no writes: {error}. Name the primary and not a standby, and give this user the right to write")
            }
            Self::TooOld(version) => {
                let (major, minor) = (version / 10_000, version % 10_000);
                write!(f, "The server is Postgres {major}.{minor}, and 13 is the oldest that will do. Nothing was changed. Upgrade it")
            }
            Self::OtherSchema(what) => write!(
                f,
                "The database has another schema: {what}. Nothing was changed. Use the newest version of this program that used it, or an empty database"
            ),
        }
    }
}

impl std::error::Error for DatabaseError {}

impl Database {
    /// Opens the database at an address, `sqlite:PATH` or `postgres://…`, and applies the steps of the schema that it lacks. A file of
    /// SQLite is made if it is not there.
    ///
    /// # Errors
    /// If the address is none, the database does not answer or takes no writes, or its schema is another.
    pub async fn open(address: &str, options: &DatabaseOptions) -> Result<Self, DatabaseError> {
        let database = if address.starts_with("sqlite:") {
            Self::Sqlite(sqlite(address, options).await?)
        } else if address.starts_with("postgres:") || address.starts_with("postgresql:") {
            Self::Postgres(postgres(address, options).await?)
        } else {
            return Err(DatabaseError::Address("it begins with neither `sqlite:` nor `postgres:`".to_owned()));
        };
        database.migrate().await?;
        Ok(database)
    }

    /// Ends its connections, once those who have one are done.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }

    async fn migrate(&self) -> Result<(), DatabaseError> {
        let steps = schema::steps();
        let applied = match self {
            Self::Sqlite(pool) => steps.run(pool).await,
            Self::Postgres(pool) => steps.run(pool).await,
        };
        applied.map_err(|error| match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => writing(error),
            other => DatabaseError::OtherSchema(other.to_string()),
        })
    }
}

async fn sqlite(address: &str, options: &DatabaseOptions) -> Result<SqlitePool, DatabaseError> {
    let connect = SqliteConnectOptions::from_str(address).map_err(|error| DatabaseError::Address(error.to_string()))?;
    let connect = connect
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Each commit is on the disk before it is told.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_millis(options.row_wait_ms_max));
    let pool = SqlitePoolOptions::new()
        .max_connections(options.connections_max)
        .acquire_timeout(Duration::from_millis(options.open_ms_max))
        .connect_with(connect);
    pool.await.map_err(writing)
}

async fn postgres(address: &str, options: &DatabaseOptions) -> Result<PgPool, DatabaseError> {
    let connect = PgConnectOptions::from_str(address).map_err(|error| DatabaseError::Address(error.to_string()))?;
    let wait = options.row_wait_ms_max.to_string();
    let connect = connect.application_name("nevertwice").options([("lock_timeout", wait.as_str())]);
    let pool = PgPoolOptions::new()
        .max_connections(options.connections_max)
        .acquire_timeout(Duration::from_millis(options.open_ms_max))
        .connect_with(connect);
    let pool = pool.await.map_err(DatabaseError::Unreachable)?;
    const VERSION: &str = "SELECT CAST(current_setting('server_version_num') AS BIGINT)";
    let version: i64 = sqlx::query_scalar(VERSION).fetch_one(&pool).await.map_err(DatabaseError::Unreachable)?;
    if version < POSTGRES_MIN {
        return Err(DatabaseError::TooOld(version));
    }
    Ok(pool)
}

/// SQLite's `READONLY` and `FULL`; of Postgres, what a standby says, and a full disk.
fn writing(error: Error) -> DatabaseError {
    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default().into_owned();
    let of_sqlite = code.parse::<i32>().ok().filter(|_| code.len() < 5).map(|code| code & 0xff);
    if matches!(of_sqlite, Some(8 | 13)) || matches!(code.as_str(), "25006" | "53100" | "42501") {
        DatabaseError::ReadOnly(error)
    } else {
        DatabaseError::Unreachable(error)
    }
}
