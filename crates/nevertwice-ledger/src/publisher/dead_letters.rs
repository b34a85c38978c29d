//! What an endpoint did not take, however often it was tried.

use sqlx::{Error, Transaction};

use super::cursors::{Cursor, cut};
use super::delivery::Row;
use super::lease::fenced;
use super::{Delivery, Undelivered};
use crate::connection::{Connection, on};
use crate::database::on_both;
use crate::{Database, DatabaseFailure};

/// A message that an endpoint did not take. Those after it go on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The endpoint.
    pub endpoint: String,
    /// The stream.
    pub stream: String,
    /// The place in it.
    pub seq: i64,
    /// What the message tells of.
    pub kind: String,
    /// When it was given up, in milliseconds since 1970.
    pub died_at: i64,
    /// How often it was tried.
    pub tries: i64,
    /// What came of the last try.
    pub what: String,
}

/// Dead letters that are listed at a time.
const LISTED_MAX: i64 = 1_000;

impl DeadLetter {
    /// The oldest ones, a thousand at most.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn list(database: &Database) -> Result<Vec<Self>, DatabaseFailure> {
        const LIST: &str = "SELECT endpoint, stream, seq, kind, died_at, tries, what FROM nevertwice_dead_letters \
            ORDER BY died_at, endpoint, stream, seq LIMIT $1";
        type Listed = (String, String, i64, String, i64, i64, String);
        let rows: Vec<Listed> = on_both!(database, pool => sqlx::query_as(LIST).bind(LISTED_MAX).fetch_all(pool).await)?;
        let letter = |(endpoint, stream, seq, kind, died_at, tries, what)| Self { endpoint, stream, seq, kind, died_at, tries, what };
        Ok(rows.into_iter().map(letter).collect())
    }

    /// Wants those of an endpoint sent again, with the ids that they had, and returns how many there are. They come out of order: what
    /// came after them has been told.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn send_again(database: &Database, endpoint: &str) -> Result<u64, DatabaseFailure> {
        const WANT: &str = "UPDATE nevertwice_dead_letters SET is_wanted = 1 WHERE endpoint = $1";
        let wanted: Result<u64, Error> =
            on_both!(database, pool => sqlx::query(WANT).bind(endpoint).execute(pool).await.map(|done| done.rows_affected()));
        Ok(wanted?)
    }
}

/// Those that are to be sent again to an endpoint, so many at most.
pub(super) async fn wanted(database: &Database, endpoint: &str, max: i64) -> Result<Vec<Delivery>, Error> {
    const WANTED: &str = "SELECT stream, seq, kind, at_ms, payload FROM nevertwice_dead_letters \
        WHERE endpoint = $1 AND is_wanted = 1 ORDER BY died_at, stream, seq LIMIT $2";
    type Found = (String, i64, String, i64, Vec<u8>);
    let rows: Vec<Found> = on_both!(database, pool => sqlx::query_as(WANTED).bind(endpoint).bind(max).fetch_all(pool).await)?;
    let delivery = |(stream, seq, kind, at_ms, payload): Found| {
        let row: Row = (seq, kind, at_ms, payload);
        Delivery::new(&stream, row)
    };
    Ok(rows.into_iter().map(delivery).collect())
}

/// One that was sent again was taken: it goes.
pub(super) async fn taken(database: &Database, endpoint: &str, delivery: &Delivery) -> Result<(), Error> {
    const GONE: &str = "DELETE FROM nevertwice_dead_letters WHERE endpoint = $1 AND stream = $2 AND seq = $3";
    on_both!(database, pool => {
        let query = sqlx::query(GONE).bind(endpoint).bind(&delivery.stream[..]).bind(delivery.seq);
        query.execute(pool).await.map(drop)
    })
}

/// One that was sent again was not taken: it stays until an operator wants it sent once more.
pub(super) async fn refused(database: &Database, endpoint: &str, delivery: &Delivery, why: &Undelivered) -> Result<(), Error> {
    const STAYS: &str = "UPDATE nevertwice_dead_letters SET is_wanted = 0, tries = tries + 1, what = $4 \
        WHERE endpoint = $1 AND stream = $2 AND seq = $3";
    let what = cut(&why.what);
    on_both!(database, pool => {
        let query = sqlx::query(STAYS).bind(endpoint).bind(&delivery.stream[..]).bind(delivery.seq).bind(&what[..]);
        query.execute(pool).await.map(drop)
    })
}

/// Gives a message up: it becomes a dead letter and the cursor goes past it, in one step. False under a fence that is not the newest.
pub(super) async fn bury(
    database: &Database,
    fence: i64,
    cursor: &Cursor,
    delivery: &Delivery,
    at_ms: i64,
    why: &Undelivered,
) -> Result<bool, Error> {
    match database {
        Database::Sqlite { write, .. } => {
            let mut work = write.begin_with("BEGIN IMMEDIATE").await?;
            let is_done = bury_in(&mut work, fence, cursor, delivery, at_ms, why, |work| Connection::Sqlite(work)).await?;
            work.commit().await?;
            Ok(is_done)
        }
        Database::Postgres { pool } => {
            let mut work = pool.begin().await?;
            let is_done = bury_in(&mut work, fence, cursor, delivery, at_ms, why, |work| Connection::Postgres(work)).await?;
            work.commit().await?;
            Ok(is_done)
        }
    }
}

async fn bury_in<D: sqlx::Database>(
    work: &mut Transaction<'_, D>,
    fence: i64,
    cursor: &Cursor,
    delivery: &Delivery,
    at_ms: i64,
    why: &Undelivered,
    lend: impl Fn(&mut D::Connection) -> Connection<'_>,
) -> Result<bool, Error> {
    const PAST: &str = concat!(
        "UPDATE nevertwice_cursors SET last_seq = $4, tries = 0, next_at = 0, what = '' \
        WHERE endpoint = $2 AND stream = $3 AND last_seq < $4 AND ",
        fenced!()
    );
    const BURY: &str = "INSERT INTO nevertwice_dead_letters \
        (endpoint, stream, seq, kind, at_ms, died_at, tries, what, is_wanted, payload) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9) ON CONFLICT (endpoint, stream, seq) DO NOTHING";
    let (endpoint, stream) = (&cursor.endpoint[..], &cursor.stream[..]);
    let is_past = on!(lend(work), c => {
        let query = sqlx::query(PAST).bind(fence).bind(endpoint).bind(stream).bind(delivery.seq);
        query.execute(c).await.map(|done| done.rows_affected() == 1)
    })?;
    if !is_past {
        return Ok(false);
    }
    let what = cut(&why.what);
    on!(lend(work), c => {
        let query = sqlx::query(BURY).bind(endpoint).bind(stream).bind(delivery.seq).bind(&delivery.kind[..]).bind(delivery.at_ms);
        let query = query.bind(at_ms).bind(cursor.tries + 1).bind(&what[..]).bind(&delivery.payload[..]);
        query.execute(c).await.map(drop)
    })?;
    Ok(true)
}
