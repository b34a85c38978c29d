//! Many entries in one transaction that moves their fences.

use nevertwice_api::SourceEntry;
use nevertwice_core::{Position, ShardId};
use sqlx::{PgConnection, SqliteConnection};

use super::doubles::Double;
use super::fence::{Fence, column};
use crate::{Database, DatabaseFailure};

/// Rows that one statement of SQLite inserts, the largest first: each size is a statement of its own, which is kept prepared.
const CHUNKS: [usize; 3] = [64, 8, 1];

/// The entries of one shard that come next, without a gap, all of one retention, no key in them twice.
#[derive(Clone, Debug)]
pub(crate) struct ShardRows<'a> {
    pub(crate) shard: &'a ShardId,
    pub(crate) fence: Fence,
    /// For how long their keys are remembered, in milliseconds.
    pub(crate) retention_ms: i64,
    /// At least one.
    pub(crate) entries: Vec<&'a SourceEntry>,
    /// Those whose key is remembered already, and which are written in spite of that.
    pub(crate) doubles: Vec<Double>,
}

impl ShardRows<'_> {
    fn last(&self) -> Position {
        self.entries.last().map_or(self.fence.last, |entry| entry.head.position)
    }

    /// The entries whose keys are to be remembered.
    fn remembered(&self) -> impl Iterator<Item = &SourceEntry> {
        let is_double = |entry: &SourceEntry| self.doubles.iter().any(|double| double.position == entry.head.position);
        self.entries.iter().copied().filter(move |entry| !is_double(entry))
    }
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// All is written, and outlives what the database outlives.
    All,
    /// Another writer has taken this shard, or its last entry is another one. Nothing was written.
    Fenced(ShardId),
    /// Keys of this shard are remembered from earlier entries. Nothing was written.
    Doubled(ShardId),
}

const MOVE: &str = "UPDATE nevertwice_shards SET epoch = $3, last_seq = $4, retention_ms = $5, lease_expires_at = $6, source = $9 \
                    WHERE shard = $1 AND fence = $2 AND epoch = $7 AND last_seq = $8";
const MARK: &str = "INSERT INTO nevertwice_sources (source, mark) VALUES ($1, $2) ON CONFLICT (source) DO UPDATE SET mark = EXCLUDED.mark";
const DOUBLE: &str = "INSERT INTO nevertwice_doubles (shard, seq, epoch, first_seq, first_epoch, at_ms) VALUES ($1, $2, $3, $4, $5, $6)";

const PG_ENTRIES: &str = "INSERT INTO nevertwice_entries (shard, seq, epoch, at_ms, bytes) \
                          SELECT $1, * FROM UNNEST($2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BYTEA[])";
// A row is replaced only if it had expired when the entry was decided: `expires_at` less the retention is that instant.
const PG_INTENTS: &str = "INSERT INTO nevertwice_intents AS kept (shard, principal, key, fingerprint, epoch, seq, expires_at) \
                          SELECT $1, * FROM UNNEST($2::TEXT[], $3::TEXT[], $4::BYTEA[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[]) \
                          ON CONFLICT (shard, principal, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, epoch = EXCLUDED.epoch, \
                          seq = EXCLUDED.seq, expires_at = EXCLUDED.expires_at \
                          WHERE kept.expires_at <= EXCLUDED.expires_at - $8";

impl Database {
    /// Writes the rows of all these shards, which that place has decided, moves their fences and its mark, or does nothing.
    pub(crate) async fn insert(
        &self,
        rows: &[ShardRows<'_>],
        source: &str,
        expires_at: i64,
        mark: Option<&str>,
    ) -> Result<Inserted, DatabaseFailure> {
        match self {
            Database::Postgres { pool } => {
                let mut unit = pool.begin().await?;
                for shard in rows {
                    if let Some(refused) = insert_postgres(&mut unit, shard, source, expires_at).await? {
                        unit.rollback().await?;
                        return Ok(refused);
                    }
                }
                if let Some(mark) = mark {
                    sqlx::query(MARK).bind(source).bind(mark).execute(&mut *unit).await?;
                }
                unit.commit().await?;
            }
            Database::Sqlite { write, .. } => {
                let mut unit = write.begin_with("BEGIN IMMEDIATE").await?;
                for shard in rows {
                    if let Some(refused) = insert_sqlite(&mut unit, shard, source, expires_at).await? {
                        unit.rollback().await?;
                        return Ok(refused);
                    }
                }
                if let Some(mark) = mark {
                    sqlx::query(MARK).bind(source).bind(mark).execute(&mut *unit).await?;
                }
                unit.commit().await?;
            }
        }
        Ok(Inserted::All)
    }
}

async fn insert_postgres(
    connection: &mut PgConnection,
    rows: &ShardRows<'_>,
    source: &str,
    expires_at: i64,
) -> Result<Option<Inserted>, sqlx::Error> {
    let shard = rows.shard.to_string();
    let (last, before) = (rows.last(), rows.fence.last);
    let moved = sqlx::query(MOVE)
        .bind(&shard)
        .bind(rows.fence.number)
        .bind(i64::from(last.epoch))
        .bind(column(last.seq))
        .bind(rows.retention_ms)
        .bind(expires_at)
        .bind(i64::from(before.epoch))
        .bind(column(before.seq))
        .bind(source)
        .execute(&mut *connection)
        .await?;
    if moved.rows_affected() != 1 {
        return Ok(Some(Inserted::Fenced(rows.shard.clone())));
    }
    let each = || rows.entries.iter();
    sqlx::query(PG_ENTRIES)
        .bind(&shard)
        .bind(each().map(|entry| column(entry.head.position.seq)).collect::<Vec<i64>>())
        .bind(each().map(|entry| i64::from(entry.head.position.epoch)).collect::<Vec<i64>>())
        .bind(each().map(|entry| entry.head.at_ms).collect::<Vec<i64>>())
        .bind(each().map(|entry| entry.bytes.as_slice()).collect::<Vec<&[u8]>>())
        .execute(&mut *connection)
        .await?;
    let kept: Vec<&SourceEntry> = rows.remembered().collect();
    let each = || kept.iter();
    let remembered = sqlx::query(PG_INTENTS)
        .bind(&shard)
        .bind(each().map(|entry| entry.head.intent.principal.as_str()).collect::<Vec<&str>>())
        .bind(each().map(|entry| entry.head.intent.key.as_str()).collect::<Vec<&str>>())
        .bind(each().map(|entry| entry.head.intent.fingerprint.as_slice()).collect::<Vec<&[u8]>>())
        .bind(each().map(|entry| i64::from(entry.head.position.epoch)).collect::<Vec<i64>>())
        .bind(each().map(|entry| column(entry.head.position.seq)).collect::<Vec<i64>>())
        .bind(each().map(|entry| entry.head.at_ms.saturating_add(rows.retention_ms)).collect::<Vec<i64>>())
        .bind(rows.retention_ms)
        .execute(&mut *connection)
        .await?;
    if remembered.rows_affected() != kept.len() as u64 {
        return Ok(Some(Inserted::Doubled(rows.shard.clone())));
    }
    for double in &rows.doubles {
        sqlx::query(DOUBLE)
            .bind(&shard)
            .bind(column(double.position.seq))
            .bind(i64::from(double.position.epoch))
            .bind(column(double.first.seq))
            .bind(i64::from(double.first.epoch))
            .bind(double.at_ms)
            .execute(&mut *connection)
            .await?;
    }
    Ok(None)
}

async fn insert_sqlite(
    connection: &mut SqliteConnection,
    rows: &ShardRows<'_>,
    source: &str,
    expires_at: i64,
) -> Result<Option<Inserted>, sqlx::Error> {
    let shard = rows.shard.to_string();
    let (last, before) = (rows.last(), rows.fence.last);
    let moved = sqlx::query(MOVE)
        .bind(&shard)
        .bind(rows.fence.number)
        .bind(i64::from(last.epoch))
        .bind(column(last.seq))
        .bind(rows.retention_ms)
        .bind(expires_at)
        .bind(i64::from(before.epoch))
        .bind(column(before.seq))
        .bind(source)
        .execute(&mut *connection)
        .await?;
    if moved.rows_affected() != 1 {
        return Ok(Some(Inserted::Fenced(rows.shard.clone())));
    }
    for chunk in chunks(&rows.entries) {
        let mut query = sqlx::QueryBuilder::new("INSERT INTO nevertwice_entries (shard, seq, epoch, at_ms, bytes) ");
        query.push_values(chunk, |mut row, entry| {
            row.push_bind(&shard)
                .push_bind(column(entry.head.position.seq))
                .push_bind(i64::from(entry.head.position.epoch))
                .push_bind(entry.head.at_ms)
                .push_bind(entry.bytes.as_slice());
        });
        query.build().execute(&mut *connection).await?;
    }
    let kept: Vec<&SourceEntry> = rows.remembered().collect();
    let mut remembered = 0;
    for chunk in chunks(&kept) {
        let mut query =
            sqlx::QueryBuilder::new("INSERT INTO nevertwice_intents AS kept (shard, principal, key, fingerprint, epoch, seq, expires_at) ");
        query.push_values(chunk, |mut row, entry| {
            row.push_bind(&shard)
                .push_bind(entry.head.intent.principal.as_str())
                .push_bind(entry.head.intent.key.as_str())
                .push_bind(entry.head.intent.fingerprint.as_slice())
                .push_bind(i64::from(entry.head.position.epoch))
                .push_bind(column(entry.head.position.seq))
                .push_bind(entry.head.at_ms.saturating_add(rows.retention_ms));
        });
        query.push(
            " ON CONFLICT (shard, principal, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, epoch = EXCLUDED.epoch, \
             seq = EXCLUDED.seq, expires_at = EXCLUDED.expires_at WHERE kept.expires_at <= EXCLUDED.expires_at - ",
        );
        query.push_bind(rows.retention_ms);
        remembered += query.build().execute(&mut *connection).await?.rows_affected();
    }
    if remembered != kept.len() as u64 {
        return Ok(Some(Inserted::Doubled(rows.shard.clone())));
    }
    for double in &rows.doubles {
        sqlx::query(DOUBLE)
            .bind(&shard)
            .bind(column(double.position.seq))
            .bind(i64::from(double.position.epoch))
            .bind(column(double.first.seq))
            .bind(i64::from(double.first.epoch))
            .bind(double.at_ms)
            .execute(&mut *connection)
            .await?;
    }
    Ok(None)
}

/// Pieces whose lengths are those of `CHUNKS`.
fn chunks<'a, T>(rows: &'a [&'a T]) -> impl Iterator<Item = &'a [&'a T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|size| *size <= rest.len())?;
        let (piece, after) = rest.split_at(size);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_few_lengths_and_leave_nothing_out() {
        let numbers: Vec<usize> = (0..203).collect();
        let rows: Vec<&usize> = numbers.iter().collect();
        let pieces: Vec<&[&usize]> = chunks(&rows).collect();
        assert_eq!(pieces.concat(), rows);
        assert!(pieces.iter().all(|piece| CHUNKS.contains(&piece.len())));
        assert_eq!(pieces.len(), 3 + 1 + 3);
    }
}
