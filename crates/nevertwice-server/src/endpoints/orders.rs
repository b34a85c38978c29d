//! One order: the hot path.

use axum::http::StatusCode;
use nevertwice_api::wire;

use super::{envelope, position};
use crate::call::Call;
use crate::convert;
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn place(call: Box<Call>) -> Result<Reply, Refusal> {
    let market = call.market()?;
    let call = call.command().await?;
    let action = convert::order(&call.body()?)?;
    call.caller.check_account(&action.account)?;
    let intent = call.intent(&["place_order", market.name.as_str()])?;
    let answer = call.submit(market, call.of(intent, action)).await?;
    let position = position(&answer);
    let envelope = envelope::<wire::Order>(answer)?;
    Ok(Reply::command(&envelope, StatusCode::CREATED, envelope.replayed)?.at(position))
}
