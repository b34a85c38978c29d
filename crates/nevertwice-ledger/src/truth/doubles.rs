//! Keys that came twice.

use nevertwice_api::SourceEntry;
use nevertwice_core::{Position, ShardId};

use super::fence::{column, position};
use crate::database::on_both;
use crate::{Database, DatabaseFailure};

/// An entry whose key was remembered from an earlier one when it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Double {
    /// The entry.
    pub(crate) position: Position,
    /// The one that the key is remembered from.
    pub(crate) first: Position,
    /// When the later one was decided.
    pub(crate) at_ms: i64,
}

impl Database {
    /// Which of these entries have a key that is remembered from an earlier one. One question for each: it is asked only once the
    /// database has said that there are some.
    pub(crate) async fn doubles_among(&self, shard: &ShardId, entries: &[&SourceEntry]) -> Result<Vec<Double>, DatabaseFailure> {
        const LOOK: &str = "SELECT epoch, seq FROM nevertwice_intents \
                            WHERE shard = $1 AND principal = $2 AND key = $3 AND expires_at > $4 AND seq < $5";
        let shard = shard.to_string();
        let mut doubles = Vec::new();
        for entry in entries {
            let head = &entry.head;
            let found: Option<(i64, i64)> = on_both!(self, pool => sqlx::query_as(LOOK)
                .bind(&shard)
                .bind(head.intent.principal.as_str())
                .bind(head.intent.key.as_str())
                .bind(head.at_ms)
                .bind(column(head.position.seq))
                .fetch_optional(pool)
                .await?);
            if let Some((epoch, seq)) = found {
                doubles.push(Double { position: head.position, first: position(epoch, seq), at_ms: head.at_ms });
            }
        }
        Ok(doubles)
    }

    /// How many entries were stored although their key was remembered.
    ///
    /// # Errors
    /// If the database can't be asked.
    pub async fn count_doubles(&self) -> Result<u64, DatabaseFailure> {
        let count: i64 = on_both!(self, pool => sqlx::query_scalar("SELECT COUNT(*) FROM nevertwice_doubles").fetch_one(pool).await?);
        Ok(count.unsigned_abs())
    }
}
