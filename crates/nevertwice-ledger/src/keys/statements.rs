//! The statements of the store: the same text for both databases, but for the clock.

use nevertwice_core::keys::KeyId;
use sqlx::Error;

use super::row::{Columns, Mark, Raw};
use crate::connection::{Connection, on};

macro_rules! now {
    (sqlite) => {
        "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"
    };
    (postgres) => {
        "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"
    };
}

macro_rules! look {
    ($database:ident, $bytes:literal) => {
        concat!(
            "SELECT t.now_ms, k.generation, k.change, k.state, k.owner, k.answer_bytes, k.record, ",
            $bytes,
            " FROM (SELECT ",
            now!($database),
            " AS now_ms) t LEFT JOIN nevertwice_keys k ON k.id = $1"
        )
    };
}

/// A page of a sweep: id, until when it is remembered, when a lease ends, bytes of the answer.
pub(super) type Seen = (Vec<u8>, i64, i64, i64);

impl Connection<'_> {
    /// The clock, and the row of a key; with the bytes of its answer if they are wanted.
    pub(super) async fn look(self, id: &KeyId, with_bytes: bool) -> Result<Raw, Error> {
        let id = &id.0[..];
        match (self, with_bytes) {
            (Connection::Sqlite(c), true) => sqlx::query_as(look!(sqlite, "k.head, k.body")).bind(id).fetch_one(c).await,
            (Connection::Sqlite(c), false) => sqlx::query_as(look!(sqlite, "NULL, NULL")).bind(id).fetch_one(c).await,
            (Connection::Postgres(c), true) => sqlx::query_as(look!(postgres, "k.head, k.body")).bind(id).fetch_one(c).await,
            (Connection::Postgres(c), false) => sqlx::query_as(look!(postgres, "NULL::BYTEA, NULL::BYTEA")).bind(id).fetch_one(c).await,
        }
    }

    /// Makes a row for a key that has none. False: somebody else did so first.
    pub(super) async fn insert(self, id: &KeyId, columns: &Columns) -> Result<bool, Error> {
        const NOTHING: &[u8] = &[];
        const INSERT: &str = "INSERT INTO nevertwice_keys \
            (id, generation, change, state, owner, forgotten_at, lease_expires_at, answer_bytes, record, head, body) \
            VALUES ($1, $2, 0, $3, $4, $5, $6, 0, $7, $8, $8) ON CONFLICT (id) DO NOTHING";
        on!(self, c => {
            let query = sqlx::query(INSERT)
                .bind(&id.0[..])
                .bind(columns.generation)
                .bind(columns.state)
                .bind(&columns.owner[..])
                .bind(columns.forgotten_at)
                .bind(columns.lease_expires_at)
                .bind(&columns.record[..])
                .bind(NOTHING);
            query.execute(c).await.map(|done| done.rows_affected() == 1)
        })
    }

    /// Replaces the row that was looked at. False: it is another by now, or gone.
    pub(super) async fn replace(self, id: &KeyId, mark: &Mark, columns: &Columns, head: &[u8], body: &[u8]) -> Result<bool, Error> {
        const REPLACE: &str = "UPDATE nevertwice_keys \
            SET generation = $6, change = change + 1, state = $7, owner = $8, forgotten_at = $9, lease_expires_at = $10, \
            answer_bytes = $11, record = $12, head = $13, body = $14 \
            WHERE id = $1 AND generation = $2 AND state = $3 AND owner = $4 AND change = $5";
        let answer_bytes = i64::try_from(head.len() + body.len()).unwrap_or(i64::MAX);
        on!(self, c => {
            let query = sqlx::query(REPLACE)
                .bind(&id.0[..])
                .bind(mark.generation)
                .bind(mark.state)
                .bind(&mark.owner[..])
                .bind(mark.change)
                .bind(columns.generation)
                .bind(columns.state)
                .bind(&columns.owner[..])
                .bind(columns.forgotten_at)
                .bind(columns.lease_expires_at)
                .bind(answer_bytes)
                .bind(&columns.record[..])
                .bind(head)
                .bind(body);
            query.execute(c).await.map(|done| done.rows_affected() == 1)
        })
    }

    /// The clock alone.
    pub(super) async fn now_ms(self) -> Result<i64, Error> {
        match self {
            Connection::Sqlite(c) => sqlx::query_scalar(concat!("SELECT ", now!(sqlite))).fetch_one(c).await,
            Connection::Postgres(c) => sqlx::query_scalar(concat!("SELECT ", now!(postgres))).fetch_one(c).await,
        }
    }

    /// The next records in the order of their ids.
    pub(super) async fn page(self, after: &[u8], rows_max: i64) -> Result<Vec<Seen>, Error> {
        const PAGE: &str =
            "SELECT id, forgotten_at, lease_expires_at, answer_bytes FROM nevertwice_keys WHERE id > $1 ORDER BY id LIMIT $2";
        on!(self, c => sqlx::query_as(PAGE).bind(after).bind(rows_max).fetch_all(c).await)
    }

    /// Frees what is no longer remembered between two ids, and returns the bytes of each answer that went. Asked again of each row as it
    /// goes: one that somebody claims at this moment stays.
    pub(super) async fn free(self, after: &[u8], last: &[u8], at_ms: i64) -> Result<Vec<i64>, Error> {
        const FREE: &str = "DELETE FROM nevertwice_keys WHERE id > $1 AND id <= $2 AND forgotten_at <= $3 RETURNING answer_bytes";
        on!(self, c => sqlx::query_scalar(FREE).bind(after).bind(last).bind(at_ms).fetch_all(c).await)
    }

    /// How many records there are, and how many bytes their answers have.
    pub(super) async fn totals(self) -> Result<(i64, i64), Error> {
        const TOTALS: &str = "SELECT count(*), CAST(coalesce(sum(answer_bytes), 0) AS BIGINT) FROM nevertwice_keys";
        on!(self, c => sqlx::query_as(TOTALS).fetch_one(c).await)
    }
}
