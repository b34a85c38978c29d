//! Entries as they were written.

use nevertwice_core::{Position, ShardId};

use super::fence::{column, position};
use crate::database::on_both;
use crate::{Database, DatabaseFailure};

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its place in its shard's history.
    pub position: Position,
    /// The whole of it, byte for byte as it was decided.
    pub bytes: Vec<u8>,
}

impl Database {
    /// The shards that the ledger holds, with the last entry of each.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub async fn shards(&self) -> Result<Vec<(ShardId, Position)>, DatabaseFailure> {
        const SHARDS: &str = "SELECT shard, epoch, last_seq FROM nevertwice_shards WHERE last_seq > 0 ORDER BY shard";
        let rows: Vec<(String, i64, i64)> = on_both!(self, pool => sqlx::query_as(SHARDS).fetch_all(pool).await?);
        let shard = |(name, epoch, seq): (String, i64, i64)| match name.parse() {
            Ok(shard) => Ok((shard, position(epoch, seq))),
            Err(_) => Err(DatabaseFailure::OtherSchema { what: format!("a shard is called `{name}`") }),
        };
        rows.into_iter().map(shard).collect()
    }

    /// The entries of a shard after that `seq`, in their order, at most so many.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub async fn entries_after(&self, shard: &ShardId, seq: u64, rows_max: u32) -> Result<Vec<LedgerEntry>, DatabaseFailure> {
        const ENTRIES: &str = "SELECT epoch, seq, bytes FROM nevertwice_entries WHERE shard = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let shard = shard.to_string();
        let rows: Vec<(i64, i64, Vec<u8>)> = on_both!(self, pool => {
            sqlx::query_as(ENTRIES).bind(&shard).bind(column(seq)).bind(i64::from(rows_max)).fetch_all(pool).await?
        });
        Ok(rows.into_iter().map(|(epoch, seq, bytes)| LedgerEntry { position: position(epoch, seq), bytes }).collect())
    }
}
