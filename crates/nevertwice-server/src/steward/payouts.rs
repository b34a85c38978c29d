//! Pays the holders of settled instruments.

use nevertwice_core::limits::PAY_HOLDERS_MAX;
use nevertwice_core::{Event, InstrumentState, Name, PayHolders, Query, ScanCursor, ShardId, View};

use super::step::step;
use crate::app::App;
use crate::own;
use crate::refusal::Refusal;

/// Pays the holders of every settled instrument of a market, until its net is zero.
pub(super) async fn pay(app: &App, market: &ShardId) -> Result<(), Refusal> {
    let mut from = Some(0);
    while let Some(first) = from {
        let read = app.read(market.clone(), Query::Instruments { from: first }, None).await?;
        let View::Instruments(page) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
        for instrument in page.instruments {
            if instrument.state == InstrumentState::Settled && instrument.net > 0 {
                pay_holders_of(app, market, &instrument.instrument).await?;
            }
        }
        from = page.next;
    }
    Ok(())
}

async fn pay_holders_of(app: &App, market: &ShardId, instrument: &Name) -> Result<(), Refusal> {
    let mut cursor = Some(ScanCursor::default());
    while let Some(from) = cursor {
        let query = Query::Holders { instrument: instrument.clone(), cursor: from };
        let View::Holders(page) = app.read(market.clone(), query, None).await?.view else {
            return Err(Refusal::internal("a view of another kind than its query"));
        };
        let holders: Vec<Name> = page.holders.into_iter().map(|holding| holding.account).collect();
        for some in holders.chunks(PAY_HOLDERS_MAX) {
            if pay_some(app, market, instrument, some).await? == Some(0) {
                return Ok(());
            }
        }
        cursor = page.next;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Pays some holders, and tells how many shares are still to be paid, if it did anything.
async fn pay_some(app: &App, market: &ShardId, instrument: &Name, holders: &[Name]) -> Result<Option<i64>, Refusal> {
    let named = std::iter::once(instrument).chain(holders).map(Name::as_str);
    let intent = own::intent_for_all("pay_holders", named)?;
    let action = PayHolders { instrument: instrument.clone(), holders: holders.to_vec() };
    let Some(entry) = step(app, market, intent, action.into()).await? else { return Ok(None) };
    let [Event::HoldersPaid(paid)] = entry.events.as_slice() else { return Ok(None) };
    app.metrics.holders_paid.inc_by(paid.payouts.len() as u64);
    tracing::info!(%market, %instrument, holders = paid.payouts.len(), net = paid.net, position = %entry.position, "paid holders");
    Ok(Some(paid.net))
}
