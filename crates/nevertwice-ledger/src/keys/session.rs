//! A connection for one command, and how long anybody waits for it.

use std::time::Duration;

use nevertwice_api::KeyStoreFailure;
use sqlx::pool::PoolConnection;
use sqlx::{Error, PgPool, Postgres, Sqlite, SqlitePool};
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::connection::Connection;
use super::failure::{of_reading, of_writing};

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

/// Where the records are.
pub(super) enum Place {
    /// SQLite lets one connection write at a time, and those who wait poll. Here the store's own stand in line instead.
    Sqlite(SqlitePool, Semaphore),
    Postgres(PgPool),
}

enum Pooled {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

/// A connection for one command.
pub(super) struct Session {
    pooled: Pooled,
    /// When its patience ends.
    pub(super) deadline: Instant,
    /// A statement was begun, and nobody has seen its end.
    is_busy: bool,
}

impl Place {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(..) => Kind::Sqlite,
            Self::Postgres(_) => Kind::Postgres,
        }
    }

    /// Takes a connection for one command.
    pub(super) async fn session(&self, time: Duration) -> Result<Session, KeyStoreFailure> {
        let deadline = Instant::now() + time;
        let acquired = async {
            match self {
                Self::Sqlite(pool, _) => pool.acquire().await.map(Pooled::Sqlite),
                Self::Postgres(pool) => pool.acquire().await.map(Pooled::Postgres),
            }
        };
        let pooled = timeout_at(deadline, acquired).await.unwrap_or(Err(Error::PoolTimedOut)).map_err(|error| of_reading(&error))?;
        Ok(Session { pooled, deadline, is_busy: false })
    }

    /// What a statement that writes came to: begun only when it is this one's turn, and in time.
    pub(super) async fn write<T>(
        &self,
        deadline: Instant,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, WriteLate> {
        let _turn = match self {
            Self::Sqlite(_, turns) => Some(timeout_at(deadline, turns.acquire()).await.map_err(|_| WriteLate::NotBegun)?),
            Self::Postgres(_) => None,
        };
        timeout_at(deadline, statement).await.map_err(|_| WriteLate::Begun)
    }
}

/// A statement that writes and did not end in time.
pub(super) enum WriteLate {
    /// Others were before it.
    NotBegun,
    Begun,
}

impl Session {
    /// The connection, for one statement whose end is told by [`Session::has_read`] or [`Session::has_written`].
    pub(super) fn begin(&mut self) -> Connection<'_> {
        self.is_busy = true;
        match &mut self.pooled {
            Pooled::Sqlite(pooled) => Connection::Sqlite(pooled),
            Pooled::Postgres(pooled) => Connection::Postgres(pooled),
        }
    }

    /// Whatever came of reading, nothing was done.
    pub(super) fn has_read<T>(&mut self, told: Result<Result<T, Error>, Elapsed>) -> Result<T, KeyStoreFailure> {
        match told {
            Ok(told) => {
                self.is_busy = false;
                told.map_err(|error| of_reading(&error))
            }
            Err(_) => Err(KeyStoreFailure::Unavailable),
        }
    }

    pub(super) fn has_written<T>(&mut self, told: Result<Result<T, Error>, WriteLate>) -> Result<T, KeyStoreFailure> {
        match told {
            Ok(told) => {
                self.is_busy = false;
                told.map_err(|error| of_writing(&error, self.kind()))
            }
            Err(WriteLate::NotBegun) => {
                self.is_busy = false;
                Err(KeyStoreFailure::Unavailable)
            }
            Err(WriteLate::Begun) => Err(KeyStoreFailure::OutcomeUnknown),
        }
    }

    const fn kind(&self) -> Kind {
        match self.pooled {
            Pooled::Sqlite(_) => Kind::Sqlite,
            Pooled::Postgres(_) => Kind::Postgres,
        }
    }
}

impl Drop for Session {
    /// What comes late must not be taken for the answer to the next one's question.
    fn drop(&mut self) {
        if self.is_busy {
            match &mut self.pooled {
                Pooled::Sqlite(pooled) => pooled.close_on_drop(),
                Pooled::Postgres(pooled) => pooled.close_on_drop(),
            }
        }
    }
}
