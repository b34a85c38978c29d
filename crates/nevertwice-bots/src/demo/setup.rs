//! What stands before the crowd comes: the market with its players and accounts, the sale with its candidates.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use nevertwice_api::wire;
use serde::Serialize;
use tokio::task::JoinSet;

use super::crowd::Listed;
use super::shared::Shared;
use super::wire::{MARKET, SALE, post};
use super::{DemoError, Options};
use crate::http::{Outcome, Request};
use crate::record::IntentId;
use crate::worldcup::{PlayingPosition, Squads};

/// What each account begins with, in cents.
pub(super) const OPENING_BALANCE: i64 = 1_500_000;
/// What each share adds to a price, in cents.
const SLOPE: i64 = 2;
/// The fee on each notional, in basis points.
const FEE_BPS: i64 = 25;
/// Candidates per request.
const CANDIDATES_A_LOAD: usize = 256;
/// Connections that set up.
const CONNECTIONS: usize = 32;
/// How long a seat is held: far longer than a run, so that no hold ends by itself.
const HOLD_MS: i64 = 3_600_000;

/// A player's base in cents, by where he plays.
pub(super) fn base_of(playing_position: PlayingPosition) -> i64 {
    match playing_position {
        PlayingPosition::Goalkeeper => 800,
        PlayingPosition::Defender => 1_000,
        PlayingPosition::Midfielder => 1_400,
        PlayingPosition::Forward => 1_800,
    }
}

/// Opens the market, lists every player, opens the accounts, opens the sale with its doors closed, loads its candidates.
pub(super) async fn set_up(
    shared: &Arc<Shared>,
    options: &Options,
    squads: &Squads,
    accounts: &[String],
    list: &[Listed],
) -> Result<(), DemoError> {
    let limits = wire::MarketLimits { quantity_max: 10_000, holding_max: 1_000_000, house_loss_max: 5_000_000_000 };
    let market = wire::OpenMarket {
        market: MARKET.to_owned(),
        decimals: 2,
        fee_bps: FEE_BPS,
        limits,
        mode: wire::MarketMode::Open,
        retention_ms: None,
    };
    let levels = options.levels.iter();
    let sale = wire::OpenSale {
        sale: SALE.to_owned(),
        levels: levels.map(|plan| wire::LevelCap { level: plan.level.clone(), cap: Some(plan.cap) }).collect(),
        total_cap: options.total_cap,
        hold_ms: Some(HOLD_MS),
        opens_at: 0,
        closes_at: i64::try_from(shared.expires_at).unwrap_or(i64::MAX),
        retention_ms: None,
    };
    let opening = [
        step(shared, "/v1/markets".to_owned(), &market, "open-market".to_owned())?,
        step(shared, "/v1/sales".to_owned(), &sale, "open-sale".to_owned())?,
    ];
    do_all(shared, opening.into()).await?;
    let mut steps = VecDeque::new();
    for player in squads.players() {
        let instrument = player.instrument.clone();
        let key = format!("list-{instrument}");
        let body = wire::ListInstrument { instrument, base: base_of(player.playing_position), slope: SLOPE };
        steps.push_back(step(shared, format!("/v1/markets/{MARKET}/instruments"), &body, key)?);
    }
    for account in accounts {
        let key = format!("open-{account}");
        let class = wire::AccountClass::Bot;
        let body = wire::OpenAccount { account: account.clone(), class, opening_balance: OPENING_BALANCE };
        steps.push_back(step(shared, format!("/v1/markets/{MARKET}/accounts"), &body, key)?);
    }
    for (number, lines) in list.chunks(CANDIDATES_A_LOAD).enumerate() {
        let candidates = lines.iter().map(|listed| wire::CandidateLine {
            code: listed.code.clone(),
            email: listed.email.clone(),
            levels: listed.only.clone().map(|level| vec![level]),
        });
        let body = wire::LoadCandidates { candidates: candidates.collect() };
        steps.push_back(step(shared, format!("/v1/sales/{SALE}/candidates"), &body, format!("load-{number}"))?);
    }
    do_all(shared, steps).await
}

/// Opens the sale's doors.
pub(super) async fn open_doors(shared: &Arc<Shared>) -> Result<(), DemoError> {
    let body = wire::SetSaleOpen { open: true };
    let doors = step(shared, format!("/v1/sales/{SALE}/open"), &body, "open-doors".to_owned())?;
    do_all(shared, [doors].into()).await
}

fn step<T: Serialize>(shared: &Shared, path: String, body: &T, key: String) -> Result<Request, DemoError> {
    let intent = IntentId { principal: "organiser".to_owned(), key };
    Ok(post(shared, path, body, &intent)?)
}

/// Does every step, several at a time. A step that is not done, or was done before this run, ends the setup.
async fn do_all(shared: &Arc<Shared>, steps: VecDeque<Request>) -> Result<(), DemoError> {
    let steps = Arc::new(Mutex::new(steps));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (shared, steps) = (shared.clone(), steps.clone());
        workers.spawn(async move {
            let mut client = shared.client();
            loop {
                let next = steps.lock().ok().and_then(|mut steps| steps.pop_front());
                let Some(request) = next else { return Ok(()) };
                let said = match client.send(&request).await {
                    Outcome::Reply(reply) if reply.header("idempotent-replayed") == Some("true") => {
                        "it was done before this run".to_owned()
                    }
                    Outcome::Reply(reply) if reply.is_success() => continue,
                    Outcome::Reply(reply) => {
                        format!("status {}, {}", reply.status, String::from_utf8_lossy(&reply.body))
                    }
                    other => format!("{other:?}"),
                };
                return Err(DemoError::Setup { what: format!("{} {}", request.method, request.path), said });
            }
        });
    }
    while let Some(done) = workers.join_next().await {
        done.map_err(|error| DemoError::Crowd(error.to_string()))??;
    }
    Ok(())
}
