//! The server over HTTP, beside a bare axum handler that parses and answers the same JSON.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::routing::post;
use axum::{Json, Router};
use clap::Args;
use nevertwice_api::wire::{self, Envelope, Order};
use nevertwice_bots::http::{Client, Request, Target};
use nevertwice_bots::load::{Measured, Plan, RawRequester, Requester, Template, closed, open};
use nevertwice_core::Position;

use super::command::Scale;
use super::figure::Figure;
use super::scratch;
use crate::child::Server;

pub(super) const CONNECTIONS: usize = 256;
const ORDERS: &str = "/v1/markets/bench/orders";

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let plan = Plan { warm_up: Duration::from_millis(scale.of(1_000)), measured: Duration::from_millis(scale.of(3_000)) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let folder = scratch::folder()?;
        let ours = Server::start(["serve", "--log", "error", "--listen", "127.0.0.1:0", "--data", path(&folder.path().join("data"))?])?;
        let bare = Server::start(["bench-bare", "--listen", "127.0.0.1:0"])?;
        let (ours_at, bare_at) = (Target::parse(&ours.url)?, Target::parse(&bare.url)?);
        open_market(&ours_at).await?;
        // In turns, so that whatever disturbs the machine disturbs both.
        let (mut orders, mut baseline) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            baseline.push(saturate(&bare_at, plan).await?);
            orders.push(saturate(&ours_at, plan).await?);
        }
        let (orders, baseline) = (middle(orders), middle(baseline));
        let capacity = orders.per_second();
        let waiting = (0..CONNECTIONS).map(|number| requester(&ours_at, number, None)).collect::<Result<Vec<_>, _>>()?;
        let latency = checked(open(waiting, capacity / 2.0, plan).await)?;
        if latency.unsent > 0 {
            eprintln!("{} requests came due and were never sent: the latency is that of an overloaded machine", latency.unsent);
        }
        let figure = |name: &str, measured: &Measured, about| {
            let at = |percent| measured.latency.percentile_us(percent);
            Figure::new(name, measured.per_second(), "orders/s", about).latency(at(50.0), at(99.0))
        };
        Ok(vec![
            figure("http/orders", &orders, "256 connections, one order a request, journaled; ratio to the bare handler")
                .ratio(capacity / baseline.per_second()),
            figure("http/bare", &baseline, "a bare axum handler that parses and answers the same JSON: the baseline"),
            figure("http/order-latency", &latency, "open loop at half of the measured capacity"),
        ])
    })
}

/// The run of the middle throughput.
pub(super) fn middle(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
    runs.swap_remove(runs.len() / 2)
}

pub(super) fn checked(measured: Measured) -> Result<Measured, Box<dyn Error>> {
    match measured.failed() {
        0 => Ok(measured),
        failed => Err(format!("{failed} requests failed: {:?}, {} broken", measured.by_status, measured.broken).into()),
    }
}

pub(super) fn path(path: &Path) -> Result<&str, Box<dyn Error>> {
    path.to_str().ok_or_else(|| "the benchmark's folder has a name that is not UTF-8".into())
}

pub(super) async fn open_market(target: &Target) -> Result<(), Box<dyn Error>> {
    let limits = wire::MarketLimits { quantity_max: 1_000, holding_max: 90_000_000, house_loss_max: 0 };
    let mode = wire::MarketMode::Open;
    let market = wire::OpenMarket { market: "bench".to_owned(), decimals: 2, fee_bps: 50, limits, mode, retention_ms: None };
    let mut client = Client::new(target.clone(), Duration::from_secs(10));
    expect_success(&mut client, "/v1/markets", "open", &market).await?;
    let instrument = wire::ListInstrument { instrument: "BEN-1".to_owned(), base: 1_000, slope: 0 };
    expect_success(&mut client, "/v1/markets/bench/instruments", "list", &instrument).await?;
    for number in 0..CONNECTIONS {
        let account =
            wire::OpenAccount { account: format!("account-{number}"), class: wire::AccountClass::Bot, opening_balance: 1_000_000_000_000 };
        expect_success(&mut client, "/v1/markets/bench/accounts", &format!("account-{number}"), &account).await?;
    }
    Ok(())
}

async fn expect_success(client: &mut Client, path: &str, key: &str, body: &impl serde::Serialize) -> Result<(), Box<dyn Error>> {
    let request = Request::post(path, body)?.header("idempotency-key", key).header("principal", "bench");
    match client.send(&request).await {
        nevertwice_bots::http::Outcome::Reply(reply) if reply.is_success() => Ok(()),
        other => Err(format!("{path}: {other:?}").into()),
    }
}

/// Keys are never used again, in no run of this process.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// Keeps all connections busy, each with the orders of an account of its own.
async fn saturate(target: &Target, plan: Plan) -> Result<Measured, Box<dyn Error>> {
    let requesters = (0..CONNECTIONS).map(|number| requester(target, number, None)).collect::<Result<Vec<_>, _>>()?;
    checked(closed(requesters, plan).await)
}

/// The orders of one account, with a level that their answers have to reach beside the shard's own.
pub(super) fn requester(target: &Target, number: usize, level: Option<&str>) -> Result<impl Requester + use<>, Box<dyn Error>> {
    let order = wire::PlaceOrder {
        account: format!("account-{number}"),
        instrument: "BEN-1".to_owned(),
        side: wire::Side::Buy,
        quantity: 1,
        limit_price: Some(1_000),
        expected_price: None,
        max_slippage_bps: None,
    };
    let request = Request::post(ORDERS, &order)?.header("idempotency-key", "bench-<<number:12>>").header("principal", "bench");
    let request = level.into_iter().fold(request, |request, level| request.header("ack-level", level));
    let template = Template::new(&request, target)?;
    let slot = template.slot("number")?;
    let fill = move |template: &mut Template, _| template.set(slot, KEYS.fetch_add(1, Ordering::Relaxed));
    Ok(RawRequester::new(target.clone(), template, fill))
}

/// Serves the bare handler: the baseline of `bench http`.
#[derive(Args, Debug)]
pub(crate) struct BareArgs {
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
}

pub(crate) fn serve_bare(arguments: &BareArgs) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
        println!("listening on http://{}", listener.local_addr()?);
        Ok(axum::serve(listener, Router::new().route(ORDERS, post(bare))).await?)
    })
}

async fn bare(Json(order): Json<wire::PlaceOrder>) -> Json<Envelope<Order>> {
    let position = Position { epoch: 1, seq: 1_000_000 };
    let order = Order {
        order_id: position.to_string(),
        account: order.account,
        instrument: order.instrument,
        side: order.side,
        quantity: order.quantity,
        notional: 1_000,
        fee: 5,
        total: 1_005,
        average: "1000.0000".to_owned(),
        price_before: 1_000,
        price_after: 1_000,
        balance: 1_000_000_000_000,
        holding: 1_000,
        cost: 1_005_000,
        marked_score: -5_000,
        position: position.to_string(),
        at_ms: 1_784_000_000_000,
    };
    Json(Envelope::new(order, false, position, nevertwice_api::Levels::reached(nevertwice_api::Level::Journaled)))
}
