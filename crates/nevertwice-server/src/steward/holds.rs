//! Ends holds whose time has come.

use nevertwice_core::limits::EXPIRE_HOLDS_MAX;
use nevertwice_core::{BookingState, Event, ExpireHolds, Position, Query, ScanCursor, ShardId, View};

use super::step::step;
use crate::app::App;
use crate::own;
use crate::refusal::Refusal;

/// What came of the holds of a sale.
pub(super) struct Expired {
    /// Bookings that now wait for what the gateway says.
    pub(super) closing: Vec<Position>,
    /// Holds whose time is over and that could not be ended.
    pub(super) overdue: u64,
    /// Why the last of them could not.
    pub(super) failed: Option<Refusal>,
}

/// Ends the due holds of a sale. Those that can't be ended now keep no others waiting.
pub(super) async fn expire(app: &App, sale: &ShardId) -> Result<Expired, Refusal> {
    let at_ms = app.clock.now_ms();
    let mut expired = Expired { closing: Vec::new(), overdue: 0, failed: None };
    let mut cursor = Some(ScanCursor::default());
    while let Some(from) = cursor {
        let read = app.read(sale.clone(), Query::DueHolds { at_ms, cursor: from }, None).await?;
        let View::DueHolds(due, next) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
        for bookings in due.bookings.chunks(EXPIRE_HOLDS_MAX) {
            match expire_some(app, sale, bookings).await {
                Ok(closing) => expired.closing.extend(closing),
                Err(refusal) => {
                    expired.overdue += bookings.len() as u64;
                    expired.failed = Some(refusal);
                }
            }
        }
        cursor = next;
        // Between two pieces everybody else gets a turn.
        tokio::task::yield_now().await;
    }
    Ok(expired)
}

async fn expire_some(app: &App, sale: &ShardId, bookings: &[Position]) -> Result<Vec<Position>, Refusal> {
    let names: Vec<String> = bookings.iter().map(ToString::to_string).collect();
    let intent = own::intent_for_all("expire_holds", names.iter().map(String::as_str))?;
    let action = ExpireHolds { bookings: bookings.to_vec() };
    let Some(entry) = step(app, sale, intent, action.into()).await? else { return Ok(Vec::new()) };
    let [Event::HoldsExpired(expired)] = entry.events.as_slice() else { return Ok(Vec::new()) };
    app.metrics.holds_released.inc_by(expired.holds.len() as u64);
    tracing::info!(%sale, holds = expired.holds.len(), position = %entry.position, "ended holds");
    Ok(expired.holds.iter().filter(|hold| hold.state == BookingState::Closing).map(|hold| hold.booking).collect())
}
