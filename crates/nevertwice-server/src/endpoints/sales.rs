//! Sales and their lists.

use axum::http::StatusCode;
use nevertwice_api::wire;
use nevertwice_core::{self as core, Query, ShardId, View};

use super::shared::{decide, read, submit};
use crate::call::{Call, read_name};
use crate::convert::{self, Listed as _};
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn open(call: Box<Call>) -> Result<Reply, Refusal> {
    let call = call.command().await?;
    let body: wire::OpenSale = call.body()?;
    let sale = ShardId::sale(read_name("sale", &body.sale)?);
    let action = core::OpenSale {
        levels: convert::level_caps(&body.levels)?,
        total_cap: body.total_cap,
        hold_ms: body.hold_ms.unwrap_or(call.app.hold_ms),
        opens_at: body.opens_at,
        closes_at: body.closes_at,
        retention_ms: body.retention_ms.unwrap_or(call.app.retention_ms),
    };
    decide::<wire::SaleOpened>(&call, sale, &[], action.into(), StatusCode::CREATED).await
}

pub(crate) async fn show(call: Box<Call>) -> Result<Reply, Refusal> {
    let (sale, level) = (call.sale()?, call.parameters(&["level"])?.level()?);
    let name = sale.name.clone();
    read(&call, sale, Query::Sale, level, |view| match view {
        View::Sale(view) => Some((&name, &view).show()),
        _ => None,
    })
    .await
}

pub(crate) async fn load_candidates(call: Box<Call>) -> Result<Reply, Refusal> {
    let sale = call.sale()?;
    let call = call.command().await?;
    let body: wire::LoadCandidates = call.body()?;
    let read = call.app.read(sale.clone(), Query::Sale, None).await?;
    let View::Sale(view) = read.view else { return Err(Refusal::internal("a view of another kind than its query")) };
    let key = call.app.sale_key(&sale.name);
    let candidates = convert::candidates(&key, &view.levels, &body.candidates)?;
    let action: core::Action = core::LoadCandidates { candidates }.into();
    let intent = call.intent_about_people(&[action.word(), sale.name.as_str()], &key)?;
    submit::<wire::CandidatesLoaded>(&call, sale, intent, action, StatusCode::OK).await
}

pub(crate) async fn set_open(call: Box<Call>) -> Result<Reply, Refusal> {
    let sale = call.sale()?;
    let call = call.command().await?;
    let body: wire::SetSaleOpen = call.body()?;
    let name = sale.name.clone();
    decide::<wire::SaleOpenSet>(&call, sale, &[name.as_str()], core::SetSaleOpen { open: body.open }.into(), StatusCode::OK).await
}

pub(crate) async fn set_caps(call: Box<Call>) -> Result<Reply, Refusal> {
    let sale = call.sale()?;
    let call = call.command().await?;
    let body: wire::Caps = call.body()?;
    let name = sale.name.clone();
    let action = core::SetCaps { levels: convert::level_caps(&body.levels)?, total_cap: body.total_cap };
    decide::<wire::CapsSet>(&call, sale, &[name.as_str()], action.into(), StatusCode::OK).await
}
