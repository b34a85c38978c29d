//! Markets and their accounts.

use axum::http::StatusCode;
use nevertwice_api::wire;
use nevertwice_core::{self as core, Query, ShardId, View};

use super::shared::{decide, read};
use crate::call::{Call, read_name};
use crate::convert::Listed as _;
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn open(call: Box<Call>) -> Result<Reply, Refusal> {
    let call = call.command().await?;
    let body: wire::OpenMarket = call.body()?;
    let market = ShardId::market(read_name("market", &body.market)?);
    let limits = core::MarketLimits {
        quantity_max: body.limits.quantity_max,
        holding_max: body.limits.holding_max,
        house_loss_max: body.limits.house_loss_max,
    };
    let action = core::OpenMarket {
        decimals: body.decimals,
        fee_bps: body.fee_bps,
        limits,
        mode: body.mode.into(),
        retention_ms: body.retention_ms.unwrap_or(call.app.retention_ms),
    };
    decide::<wire::MarketOpened>(&call, market, &[], action.into(), StatusCode::CREATED).await
}

pub(crate) async fn show(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, level) = (call.market()?, call.parameters(&["level"])?.level()?);
    let name = market.name.clone();
    read(&call, market, Query::Market, level, |view| match view {
        View::Market(view) => Some((&name, &view).show()),
        _ => None,
    })
    .await
}

pub(crate) async fn set_mode(call: Box<Call>) -> Result<Reply, Refusal> {
    let market = call.market()?;
    let call = call.command().await?;
    let body: wire::SetMode = call.body()?;
    let name = market.name.clone();
    let action = core::SetMode { mode: body.mode.into() };
    decide::<wire::ModeSet>(&call, market, &[name.as_str()], action.into(), StatusCode::OK).await
}

pub(crate) async fn open_account(call: Box<Call>) -> Result<Reply, Refusal> {
    let market = call.market()?;
    let call = call.command().await?;
    let body: wire::OpenAccount = call.body()?;
    let name = market.name.clone();
    let action = core::OpenAccount {
        account: read_name("account", &body.account)?,
        class: body.class.into(),
        opening_balance: body.opening_balance,
    };
    decide::<wire::AccountOpened>(&call, market, &[name.as_str()], action.into(), StatusCode::CREATED).await
}

pub(crate) async fn show_account(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, account, level) = (call.market()?, call.name("account")?, call.parameters(&["level"])?.level()?);
    call.caller.check_account(&account)?;
    read(&call, market, Query::Account { account }, level, |view| match view {
        View::Account(view) => Some(view.show()),
        _ => None,
    })
    .await
}

pub(crate) async fn holdings(call: Box<Call>) -> Result<Reply, Refusal> {
    let (market, account, parameters) = (call.market()?, call.name("account")?, call.parameters(&["from", "level"])?);
    call.caller.check_account(&account)?;
    let query = Query::Holdings { account, from: parameters.number("from")?.unwrap_or(0) };
    read(&call, market, query, parameters.level()?, |view| match view {
        View::Holdings(holdings, next) => {
            Some(wire::HoldingPage { holdings: holdings.iter().map(crate::convert::Listed::show).collect(), next })
        }
        _ => None,
    })
    .await
}
