//! How far each endpoint has been told.

use sqlx::Error;

use super::delivery::Row;
use super::lease::fenced;
use super::{Delivery, Undelivered};
use crate::Database;
use crate::database::on_both;

/// Where an endpoint is in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) endpoint: String,
    pub(super) stream: String,
    /// It has been told up to here.
    pub(super) last_seq: i64,
    /// How often the next message was tried.
    pub(super) tries: i64,
    /// When it is tried next.
    pub(super) next_at: i64,
}

/// Letters of what came of a try that are kept.
const WHAT_CHARS_MAX: usize = 200;

pub(super) fn cut(what: &str) -> String {
    what.chars().take(WHAT_CHARS_MAX).collect()
}

/// The topics that have messages or had some, with their streams.
pub(super) async fn streams(database: &Database) -> Result<Vec<(String, i64)>, Error> {
    const TOPICS: &str = "SELECT topic, last_seq FROM nevertwice_topics ORDER BY topic";
    on_both!(database, pool => sqlx::query_as(TOPICS).fetch_all(pool).await)
}

/// The cursor of an endpoint; it is made where there is none, at the begin.
pub(super) async fn cursor(database: &Database, endpoint: &str, stream: &str) -> Result<Cursor, Error> {
    const FIND: &str = "SELECT last_seq, tries, next_at FROM nevertwice_cursors WHERE endpoint = $1 AND stream = $2";
    const MAKE: &str = "INSERT INTO nevertwice_cursors (endpoint, stream, last_seq, tries, next_at, what) VALUES ($1, $2, 0, 0, 0, '') \
        ON CONFLICT (endpoint, stream) DO NOTHING";
    let found: Option<(i64, i64, i64)> =
        on_both!(database, pool => sqlx::query_as(FIND).bind(endpoint).bind(stream).fetch_optional(pool).await)?;
    if found.is_none() {
        on_both!(database, pool => sqlx::query(MAKE).bind(endpoint).bind(stream).execute(pool).await.map(drop))?;
    }
    let (last_seq, tries, next_at) = found.unwrap_or_default();
    Ok(Cursor { endpoint: endpoint.to_owned(), stream: stream.to_owned(), last_seq, tries, next_at })
}

/// The messages of a topic after a place, in order.
pub(super) async fn messages(database: &Database, topic: &str, stream: &str, after: i64, max: i64) -> Result<Vec<Delivery>, Error> {
    const NEXT: &str = "SELECT seq, kind, at_ms, payload FROM nevertwice_outbox WHERE topic = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows: Vec<Row> = on_both!(database, pool => sqlx::query_as(NEXT).bind(topic).bind(after).bind(max).fetch_all(pool).await)?;
    Ok(rows.into_iter().map(|row| Delivery::new(stream, row)).collect())
}

/// The message was taken. False under a fence that is not the newest.
pub(super) async fn taken(database: &Database, fence: i64, cursor: &Cursor, seq: i64) -> Result<bool, Error> {
    const TAKEN: &str = concat!(
        "UPDATE nevertwice_cursors SET last_seq = $4, tries = 0, next_at = 0, what = '' \
        WHERE endpoint = $2 AND stream = $3 AND last_seq < $4 AND ",
        fenced!()
    );
    on_both!(database, pool => {
        let query = sqlx::query(TAKEN).bind(fence).bind(&cursor.endpoint[..]).bind(&cursor.stream[..]).bind(seq);
        query.execute(pool).await.map(|done| done.rows_affected() == 1)
    })
}

/// The message was not taken, and is tried again later. False under a fence that is not the newest.
pub(super) async fn failed(database: &Database, fence: i64, cursor: &Cursor, next_at: i64, why: &Undelivered) -> Result<bool, Error> {
    const FAILED: &str = concat!(
        "UPDATE nevertwice_cursors SET tries = tries + 1, next_at = $5, what = $6 \
        WHERE endpoint = $2 AND stream = $3 AND last_seq = $4 AND ",
        fenced!()
    );
    let what = cut(&why.what);
    on_both!(database, pool => {
        let query = sqlx::query(FAILED).bind(fence).bind(&cursor.endpoint[..]).bind(&cursor.stream[..]).bind(cursor.last_seq);
        query.bind(next_at).bind(&what[..]).execute(pool).await.map(|done| done.rows_affected() == 1)
    })
}

/// Takes messages away that every endpoint has been told, up to that place.
pub(super) async fn take_away(database: &Database, topic: &str, up_to: i64) -> Result<u64, Error> {
    const TAKE_AWAY: &str = "DELETE FROM nevertwice_outbox WHERE topic = $1 AND seq <= $2";
    on_both!(database, pool => sqlx::query(TAKE_AWAY).bind(topic).bind(up_to).execute(pool).await.map(|done| done.rows_affected()))
}
