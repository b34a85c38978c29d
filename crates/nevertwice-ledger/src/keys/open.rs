//! Opens the store on a database whose schema is there.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{Level, Levels};
use sqlx::Error;
use tokio::sync::{Mutex, Semaphore};

use super::connection::Connection;
use super::row::unsigned;
use super::session::Place;
use super::store::{Shelf, SqlKeyStore};
use super::totals::{Amount, Totals};
use super::SqlKeyOptions;
use crate::Database;

impl SqlKeyStore {
    /// The store in a database.
    ///
    /// It offers `journaled` where the database syncs at every commit: SQLite with `synchronous` at `FULL` or `EXTRA`, Postgres with `fsync`
    /// on and `synchronous_commit` anything but `off`; else `decided` alone. What a standby has is the database's own affair and raises no
    /// level.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn open(database: &Database, options: SqlKeyOptions) -> Result<Self, Error> {
        const SYNCS: &str = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'";
        match database {
            Database::Sqlite(pool) => {
                let mut connection = pool.acquire().await?;
                let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
                let totals = Connection::Sqlite(&mut connection).totals().await?;
                Ok(Self::new(Place::Sqlite(pool.clone(), Semaphore::new(1)), options, synchronous >= 2, totals))
            }
            Database::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                let syncs: bool = sqlx::query_scalar(SYNCS).fetch_one(&mut *connection).await?;
                let totals = Connection::Postgres(&mut connection).totals().await?;
                Ok(Self::new(Place::Postgres(pool.clone()), options, syncs, totals))
            }
        }
    }

    fn new(place: Place, options: SqlKeyOptions, syncs: bool, (records, bytes): (i64, i64)) -> Self {
        let max = Amount { records: options.records_max, bytes: options.answers_bytes_max };
        let held = Amount { records: unsigned(records), bytes: unsigned(bytes) };
        Self(Arc::new(Shelf {
            place,
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
