//! One step of a recording: a request with its answer, or something that happens without one.

use nevertwice_api::{Backend as _, Levels, Request};
use nevertwice_core::{Action, Command, Decision, ExpireHolds, IdempotencyKey, Intent, Name, PayHolders, Position, Principal, ShardId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::quiet;
use crate::client::{Answer, Ask};
use crate::house::House;

/// A step, as it lies in the fixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(super) enum Step {
    /// A request, and what was answered.
    Ask { request: Asked, answer: Told },
    /// The clock goes on.
    Later { ms: i64 },
    /// The server is stopped and started again.
    Restart,
    /// A snapshot is made, where the recording has them.
    Snapshot,
    /// What the steward does in the market `wc`.
    PayHolders { instrument: String, holders: Vec<String> },
    /// What the steward does in the sale `final`.
    ExpireHolds { bookings: Vec<String> },
}

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// An answer: its status, the headers that mean something, and the outline of its body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

const HEADERS: &[&str] = &["content-type", "cache-control", "idempotent-replayed", "retry-after", "allow"];

impl Asked {
    pub(super) async fn send(&self, house: &House) -> Told {
        let bare = Ask::new(&self.method, &self.path).without("host");
        let ask = self.headers.iter().fold(bare, |ask, (name, value)| ask.header(name, value));
        Told::of(&house.send(ask.body(&self.body)).await)
    }
}

impl Told {
    fn of(answer: &Answer) -> Self {
        let header = |name: &&str| Some(((*name).to_owned(), answer.header(name)?.to_owned()));
        let headers = HEADERS.iter().filter_map(header).collect();
        let media_type = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
        let body = match media_type.as_str() {
            "application/json" | "application/problem+json" => outline(answer.json()),
            "application/x-ndjson" => {
                answer.text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON")).collect()
            }
            // Of pages for people, that there are some.
            "text/html" => Value::Bool(answer.text.starts_with("<!DOCTYPE html>")),
            // Of metrics, their names and kinds.
            _ => answer.text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(|line| Value::from(line.to_owned())).collect(),
        };
        Self { status: answer.status, headers, body }
    }
}

/// Of the description of the API, its routes and the members of its types; of everything else, all.
fn outline(body: Value) -> Value {
    if body.get("openapi").is_none() {
        return body;
    }
    let mut lines = Vec::new();
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    for (path, methods) in object(&body["paths"]) {
        lines.extend(object(&methods).keys().map(|method| format!("{method} {path}")));
    }
    for (name, schema) in object(&body["components"]["schemas"]) {
        lines.extend(object(&schema["properties"]).keys().map(|member| format!("{name}.{member}")));
    }
    lines.into_iter().map(Value::from).collect()
}

/// Does a step that is no request.
pub(super) async fn perform(house: House, step: &Step, has_snapshots: bool) -> House {
    match step {
        Step::Ask { .. } => {}
        Step::Later { ms } => house.later(*ms),
        Step::Restart => return house.reopen(quiet::plan()).await,
        Step::Snapshot if has_snapshots => drop(house.backend.snapshot().await.expect("a snapshot is made")),
        Step::Snapshot => {}
        Step::PayHolders { instrument, holders } => {
            let holders = holders.iter().map(|holder| name(holder)).collect();
            let pay = PayHolders { instrument: name(instrument), holders };
            submit(&house, ShardId::market(name("wc")), "pay", pay.into()).await;
        }
        Step::ExpireHolds { bookings } => {
            let bookings: Vec<Position> = bookings.iter().map(|booking| booking.parse().expect("a position")).collect();
            submit(&house, ShardId::sale(name("final")), "expire", ExpireHolds { bookings }.into()).await;
        }
    }
    house
}

async fn submit(house: &House, shard: ShardId, key: &str, action: Action) {
    let key = IdempotencyKey::new(key).expect("a key");
    let intent = Intent { principal: Principal::new("recorded").expect("a principal"), key, fingerprint: [9; 32], expires_at: None };
    let request = Request { shard, command: Command { intent, action, origin: None }, levels: Levels::NONE };
    let answer = house.backend.submit(request).await.expect("it is decided");
    assert!(matches!(answer.decision, Decision::Accepted(_)), "{:?}", answer.decision);
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}
