//! The layer and the proxy of keys, beside a bare handler and a bare proxy of the same HTTP library.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, Uri};
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http_body::{Body as HttpBody, Frame};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nevertwice_bots::http::{Request as Asked, Target};
use nevertwice_bots::load::{Measured, Plan, RawRequester, Requester, Template, closed};
use nevertwice_idempotency::proxy::UpstreamUrl;
use nevertwice_idempotency::{Caller, Keys, KeysLayer, MemoryBounds, MemoryStore, Routes};
use serde::{Deserialize, Serialize};

use super::command::Scale;
use super::figure::Figure;
use super::http::{checked, middle, path};
use super::scratch;
use crate::child::Server;

const CONNECTIONS: usize = 64;
pub(super) const CHARGES: &str = "/charges";

/// What a service with large answers sends.
pub(super) const LARGE_BYTES: usize = 256 << 20;

/// Enough for every key of a run.
const RECORDS_MAX: u64 = 64 << 20;
const ANSWERS_BYTES_MAX: u64 = 8 << 30;

/// Whether each request has a key of its own, or one that was answered before.
#[derive(Clone, Copy)]
enum Keyed {
    Fresh,
    Replay,
}

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let plan = Plan { warm_up: Duration::from_millis(scale.of(1_000)), measured: Duration::from_millis(scale.of(3_000)) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let folder = scratch::folder()?;
        let settings = folder.path().join("proxy.toml");
        std::fs::write(&settings, format!("[store]\nrecords_max = {RECORDS_MAX}\nanswers_bytes_max = {ANSWERS_BYTES_MAX}\n"))?;
        let listen = ["--listen", "127.0.0.1:0"];
        let bare = Server::start([&["bench-keys", "handler"][..], &listen].concat())?;
        let layer = Server::start([&["bench-keys", "layer"][..], &listen].concat())?;
        let plain = Server::start([&["bench-keys", "proxy", "--upstream", &bare.url][..], &listen].concat())?;
        let guarded = ["proxy", "--log", "error", "--config", path(&settings)?, "--upstream", &bare.url];
        let guarded = Server::start([&guarded[..], &listen].concat())?;
        let (mut handler, mut fresh, mut replay, mut passing, mut proxied) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // In turns, so that whatever disturbs the machine disturbs all.
        for _ in 0..3 {
            for (server, keyed, runs) in [
                (&bare, Keyed::Fresh, &mut handler),
                (&layer, Keyed::Fresh, &mut fresh),
                (&layer, Keyed::Replay, &mut replay),
                (&plain, Keyed::Fresh, &mut passing),
                (&guarded, Keyed::Fresh, &mut proxied),
            ] {
                runs.push(saturate(&Target::parse(&server.url)?, keyed, plan).await?);
            }
        }
        let [handler, fresh, replay, passing, proxied] = [handler, fresh, replay, passing, proxied].map(middle);
        let figure = |name: &str, measured: &Measured, about| {
            let at = |percent| measured.latency.percentile_us(percent);
            Figure::new(name, measured.per_second(), "requests/s", about).latency(at(50.0), at(99.0))
        };
        let to = |measured: &Measured, baseline: &Measured| measured.per_second() / baseline.per_second();
        Ok(vec![
            figure("keys/layer-fresh", &fresh, "64 connections, a key of its own for each request; ratio to the bare handler")
                .ratio(to(&fresh, &handler)),
            figure("keys/layer-replay", &replay, "one key for each connection, answered before; ratio to the bare handler")
                .ratio(to(&replay, &handler)),
            figure("keys/handler", &handler, "an axum handler that parses and answers JSON: the baseline of the layer"),
            figure("keys/proxy-fresh", &proxied, "`nevertwice proxy`, a key of its own for each request; ratio to the bare proxy")
                .ratio(to(&proxied, &passing)),
            figure("keys/proxy-bare", &passing, "an axum handler that passes on by hyper's client: the baseline of the proxy"),
        ])
    })
}

/// Keys are never used again, in no run of this process.
static KEYS: AtomicU64 = AtomicU64::new(0);

#[derive(Serialize, Deserialize)]
struct Charge {
    account: String,
    amount: u64,
}

#[derive(Serialize)]
struct Charged {
    charge: u64,
    account: String,
    amount: u64,
}

async fn saturate(target: &Target, keyed: Keyed, plan: Plan) -> Result<Measured, Box<dyn Error>> {
    let requesters = (0..CONNECTIONS).map(|number| requester(target, keyed, number)).collect::<Result<Vec<_>, _>>()?;
    checked(closed(requesters, plan).await)
}

fn requester(target: &Target, keyed: Keyed, number: usize) -> Result<impl Requester + use<>, Box<dyn Error>> {
    let request = Asked::post(CHARGES, &Charge { account: format!("account-{number}"), amount: 500 })?;
    let request = request.header("authorization", "Bearer bench").header("idempotency-key", "bench-<<number:12>>");
    let template = Template::new(&request, target)?;
    let slot = template.slot("number")?;
    let own = KEYS.fetch_add(1, Ordering::Relaxed);
    let fill = move |template: &mut Template, _| match keyed {
        Keyed::Fresh => template.set(slot, KEYS.fetch_add(1, Ordering::Relaxed)),
        Keyed::Replay => template.set(slot, own),
    };
    Ok(RawRequester::new(target.clone(), template, fill))
}

/// What is measured beside the proxy.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A handler without a guard.
    Handler,
    /// The same handler within the layer.
    Layer,
    /// A proxy without a guard.
    Proxy,
    /// A handler with large answers.
    Large,
}

/// Serves what `bench keys` measures.
#[derive(Args, Debug)]
pub(crate) struct KeysTargetArgs {
    /// What to serve.
    kind: Kind,
    /// Where to listen.
    #[arg(long)]
    listen: SocketAddr,
    /// What a proxy is in front of.
    #[arg(long)]
    upstream: Option<UpstreamUrl>,
}

pub(crate) fn serve_keys_target(arguments: &KeysTargetArgs) -> Result<(), Box<dyn Error>> {
    let handler = Router::new().route(CHARGES, post(charge));
    let router = match arguments.kind {
        Kind::Handler => handler,
        Kind::Layer => handler.layer(KeysLayer::new(keys()?)),
        Kind::Large => Router::new().route(CHARGES, post(large)),
        Kind::Proxy => {
            let upstream = arguments.upstream.as_ref().ok_or("a proxy is in front of something: --upstream")?;
            let client: Client<HttpConnector, Body> = Client::builder(TokioExecutor::new()).build_http();
            Router::new().fallback(pass).with_state((client, Arc::from(upstream.to_string())))
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
        println!("listening on http://{}", listener.local_addr()?);
        Ok(axum::serve(listener, router).await?)
    })
}

fn keys() -> Result<Keys, Box<dyn Error>> {
    let bounds = MemoryBounds { records_max: RECORDS_MAX, answers_bytes_max: ANSWERS_BYTES_MAX, ..MemoryBounds::default() };
    let keys = Keys::new(Arc::new(MemoryStore::new(bounds)), None, Routes::ietf())?;
    Ok(keys.with_identity(|parts: &axum::http::request::Parts| {
        let principal = parts.headers.get("authorization")?.to_str().ok()?.to_owned();
        Some(Caller { tenant: String::new(), principal })
    }))
}

async fn charge(Json(charge): Json<Charge>) -> (StatusCode, Json<Charged>) {
    (StatusCode::CREATED, Json(Charged { charge: 1, account: charge.account, amount: charge.amount }))
}

/// Answers as fast as somebody reads.
async fn large() -> Body {
    Body::new(Large { left_bytes: LARGE_BYTES })
}

/// A large answer, made while it is sent.
struct Large {
    left_bytes: usize,
}

impl HttpBody for Large {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        const PIECE: &[u8] = &[7; 64 << 10];
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        self.left_bytes = self.left_bytes.saturating_sub(PIECE.len());
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(PIECE)))))
    }
}

type Upstream = (Client<HttpConnector, Body>, Arc<str>);

async fn pass(State((client, upstream)): State<Upstream>, mut request: Request<Body>) -> Result<Response<Body>, StatusCode> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = format!("{upstream}{path}").parse::<Uri>().map_err(|_| StatusCode::BAD_REQUEST)?;
    let answer = client.request(request).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(answer.map(Body::new))
}
