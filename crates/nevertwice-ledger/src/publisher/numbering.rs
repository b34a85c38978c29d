//! Gives committed messages their places.

use sqlx::Error;

use super::lease::fenced;
use crate::Database;
use crate::connection::{Connection, on};

/// Gives places to so many messages at most, in the order in which they were written, and returns how many there were. Under a fence that
/// is not the newest it does nothing.
///
/// The row of the fence is written in the same transaction, so that no two publishers number at the same time.
pub(super) async fn number(database: &Database, fence: i64, messages_max: i64) -> Result<i64, Error> {
    match database {
        Database::Sqlite { write, .. } => {
            let mut work = write.begin_with("BEGIN IMMEDIATE").await?;
            let numbered = within(&mut work, fence, messages_max, |work| Connection::Sqlite(work)).await?;
            work.commit().await?;
            Ok(numbered)
        }
        Database::Postgres { pool } => {
            let mut work = pool.begin().await?;
            let numbered = within(&mut work, fence, messages_max, |work| Connection::Postgres(work)).await?;
            work.commit().await?;
            Ok(numbered)
        }
    }
}

async fn within<D: sqlx::Database>(
    work: &mut sqlx::Transaction<'_, D>,
    fence: i64,
    messages_max: i64,
    lend: impl Fn(&mut D::Connection) -> Connection<'_>,
) -> Result<i64, Error> {
    const HELD: &str = concat!("UPDATE nevertwice_publishers SET fence = fence WHERE name = 'publisher' AND ", fenced!());
    const NEW: &str = "SELECT number, topic FROM nevertwice_outbox WHERE seq IS NULL ORDER BY number LIMIT $1";
    const NEXT: &str = "INSERT INTO nevertwice_topics AS t (topic, last_seq) VALUES ($1, 1) \
        ON CONFLICT (topic) DO UPDATE SET last_seq = t.last_seq + 1 RETURNING last_seq";
    const PLACE: &str = "UPDATE nevertwice_outbox SET seq = $2 WHERE number = $1";
    let held = on!(lend(work), c => sqlx::query(HELD).bind(fence).execute(c).await.map(|done| done.rows_affected()))?;
    if held == 0 {
        return Ok(0);
    }
    let new: Vec<(i64, String)> = on!(lend(work), c => sqlx::query_as(NEW).bind(messages_max).fetch_all(c).await)?;
    for (number, topic) in &new {
        let seq: i64 = on!(lend(work), c => sqlx::query_scalar(NEXT).bind(&topic[..]).fetch_one(c).await)?;
        on!(lend(work), c => sqlx::query(PLACE).bind(number).bind(seq).execute(c).await.map(drop))?;
    }
    Ok(i64::try_from(new.len()).unwrap_or(i64::MAX))
}
