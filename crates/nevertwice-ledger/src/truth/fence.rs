//! Who may write a shard, and behind which entry.
//!
//! The lease only keeps two writers from taking turns at undoing each other's work. What makes a second history impossible is the
//! fence: a number that rises with each writer, and the last entry, both compared in the transaction that adds to them.

use nevertwice_core::{Position, ShardId};

use crate::database::on_both;
use crate::{Database, DatabaseFailure};

/// What a writer knows of a shard's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The writer's number.
    pub(crate) number: i64,
    /// The last entry.
    pub(crate) last: Position,
    /// For how long keys are remembered, in milliseconds.
    pub(crate) retention_ms: i64,
}

/// What became of asking for a fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is the asker's now; whoever had it writes nothing any more.
    Ours(Fence),
    /// Another one holds it.
    Others {
        /// Who.
        writer: String,
        /// Until when, in milliseconds.
        expires_at: i64,
    },
}

type Row = (i64, i64, i64, i64);

fn fence((number, epoch, seq, retention_ms): Row) -> Fence {
    Fence { number, last: position(epoch, seq), retention_ms }
}

/// What was written as a position is one: both numbers came from one.
pub(crate) fn position(epoch: i64, seq: i64) -> Position {
    Position { epoch: u32::try_from(epoch).unwrap_or(u32::MAX), seq: u64::try_from(seq).unwrap_or(0) }
}

/// A `seq` as the column has it.
pub(crate) fn column(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

impl Database {
    /// Takes a shard's fence, if it is free, lapsed, or the same writer's.
    pub(crate) async fn take_fence(&self, shard: &ShardId, writer: &str, now_ms: i64, expires_at: i64) -> Result<Taken, DatabaseFailure> {
        const TAKE: &str = "INSERT INTO nevertwice_shards (shard, fence, epoch, last_seq, retention_ms, writer, lease_expires_at) \
                            VALUES ($1, 1, 0, 0, 0, $2, $3) \
                            ON CONFLICT (shard) DO UPDATE SET fence = nevertwice_shards.fence + 1, writer = EXCLUDED.writer, \
                            lease_expires_at = EXCLUDED.lease_expires_at, stopped = NULL \
                            WHERE nevertwice_shards.writer = EXCLUDED.writer OR nevertwice_shards.lease_expires_at <= $4 \
                            RETURNING fence, epoch, last_seq, retention_ms";
        const HOLDER: &str = "SELECT writer, lease_expires_at FROM nevertwice_shards WHERE shard = $1";
        let shard = shard.to_string();
        on_both!(self, pool => {
            let row: Option<Row> =
                sqlx::query_as(TAKE).bind(&shard).bind(writer).bind(expires_at).bind(now_ms).fetch_optional(pool).await?;
            if let Some(row) = row {
                return Ok(Taken::Ours(fence(row)));
            }
            let (writer, expires_at): (String, i64) = sqlx::query_as(HOLDER).bind(&shard).fetch_one(pool).await?;
            Ok(Taken::Others { writer, expires_at })
        })
    }

    /// Moves the end of a writer's leases, and says how many it still has.
    pub(crate) async fn renew_leases(&self, writer: &str, expires_at: i64) -> Result<u64, DatabaseFailure> {
        const RENEW: &str = "UPDATE nevertwice_shards SET lease_expires_at = $2 WHERE writer = $1";
        Ok(on_both!(self, pool => sqlx::query(RENEW).bind(writer).bind(expires_at).execute(pool).await?.rows_affected()))
    }

    /// Gives a writer's leases back, so that another one need not wait for their end.
    pub(crate) async fn give_back_leases(&self, writer: &str) -> Result<(), DatabaseFailure> {
        self.renew_leases(writer, 0).await.map(|_| ())
    }

    /// Notes why nothing is written to a shard any more.
    pub(crate) async fn note_stopped(&self, shard: &ShardId, number: i64, why: &str) -> Result<(), DatabaseFailure> {
        const NOTE: &str = "UPDATE nevertwice_shards SET stopped = $3 WHERE shard = $1 AND fence = $2";
        let shard = shard.to_string();
        on_both!(self, pool => sqlx::query(NOTE).bind(&shard).bind(number).bind(why).execute(pool).await.map(|_| ())?);
        Ok(())
    }

    /// The shards whose last entry that place has decided. Who took a fence and wrote nothing does not count.
    pub(crate) async fn shards_of(&self, source: &str) -> Result<Vec<ShardId>, DatabaseFailure> {
        const SHARDS: &str = "SELECT shard FROM nevertwice_shards WHERE source = $1 ORDER BY shard";
        let names: Vec<String> = on_both!(self, pool => sqlx::query_scalar(SHARDS).bind(source).fetch_all(pool).await?);
        let shard = |name: String| name.parse().map_err(|_| DatabaseFailure::OtherSchema { what: format!("a shard is called `{name}`") });
        names.into_iter().map(shard).collect()
    }

    /// How far a deciding place was read.
    pub(crate) async fn mark_of(&self, source: &str) -> Result<Option<String>, DatabaseFailure> {
        const MARK: &str = "SELECT mark FROM nevertwice_sources WHERE source = $1";
        Ok(on_both!(self, pool => sqlx::query_scalar(MARK).bind(source).fetch_optional(pool).await?))
    }
}
