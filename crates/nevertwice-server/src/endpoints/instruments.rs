//! Instruments.

use axum::http::StatusCode;
use nevertwice_api::wire;
use nevertwice_core::{self as core, Action, Name, Query, ScanCursor, ShardId, View};

use super::shared::{decide, read};
use crate::call::{Call, CommandCall, invalid_query, read_name};
use crate::convert::{self, FromEntry, Listed as _};
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn list(call: Box<Call>) -> Result<Reply, Refusal> {
    let market = call.market()?;
    let call = call.command().await?;
    let body: wire::ListInstrument = call.body()?;
    let name = market.name.clone();
    let action = core::ListInstrument { instrument: read_name("instrument", &body.instrument)?, base: body.base, slope: body.slope };
    decide::<wire::InstrumentListed>(&call, market, &[name.as_str()], action.into(), StatusCode::CREATED).await
}

pub(crate) async fn page(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, parameters) = (call.market()?, call.parameters(&["from", "level"])?);
    let query = Query::Instruments { from: parameters.number("from")?.unwrap_or(0) };
    read(&call, market, query, parameters.level()?, |view| match view {
        View::Instruments(page) => {
            Some(wire::InstrumentPage { instruments: page.instruments.iter().map(convert::Listed::show).collect(), next: page.next })
        }
        _ => None,
    })
    .await
}

pub(crate) async fn show(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument, level) = (call.market()?, call.name("instrument")?, call.parameters(&["level"])?.level()?);
    read(&call, market, Query::Instrument { instrument }, level, |view| match view {
        View::Instrument(view) => Some(view.show()),
        _ => None,
    })
    .await
}

pub(crate) async fn quote(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument, parameters) = (call.market()?, call.name("instrument")?, call.parameters(&["side", "quantity", "level"])?);
    let side = match parameters.needed("side")? {
        "buy" => core::Side::Buy,
        "sell" => core::Side::Sell,
        _ => return Err(invalid_query("The query parameter `side` is neither `buy` nor `sell`")),
    };
    parameters.needed("quantity")?;
    let quantity = parameters.number("quantity")?.unwrap_or(0);
    read(&call, market, Query::Quote { instrument, side, quantity }, parameters.level()?, |view| match view {
        View::Quote(quote) => Some(convert::quote(&quote)),
        _ => None,
    })
    .await
}

pub(crate) async fn holders(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument, parameters) = (call.market()?, call.name("instrument")?, call.parameters(&["cursor", "level"])?);
    let cursor = ScanCursor(parameters.number("cursor")?.unwrap_or(0));
    read(&call, market, Query::Holders { instrument, cursor }, parameters.level()?, |view| match view {
        View::Holders(page) => Some(wire::HoldingPage {
            holdings: page.holders.iter().map(convert::Listed::show).collect(),
            next: page.next.map(|cursor| cursor.0),
        }),
        _ => None,
    })
    .await
}

pub(crate) async fn reprice(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument) = (call.market()?, call.name("instrument")?);
    let call = call.command().await?;
    let body: wire::Reprice = call.body()?;
    let action = core::Reprice { instrument: instrument.clone(), base: body.base };
    decide_one::<wire::InstrumentRepriced>(&call, market, &instrument, action.into()).await
}

pub(crate) async fn freeze(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument) = (call.market()?, call.name("instrument")?);
    let call = call.command().await?;
    let wire::FreezeInstrument {} = call.body()?;
    let action = core::Freeze { instrument: instrument.clone() };
    decide_one::<wire::InstrumentFrozen>(&call, market, &instrument, action.into()).await
}

pub(crate) async fn unfreeze(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument) = (call.market()?, call.name("instrument")?);
    let call = call.command().await?;
    let wire::FreezeInstrument {} = call.body()?;
    let action = core::Unfreeze { instrument: instrument.clone() };
    decide_one::<wire::InstrumentFrozen>(&call, market, &instrument, action.into()).await
}

pub(crate) async fn settle(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, instrument) = (call.market()?, call.name("instrument")?);
    let call = call.command().await?;
    let body: wire::Settle = call.body()?;
    let action = core::SettleInstrument { instrument: instrument.clone(), price: body.price };
    decide_one::<wire::InstrumentSettled>(&call, market, &instrument, action.into()).await
}

async fn decide_one<R: FromEntry>(call: &CommandCall, market: ShardId, instrument: &Name, action: Action) -> Result<Reply, Refusal> {
    let name = market.name.clone();
    decide::<R>(call, market, &[name.as_str(), instrument.as_str()], action, StatusCode::OK).await
}
