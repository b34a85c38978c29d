//! Opens the store on a database whose schema is there.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{Level, Levels};
use tokio::sync::Mutex;

use super::SqlKeyOptions;
use super::row::unsigned;
use super::store::{Shelf, SqlKeyStore};
use super::totals::{Amount, Totals};
use crate::connection::Connection;
use crate::{Database, DatabaseFailure};

impl SqlKeyStore {
    /// The store in a database that has its tables.
    ///
    /// It offers `journaled` where the database syncs at every commit: SQLite with `synchronous` at `FULL` or `EXTRA`, Postgres with `fsync`
    /// on and `synchronous_commit` anything but `off`; else `decided` alone. What a standby has is the database's own affair and raises no
    /// level.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn open(database: &Database, options: SqlKeyOptions) -> Result<Self, DatabaseFailure> {
        const SYNCS: &str = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'";
        let (syncs, totals) = match database {
            Database::Sqlite { write, .. } => {
                let mut connection = write.acquire().await?;
                let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
                (synchronous >= 2, Connection::Sqlite(&mut connection).totals().await?)
            }
            Database::Postgres { pool } => {
                let mut connection = pool.acquire().await?;
                let syncs: bool = sqlx::query_scalar(SYNCS).fetch_one(&mut *connection).await?;
                (syncs, Connection::Postgres(&mut connection).totals().await?)
            }
        };
        Ok(Self::new(database.clone(), options, syncs, totals))
    }

    fn new(database: Database, options: SqlKeyOptions, syncs: bool, (records, bytes): (i64, i64)) -> Self {
        let max = Amount { records: options.records_max, bytes: options.answers_bytes_max };
        let held = Amount { records: unsigned(records), bytes: unsigned(bytes) };
        Self(Arc::new(Shelf {
            database,
            clock: options.clock,
            command_time: Duration::from_millis(options.command_ms_max),
            totals: Totals::new(max, held),
            sweeping: Mutex::new(()),
            reached: Levels::reached(if syncs { Level::Journaled } else { Level::Decided }),
            max,
            answer_bytes_max: options.answer_bytes_max,
        }))
    }
}
