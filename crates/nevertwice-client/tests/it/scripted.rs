//! A network that does what a script says, and a clock that goes only when it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use nevertwice_client::http::{Outcome, Reply, Request};
use nevertwice_client::{Client, Clock, IntentStore, Retries, Transport};
use serde_json::{Value, json};

/// The table that all clients share.
pub(crate) static TABLE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../clients/cases.json")).expect("the table is JSON"));

/// What the client, the clock and the network share with the test.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) now_ms: u64,
    pub(crate) waits: Vec<u64>,
    pub(crate) steps: VecDeque<Value>,
    pub(crate) sent: Vec<Request>,
    pub(crate) timeouts: Vec<u64>,
}

pub(crate) type Shared = Arc<Mutex<Scene>>;

/// Starts at the table's instant, and keeps the waits it was asked for.
pub(crate) struct StoppedClock(Shared);

impl Clock for StoppedClock {
    fn now_ms(&self) -> u64 {
        self.0.lock().expect("not poisoned").now_ms
    }

    fn elapsed_ms(&self) -> u64 {
        self.now_ms()
    }

    async fn sleep(&mut self, wait_ms: u64) {
        let mut scene = self.0.lock().expect("not poisoned");
        scene.waits.push(wait_ms);
        scene.now_ms += wait_ms;
    }
}

/// A transport that plays steps, and keeps what it was given to send.
pub(crate) struct Script(Shared);

impl Transport for Script {
    async fn send(&mut self, request: &Request, time_limit: Duration) -> Outcome {
        let mut scene = self.0.lock().expect("not poisoned");
        let limit_ms = u64::try_from(time_limit.as_millis()).expect("a time limit");
        scene.sent.push(request.clone());
        scene.timeouts.push(limit_ms);
        let step = scene.steps.pop_front().expect("a further step");
        let is = |name: &str| step[name] == true;
        if is("not_sent") {
            return Outcome::Refused;
        }
        if is("lost") {
            return Outcome::Lost;
        }
        if is("timeout") {
            scene.now_ms += limit_ms;
            return Outcome::TimedOut;
        }
        let lines = step["headers"].as_object().into_iter().flatten();
        let headers = lines.map(|(name, value)| (name.clone(), value.as_str().expect("a line").to_owned())).collect();
        Outcome::Reply(Reply {
            status: step["status"].as_u64().and_then(|status| status.try_into().ok()).expect("a status"),
            headers,
            body: body(&step),
        })
    }
}

fn body(step: &Value) -> Bytes {
    if let Some(depth) = step["nested"].as_u64() {
        let depth = usize::try_from(depth).expect("a depth");
        return format!("{{\"code\":{}{}}}", "[".repeat(depth), "]".repeat(depth)).into();
    }
    step["text"].as_str().map_or_else(|| step["body"].to_string(), str::to_owned).into()
}

/// A client of the script, with the table's settings.
pub(crate) fn scripted(steps: &[Value]) -> (Client<Script, StoppedClock>, Shared) {
    let now_ms = TABLE["now_ms"].as_u64().expect("an instant");
    let scene: Shared = Arc::new(Mutex::new(Scene { now_ms, steps: steps.iter().cloned().collect(), ..Scene::default() }));
    let mut keys = 0_u8;
    // Half of everything, and yet no two keys alike.
    let chance = move |bytes: &mut [u8]| {
        bytes.fill(0);
        bytes[0] = 0x80;
        if bytes.len() == 10 {
            keys += 1;
            bytes[9] = keys;
        }
        true
    };
    let client = Client::new(Script(scene.clone()))
        .with_clock(StoppedClock(scene.clone()))
        .with_chance(Box::new(chance))
        .with_expires_in_ms(TABLE["expires_in_ms"].as_u64().expect("a time"))
        .with_retries(retries(&Value::Null))
        .expect("bounds");
    (client, scene)
}

/// The table's bounds, with those of one case in the place of others.
pub(crate) fn retries(settings: &Value) -> Retries {
    let bound = |name: &str| settings[name].as_u64().or(TABLE["settings"][name].as_u64()).expect("a bound");
    Retries {
        timeout_ms: bound("timeout_ms"),
        deadline_ms: bound("deadline_ms"),
        attempts_max: u32::try_from(bound("attempts_max")).expect("a number"),
        backoff_min_ms: bound("backoff_min_ms"),
        backoff_max_ms: bound("backoff_max_ms"),
    }
}

pub(crate) fn with_store(steps: &[Value], store: &Arc<dyn IntentStore>) -> (Client<Script, StoppedClock>, Shared) {
    let (client, scene) = scripted(steps);
    (client.with_store(store.clone()), scene)
}

/// A `POST` of JSON.
pub(crate) fn post(path: &str, body: &Value) -> Request {
    Request::post(path, body).expect("JSON")
}

/// The lines of a name in each request that was sent.
pub(crate) fn lines(scene: &Shared, name: &str) -> Vec<String> {
    let scene = scene.lock().expect("not poisoned");
    let all = scene.sent.iter().flat_map(|request| &request.headers);
    all.filter(|(line, _)| line.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone()).collect()
}

pub(crate) fn yes() -> Value {
    json!({"status": 201, "body": {"result": {}, "replayed": false}})
}

pub(crate) fn replay() -> Value {
    json!({"status": 200, "headers": {"idempotent-replayed": "true"}, "body": {"result": {}, "replayed": true}})
}

pub(crate) fn no() -> Value {
    json!({"status": 409, "body": {"code": "level_full", "retryable": false}})
}

pub(crate) fn lost() -> Value {
    json!({"lost": true})
}

pub(crate) fn not_sent() -> Value {
    json!({"not_sent": true})
}

pub(crate) fn in_progress() -> Value {
    json!({"status": 409, "headers": {"retry-after": "2"}, "body": {"code": "key_in_progress", "retryable": true}})
}
