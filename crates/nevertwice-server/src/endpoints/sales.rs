//! Sales and their lists.

use axum::http::StatusCode;
use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::limits::HOLD_MS_MAX;
use nevertwice_core::{self as core, Query, ShardId, View};

use super::shared::{decide, is_new, read, submit};
use crate::call::{Call, read_name};
use crate::config::SWEEPS_A_HOLD;
use crate::convert::{self, Listed as _};
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn open(call: Box<Call>) -> Result<Reply, Refusal> {
    let call = call.command().await?;
    let body: wire::OpenSale = call.body()?;
    let sale = ShardId::sale(read_name("sale", &body.sale)?);
    let hold_ms = body.hold_ms.unwrap_or(call.app.hold_ms);
    let too_short = check_hold(hold_ms, call.app.sweep_ms);
    if too_short.is_err() && is_new(&call, &sale, &["open_sale"]).await? {
        too_short?;
    }
    let action = core::OpenSale {
        levels: convert::level_caps(&body.levels)?,
        total_cap: body.total_cap,
        hold_ms,
        opens_at: body.opens_at,
        closes_at: body.closes_at,
        retention_ms: body.retention_ms.unwrap_or(call.app.retention_ms),
    };
    decide::<wire::SaleOpened>(&call, sale, &[], action.into(), StatusCode::CREATED).await
}

/// Holds have to end on time, so what ends them has to come by often enough. Whoever opened a sale under a shorter sweep still
/// gets its replay.
fn check_hold(hold_ms: i64, sweep_ms: u64) -> Result<(), Refusal> {
    let min = i64::try_from(sweep_ms.saturating_mul(SWEEPS_A_HOLD)).unwrap_or(i64::MAX);
    if hold_ms >= min {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::SettingOutOfRange,
        format!(
            "`hold_ms` is {hold_ms} and must be from {min} to {HOLD_MS_MAX}: holds are ended every {sweep_ms} ms, and that may be at most a quarter of a hold"
        ),
        "Choose a longer hold, or let the operator set a shorter `sweep_ms`",
    )
    .figure("setting", "hold_ms")
    .figure("min", min)
    .figure("max", HOLD_MS_MAX)
    .figure("sweep_ms", sweep_ms))
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
