//! Frees records whose retention is over, a page at a time, in the order of their ids.
//!
//! Without an index on instants: a claim and its answer then cost one write each to the table and none to an index, and the way round all
//! records also counts what others have added.

use nevertwice_api::{KeyStoreFailure, Swept};
use tokio::time::timeout_at;

use super::row::unsigned;
use super::session::Session;
use super::store::Shelf;
use super::totals::Amount;

impl Shelf {
    /// Looks at the next records and frees those that are no longer remembered.
    pub(super) async fn sweep_page(&self, session: &mut Session<'_>, records_max: usize) -> Result<Swept, KeyStoreFailure> {
        let deadline = session.deadline();
        let Ok(_one_at_a_time) = timeout_at(deadline, self.sweeping.lock()).await else { return Err(KeyStoreFailure::Unavailable) };
        let told = timeout_at(deadline, session.begin().now_ms()).await.ok();
        let at_ms = self.at_ms(session.read(told)?);
        let after = self.totals.after();
        let rows_max = i64::try_from(records_max).unwrap_or(i64::MAX);
        let told = timeout_at(deadline, session.begin().page(&after, rows_max)).await.ok();
        let page = session.read(told)?;
        let mut kept = Amount::default();
        let (mut lapsed, mut is_over) = (0, false);
        for (_, forgotten_at, lease_expires_at, answer_bytes) in &page {
            if *forgotten_at <= at_ms {
                is_over = true;
                continue;
            }
            kept.records += 1;
            kept.bytes += unsigned(*answer_bytes);
            lapsed += u64::from(*lease_expires_at > 0 && *lease_expires_at <= at_ms);
        }
        let last = page.last().map_or_else(|| after.clone(), |(id, ..)| id.clone());
        let mut freed = Amount::default();
        if is_over {
            session.turn_to_writing().await?;
            let told = timeout_at(deadline, session.begin().free(&after, &last, at_ms)).await.ok();
            for answer_bytes in session.written(told)? {
                freed.records += 1;
                freed.bytes += unsigned(answer_bytes);
            }
        }
        self.totals.swept(last, kept, lapsed, freed);
        if page.len() < records_max {
            self.totals.end_round();
        }
        let freed = usize::try_from(freed.records).unwrap_or(usize::MAX);
        Ok(Swept { seen: page.len(), freed: freed.min(page.len()) })
    }
}
