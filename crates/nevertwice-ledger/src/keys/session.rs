//! A connection for one command, and how long anybody waits for it.

use std::time::Duration;

use nevertwice_api::KeyStoreFailure;
use sqlx::pool::PoolConnection;
use sqlx::{Error, Postgres, Sqlite};
use tokio::time::{Instant, timeout_at};

use super::failure::{Kind, of_reading, of_writing};
use crate::Database;
use crate::connection::Connection;

/// A connection for one command.
pub(super) struct Session<'d> {
    database: &'d Database,
    pooled: Pooled,
    /// SQLite has one connection that writes, and those who wait for it wait in order.
    may_write: bool,
    /// When its patience ends.
    deadline: Instant,
    /// A statement was begun, and nobody has seen its end; or the connection is lost.
    is_spent: bool,
}

enum Pooled {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl<'d> Session<'d> {
    /// Takes a connection that reads.
    pub(super) async fn open(database: &'d Database, time: Duration) -> Result<Self, KeyStoreFailure> {
        Self::take(database, false, Instant::now() + time).await
    }

    async fn take(database: &'d Database, writes: bool, deadline: Instant) -> Result<Self, KeyStoreFailure> {
        let taken = async {
            match database {
                Database::Sqlite { write, .. } if writes => write.acquire().await.map(Pooled::Sqlite),
                Database::Sqlite { read, .. } => read.acquire().await.map(Pooled::Sqlite),
                Database::Postgres { pool } => pool.acquire().await.map(Pooled::Postgres),
            }
        };
        let pooled = timeout_at(deadline, taken).await.unwrap_or(Err(Error::PoolTimedOut)).map_err(|error| of_reading(&error))?;
        let may_write = writes || matches!(database, Database::Postgres { .. });
        Ok(Self { database, pooled, may_write, deadline, is_spent: false })
    }

    /// The connection, for one statement whose end is told to [`Session::read`] or [`Session::written`].
    pub(super) fn begin(&mut self) -> Connection<'_> {
        self.is_spent = true;
        match &mut self.pooled {
            Pooled::Sqlite(pooled) => Connection::Sqlite(pooled),
            Pooled::Postgres(pooled) => Connection::Postgres(pooled),
        }
    }

    /// When the statement that is begun must have ended.
    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The end of a statement that reads; none if it did not end in time. Whatever came of it, nothing was done.
    pub(super) fn read<T>(&mut self, told: Option<Result<T, Error>>) -> Result<T, KeyStoreFailure> {
        let told = told.unwrap_or(Err(Error::PoolTimedOut));
        self.is_spent = !matches!(told, Ok(_) | Err(Error::Database(_)));
        told.map_err(|error| of_reading(&error))
    }

    /// The end of a statement that writes.
    pub(super) fn written<T>(&mut self, told: Option<Result<T, Error>>) -> Result<T, KeyStoreFailure> {
        let Some(told) = told else { return Err(KeyStoreFailure::OutcomeUnknown) };
        self.is_spent = !matches!(told, Ok(_) | Err(Error::Database(_)));
        let kind = match self.pooled {
            Pooled::Sqlite(_) => Kind::Sqlite,
            Pooled::Postgres(_) => Kind::Postgres,
        };
        told.map_err(|error| of_writing(&error, kind))
    }

    /// Whether the last statement found the connection lost: that of a server that was started anew, perhaps.
    pub(super) const fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Takes another connection in its place.
    pub(super) async fn renew(&mut self) -> Result<(), KeyStoreFailure> {
        *self = Self::take(self.database, self.may_write, self.deadline).await?;
        Ok(())
    }

    /// Takes one that may write, unless this one may.
    pub(super) async fn turn_to_writing(&mut self) -> Result<(), KeyStoreFailure> {
        if !self.may_write {
            *self = Self::take(self.database, true, self.deadline).await?;
        }
        Ok(())
    }
}

impl Drop for Session<'_> {
    /// What comes late must not be taken for the answer to the next one's question.
    fn drop(&mut self) {
        if self.is_spent {
            match &mut self.pooled {
                Pooled::Sqlite(pooled) => pooled.close_on_drop(),
                Pooled::Postgres(pooled) => pooled.close_on_drop(),
            }
        }
    }
}
