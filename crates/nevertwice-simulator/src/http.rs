//! Requests of the HTTP API, made of commands, and what its replies tell.

use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use nevertwice_api::wire::{self, BatchAnswer, Problem};
use nevertwice_core::{Action, BookingOwner, Command, Position, Query, ShardId, ShardKind, Side};
use serde_json::{Value, json};

use crate::machine::{OPERATOR_KEY, SERVICE_KEY};

/// The largest instant that the header of an intent's end takes.
const EXPIRES_MAX: i64 = 9_999_999_999_999_999;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) path: String,
    /// Nothing: it reads.
    pub(crate) body: Option<String>,
    pub(crate) is_operator: bool,
    pub(crate) principal: String,
    pub(crate) key: String,
    pub(crate) expires_at: Option<i64>,
    pub(crate) level: Option<&'static str>,
    pub(crate) is_batch: bool,
}

impl Http {
    /// The request as axum takes it.
    pub(crate) fn request(&self) -> Request<Body> {
        let method = if self.body.is_some() { Method::POST } else { Method::GET };
        let key = if self.is_operator { OPERATOR_KEY } else { SERVICE_KEY };
        let mut request = Request::builder().method(method).uri(self.path.as_str()).header("authorization", format!("Bearer {key}"));
        request = request.header("principal", self.principal.as_str());
        if !self.is_batch && self.body.is_some() {
            request = request.header("idempotency-key", self.key.as_str());
            if let Some(expires_at) = self.expires_at {
                request = request.header("idempotency-expires", expires_at);
            }
        }
        if let (Some(level), true) = (self.level, self.body.is_some()) {
            request = request.header("ack-level", level);
        }
        if self.body.is_some() {
            request = request.header("content-type", if self.is_batch { "application/x-ndjson" } else { "application/json" });
        }
        let body = self.body.as_ref().map_or_else(Body::empty, |body| Body::from(body.clone()));
        request.body(body).expect("paths and headers are visible ASCII")
    }

    /// The request that asks for a command, if HTTP can.
    pub(crate) fn of(shard: &ShardId, command: &Command) -> Option<Self> {
        let intent = &command.intent;
        if intent.expires_at.is_some_and(|expires_at| !(0..=EXPIRES_MAX).contains(&expires_at)) {
            return None;
        }
        let (path, body, is_operator) = route(shard, command)?;
        let (principal, key) = (intent.principal.as_str().to_owned(), intent.key.as_str().to_owned());
        let (expires_at, body) = (intent.expires_at, Some(body.to_string()));
        Some(Self { path, body, is_operator, principal, key, expires_at, level: None, is_batch: false })
    }

    /// The request that reads, if HTTP can.
    pub(crate) fn to_read(shard: &ShardId, query: &Query) -> Option<Self> {
        let name = &shard.name;
        let path = match query {
            Query::Market => format!("/v1/markets/{name}"),
            Query::Instruments { from } => format!("/v1/markets/{name}/instruments?from={from}"),
            Query::Instrument { instrument } => format!("/v1/markets/{name}/instruments/{instrument}"),
            Query::Account { account } => format!("/v1/markets/{name}/accounts/{account}"),
            Query::Holdings { account, from } => format!("/v1/markets/{name}/accounts/{account}/holdings?from={from}"),
            Query::Quote { instrument, side, quantity } => {
                let side = if *side == Side::Buy { "buy" } else { "sell" };
                format!("/v1/markets/{name}/instruments/{instrument}/quote?side={side}&quantity={quantity}")
            }
            Query::Sale => format!("/v1/sales/{name}"),
            Query::Booking { booking } => format!("/v1/sales/{name}/bookings/{booking}"),
            _ => return None,
        };
        let (principal, key) = ("reader".to_owned(), String::new());
        Some(Self { path, body: None, is_operator: true, principal, key, expires_at: None, level: None, is_batch: false })
    }

    /// One request for several orders of one market, a line each; the lines' own keys and principals count.
    pub(crate) fn batch(lines: &[&Self]) -> Option<Self> {
        let first = lines.first()?;
        let mut body = String::new();
        for line in lines {
            let order: Value = serde_json::from_str(line.body.as_deref()?).ok()?;
            let line = json!({"key": line.key, "principal": line.principal, "expires_at": line.expires_at, "order": order});
            body.push_str(&line.to_string());
            body.push('\n');
        }
        Some(Self {
            path: format!("{}/batch", first.path),
            body: Some(body),
            is_operator: false,
            principal: "batches".to_owned(),
            key: String::new(),
            expires_at: None,
            level: first.level,
            is_batch: true,
        })
    }

    /// Whether it is an order, which a batch can take.
    pub(crate) fn is_order(&self) -> bool {
        self.path.ends_with("/orders")
    }
}

/// The path, the body, and whether it takes the operator's key.
fn route(shard: &ShardId, command: &Command) -> Option<(String, Value, bool)> {
    let name = &shard.name;
    let of_market = |rest: &str| format!("/v1/markets/{name}{rest}");
    let of_instrument = |instrument: &nevertwice_core::Name, rest: &str| format!("/v1/markets/{name}/instruments/{instrument}/{rest}");
    let of_sale = |rest: &str| format!("/v1/sales/{name}{rest}");
    // A command that goes astray, to a shard of the other kind, has no path.
    let is_market = matches!(
        command.action,
        Action::PlaceOrder(_)
            | Action::OpenMarket(_)
            | Action::ListInstrument(_)
            | Action::OpenAccount(_)
            | Action::Reprice(_)
            | Action::Freeze(_)
            | Action::Unfreeze(_)
            | Action::SetMode(_)
            | Action::SettleInstrument(_)
    );
    if is_market != (shard.kind == ShardKind::Market) {
        return None;
    }
    Some(match &command.action {
        Action::PlaceOrder(action) => {
            let order = wire::PlaceOrder {
                account: action.account.to_string(),
                instrument: action.instrument.to_string(),
                side: action.side.into(),
                quantity: action.quantity,
                limit_price: action.limit_price,
                expected_price: action.expected_price,
                max_slippage_bps: action.max_slippage_bps,
            };
            (of_market("/orders"), serde_json::to_value(order).ok()?, false)
        }
        Action::OpenMarket(action) => {
            let open = wire::OpenMarket {
                market: name.to_string(),
                decimals: action.decimals,
                fee_bps: action.fee_bps,
                limits: wire::MarketLimits {
                    quantity_max: action.limits.quantity_max,
                    holding_max: action.limits.holding_max,
                    house_loss_max: action.limits.house_loss_max,
                },
                mode: action.mode.into(),
                retention_ms: Some(action.retention_ms),
            };
            ("/v1/markets".to_owned(), serde_json::to_value(open).ok()?, true)
        }
        Action::ListInstrument(action) => {
            let body = json!({"instrument": action.instrument.to_string(), "base": action.base, "slope": action.slope});
            (of_market("/instruments"), body, true)
        }
        Action::OpenAccount(action) => {
            let class = serde_json::to_value(wire::AccountClass::from(action.class)).ok()?;
            let body = json!({"account": action.account.to_string(), "class": class, "opening_balance": action.opening_balance});
            (of_market("/accounts"), body, true)
        }
        Action::Reprice(action) => (of_instrument(&action.instrument, "reprice"), json!({"base": action.base}), true),
        Action::Freeze(action) => (of_instrument(&action.instrument, "freeze"), json!({}), true),
        Action::Unfreeze(action) => (of_instrument(&action.instrument, "unfreeze"), json!({}), true),
        Action::SettleInstrument(action) => (of_instrument(&action.instrument, "settle"), json!({"price": action.price}), true),
        Action::SetMode(action) => {
            let mode = serde_json::to_value(wire::MarketMode::from(action.mode)).ok()?;
            (of_market("/mode"), json!({"mode": mode}), true)
        }
        Action::OpenSale(action) => {
            let open = wire::OpenSale {
                sale: name.to_string(),
                levels: caps(&action.levels),
                total_cap: action.total_cap,
                hold_ms: Some(action.hold_ms),
                opens_at: action.opens_at,
                closes_at: action.closes_at,
                retention_ms: Some(action.retention_ms),
            };
            ("/v1/sales".to_owned(), serde_json::to_value(open).ok()?, true)
        }
        Action::SetSaleOpen(action) => (of_sale("/open"), json!({"open": action.open}), true),
        Action::SetCaps(action) => {
            let set = wire::Caps { levels: caps(&action.levels), total_cap: action.total_cap };
            (of_sale("/caps"), serde_json::to_value(set).ok()?, true)
        }
        Action::ConfirmPayment(action) => {
            let body = json!({"payment": action.payment.to_string()});
            (of_sale(&format!("/bookings/{}/confirm", action.booking)), body, true)
        }
        Action::ReleaseBooking(action) => {
            let body = match &action.owner {
                BookingOwner::Payment(payment) => json!({"payment": payment.to_string()}),
                BookingOwner::Intent { principal, key } if *principal == command.intent.principal => json!({"booked_with": key.as_str()}),
                // A service can name the keys of its own principal alone.
                BookingOwner::Intent { .. } => return None,
            };
            (of_sale(&format!("/bookings/{}/release", action.booking)), body, false)
        }
        _ => return None,
    })
}

fn caps(levels: &[nevertwice_core::LevelCap]) -> Vec<wire::LevelCap> {
    levels.iter().map(|level| wire::LevelCap { level: level.level.to_string(), cap: level.cap }).collect()
}

/// What a client hears of one intent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// It has happened.
    Yes {
        /// Where.
        position: Position,
        /// Whether it had happened before.
        replayed: bool,
        /// What the reply says of it: the same in every replay. Empty where nothing but the entry was told.
        result: Value,
        /// All of the reply.
        reply: Value,
    },
    /// This attempt was refused.
    No {
        /// The code.
        code: String,
        /// As of which position.
        position: Option<Position>,
    },
    /// Ask again.
    Again {
        /// The code.
        code: String,
    },
    /// Something was read.
    Read,
    /// A reply that makes no sense.
    Nonsense(String),
}

/// A reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Whether its header marks it as a replay.
    pub(crate) is_marked: bool,
    pub(crate) body: Bytes,
}

impl Reply {
    /// What it tells of the one intent that was asked for.
    pub(crate) fn told(&self, reads: bool) -> Told {
        let Ok(reply) = serde_json::from_slice::<Value>(&self.body) else {
            return Told::Nonsense(format!("status {} with a body that is not JSON", self.status));
        };
        if self.status >= 400 {
            return of_problem(self.status, &reply);
        }
        if reads {
            return if reply["position"].is_string() { Told::Read } else { Told::Nonsense(format!("a read without a position: {reply}")) };
        }
        match of_answer(reply) {
            Told::Yes { replayed, .. } if replayed != self.is_marked => {
                Told::Nonsense(format!("`replayed` is {replayed}, and the header says {}", self.is_marked))
            }
            Told::Yes { replayed: true, .. } if self.status != 200 => Told::Nonsense(format!("a replay with status {}", self.status)),
            told => told,
        }
    }

    /// What it tells of each line of a batch.
    pub(crate) fn told_lines(&self, lines: usize) -> Vec<Told> {
        if self.status != 200 {
            let told = self.told(false);
            return vec![told; lines];
        }
        let text = String::from_utf8_lossy(&self.body);
        let mut told: Vec<Told> = text.lines().map(told_line).collect();
        if told.len() != lines {
            let what = format!("{} lines were answered, and {lines} asked", told.len());
            told = vec![Told::Nonsense(what); lines];
        }
        told
    }
}

fn told_line(line: &str) -> Told {
    let Ok(answer) = serde_json::from_str::<BatchAnswer>(line) else { return Told::Nonsense(format!("a line that is no answer: {line}")) };
    match (answer.answer, answer.problem) {
        (Some(envelope), None) => match serde_json::to_value(envelope) {
            Ok(reply) => of_answer(reply),
            Err(error) => Told::Nonsense(error.to_string()),
        },
        (None, Some(problem)) => of_code(answer.status, problem),
        _ => Told::Nonsense(format!("a line that is no answer: {line}")),
    }
}

fn of_answer(mut reply: Value) -> Told {
    let position = reply["result"]["position"].as_str().and_then(|text| text.parse().ok());
    match (position, reply["replayed"].as_bool()) {
        (Some(position), Some(replayed)) => Told::Yes { position, replayed, result: reply["result"].take(), reply },
        _ => Told::Nonsense(format!("an answer without a position: {reply}")),
    }
}

fn of_problem(status: u16, reply: &Value) -> Told {
    match serde_json::from_value::<Problem>(reply.clone()) {
        Ok(problem) => of_code(status, problem),
        Err(error) => Told::Nonsense(format!("status {status} with no problem details: {error}")),
    }
}

fn of_code(status: u16, problem: Problem) -> Told {
    if problem.status != status {
        return Told::Nonsense(format!("status {status} in the head and {} in the body", problem.status));
    }
    if problem.retryable {
        return Told::Again { code: problem.code };
    }
    let position = problem.position.as_deref().map(str::parse);
    match position.transpose() {
        Ok(position) => Told::No { code: problem.code, position },
        Err(_) => Told::Nonsense(format!("a problem at {:?}", problem.position)),
    }
}
