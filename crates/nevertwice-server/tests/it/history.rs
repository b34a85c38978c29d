//! What operators did, in which trace a request was, and what became of one tap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nevertwice_api::{Answer as Decided, Backend, BackendStatus, BoxFuture, Failure, History, Level, Levels, Reading, Request};
use nevertwice_core::{CallerRole, Entry, Position, Query, ShardId, StateHash};
use nevertwice_local::LocalBackend;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;
use nevertwice_server::config::Secret;
use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::house::{House, Plan, START_MS, data};
use crate::secrets::log;

const OPERATOR: &str = "operator-key-0123456789";
const SERVICE: &str = "service-key-0123456789";
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn guarded(change: impl FnOnce(&mut Plan)) -> Plan {
    let mut plan = Plan::default();
    plan.config.operator_key = Some(Secret::new(OPERATOR));
    plan.config.service_key = Some(Secret::new(SERVICE));
    change(&mut plan);
    plan
}

/// A house in which some send with the operator's key and some with the service's.
struct Guarded(House);

impl Guarded {
    async fn open() -> Self {
        Self::with(guarded(|_| {})).await
    }

    async fn with(plan: Plan) -> Self {
        Self(House::with(plan).await)
    }

    async fn operator(&self, ask: Ask) -> Answer {
        self.0.send(ask.header("authorization", format!("Bearer {OPERATOR}"))).await
    }

    async fn service(&self, ask: Ask) -> Answer {
        self.0.send(ask.header("authorization", format!("Bearer {SERVICE}")).header("principal", "ann")).await
    }

    async fn post(&self, path: &str, key: &str, body: Value) -> Value {
        self.operator(Ask::post(path, key, body.to_string())).await.result()
    }

    async fn market(&self) {
        let limits = json!({"quantity_max": 1_000, "holding_max": 1_000_000, "house_loss_max": 10_000_000});
        self.post("/v1/markets", "open", json!({"market": "wc", "decimals": 2, "fee_bps": 50, "limits": limits, "mode": "open"})).await;
        self.post("/v1/markets/wc/instruments", "list", json!({"instrument": "ARG", "base": 1_000, "slope": 2})).await;
        self.post("/v1/markets/wc/accounts", "ann", json!({"account": "ann", "opening_balance": 1_000_000})).await;
    }

    async fn sale(&self) {
        let levels = json!([{"level": "north", "cap": 2}, {"level": "south", "cap": null}]);
        let window = (START_MS - 1_000, START_MS + 86_400_000);
        let sale = json!({"sale": "final", "levels": levels, "total_cap": 3, "opens_at": window.0, "closes_at": window.1});
        self.post("/v1/sales", "sale", sale).await;
        self.post("/v1/sales/final/candidates", "load", json!({"candidates": [{"code": "A1"}, {"code": "B2"}]})).await;
        self.post("/v1/sales/final/open", "doors", json!({"open": true})).await;
    }

    async fn book(&self, key: &str, code: &str) -> Answer {
        self.service(Ask::post("/v1/sales/final/bookings", key, json!({"code": code, "level": "north"}).to_string())).await
    }

    async fn audit(&self, query: &str) -> Value {
        let answer = self.operator(Ask::get(format!("/v1/audit{query}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    async fn explain(&self, principal: &str, key: &str) -> Value {
        let answer = self.operator(Ask::get(format!("/v1/explain?principal={principal}&key={key}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    fn buy(key: &str, quantity: i64) -> Ask {
        let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": quantity});
        Ask::post("/v1/markets/wc/orders", key, order.to_string())
    }
}

fn facts(page: &Value) -> &Vec<Value> {
    page["facts"].as_array().expect("facts")
}

fn commands(page: &Value) -> Vec<&str> {
    facts(page).iter().map(|fact| fact["command"].as_str().expect("a command")).collect()
}

/// All entries of a stopped server.
fn entries(folder: &tempfile::TempDir) -> Vec<Entry> {
    let inspection = Inspection::open(Arc::new(FileStorage::open(data(folder)).expect("the folder is there"))).expect("it can be read");
    let mut entries = Vec::new();
    let damage = inspection.batches(|batch| {
        entries.extend(batch.entries.iter().map(|entry| entry.clone().expect("it can be read")));
        true
    });
    assert_eq!(damage.expect("it can be read"), None);
    entries
}

#[tokio::test]
async fn every_command_of_an_operator_is_found_again_with_who_and_what_was_before() {
    let house = Guarded::open().await;
    house.market().await;
    house.service(Guarded::buy("buy", 3)).await.result();
    house.operator(Guarded::buy("buy-too", 1)).await.result();
    house.post("/v1/markets/wc/mode", "halt", json!({"mode": "halted"})).await;
    house.post("/v1/markets/wc/instruments/ARG/freeze", "freeze", json!({})).await;
    house.post("/v1/markets/wc/instruments/ARG/unfreeze", "unfreeze", json!({})).await;
    house.post("/v1/markets/wc/instruments/ARG/reprice", "reprice", json!({"base": 1_100})).await;
    house.post("/v1/markets/wc/instruments/ARG/settle", "settle", json!({"price": 1_200})).await;
    let page = house.audit("?shard=market/wc").await;
    let expected = ["open_market", "list_instrument", "open_account", "set_mode", "freeze", "unfreeze", "reprice", "settle_instrument"];
    assert_eq!(commands(&page), expected);
    assert_eq!((&page["begins_after"], &page["is_whole"], page.get("next")), (&json!(0), &json!(true), None));
    let changes: Vec<(Value, Value, Value)> =
        facts(&page).iter().map(|fact| (fact["about"].clone(), fact["before"].clone(), fact["after"].clone())).collect();
    assert_eq!(changes[1], (json!("ARG"), Value::Null, json!({"state": "active", "base": 1_000, "slope": 2})));
    assert_eq!(changes[2], (json!("ann"), Value::Null, json!({"class": "player", "opening_balance": 1_000_000})));
    assert_eq!(changes[3], (Value::Null, json!({"mode": "open"}), json!({"mode": "halted"})));
    assert_eq!(changes[4], (json!("ARG"), json!({"state": "active"}), json!({"state": "frozen"})));
    // Four shares are sold.
    let before = json!({"state": "active", "base": 1_000, "price": 1_008, "house_loss": 0});
    assert_eq!(changes[6], (json!("ARG"), before, json!({"base": 1_100, "price": 1_108, "house_loss": 400})));
    let before = json!({"state": "active", "base": 1_100, "price": 1_108, "house_loss": 400});
    assert_eq!(changes[7].1, before);
    let mode = &facts(&page)[3];
    assert_eq!(mode["origin"], json!({"name": "operator", "role": "operator", "address": "127.0.0.1"}));
    let told = (&mode["shard"], &mode["position"], &mode["at_ms"], &mode["principal"], &mode["key"]);
    assert_eq!(told, (&json!("market/wc"), &json!("1-6"), &json!(START_MS), &json!("operator"), &json!("halt")));
}

#[tokio::test]
async fn what_operators_do_to_a_sale_and_its_bookings_is_found_again() {
    let house = Guarded::open().await;
    house.sale().await;
    house.post("/v1/sales/final/caps", "caps", json!({"levels": [{"level": "south", "cap": 1}], "total_cap": 2})).await;
    let again = json!({"candidates": [{"code": "A1", "email": "ann@example.org", "levels": ["south"]}, {"code": "C3"}]});
    house.post("/v1/sales/final/candidates", "load-2", again).await;
    house.post("/v1/sales/final/candidates", "load-3", json!({"candidates": [{"code": "A1"}]})).await;
    let paid = house.book("paid", "A1").await.json();
    let given_up = house.book("given-up", "B2").await.json();
    let confirm = json!({"payment": paid["state"]["payment"]});
    let id = |answer: &Value| answer["state"]["booking"].as_str().expect("an id").to_owned();
    house.post(&format!("/v1/sales/final/bookings/{}/confirm", id(&paid)), "confirm", confirm).await;
    house.post(&format!("/v1/sales/final/bookings/{}/release", id(&given_up)), "release", json!({})).await;
    let kept = house.book("kept", "B2").await.json();
    let release = json!({"payment": kept["state"]["payment"]}).to_string();
    let cancelled = house.service(Ask::post(format!("/v1/sales/final/bookings/{}/release", id(&kept)), "cancel", release)).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);

    let page = house.audit("").await;
    let expected = [
        "open_sale",
        "load_candidates",
        "set_sale_open",
        "set_caps",
        "load_candidates",
        "load_candidates",
        "confirm_payment",
        "release_booking",
    ];
    assert_eq!(commands(&page), expected, "what the service gave up is no operator's doing");
    let change = |number: usize| (facts(&page)[number]["before"].clone(), facts(&page)[number]["after"].clone());
    assert_eq!(change(2), (json!({"open": false}), json!({"open": true})));
    let caps = |cap: Value, total: u8| json!({"levels": [{"level": "south", "cap": cap}], "total_cap": total});
    assert_eq!(change(3), (caps(Value::Null, 3), caps(json!(1), 2)));
    let (before, after) = change(4);
    let reference = &before["candidates"][0]["reference"];
    assert_eq!(before, json!({"candidates": [{"reference": reference, "has_email": false, "levels": [0, 1]}]}));
    assert_eq!((&after["loaded"], &after["added"], &after["emails_changed"]), (&json!(2), &json!(1), &json!(1)));
    assert_eq!(after["candidates"][0], json!({"reference": reference, "has_email": true, "levels": [1]}));
    assert_eq!(change(6), (json!({"state": "paying"}), json!({"state": "paid", "payment": paid["state"]["payment"]})));
    assert_eq!(change(7), (json!({"state": "paying"}), json!({"state": "released", "seat": 2, "reason": "operator"})));
    assert_eq!(facts(&page)[7]["about"], given_up["state"]["booking"]);
    let page = page.to_string();
    for secret in ["A1", "C3", "ann@example.org", "http", OPERATOR] {
        assert!(!page.contains(&format!("\"{secret}")), "{secret}");
    }
}

#[tokio::test]
async fn a_page_goes_on_where_the_one_before_ended_and_after_a_restart() {
    let house = Guarded::open().await;
    house.market().await;
    for base in 0..130 {
        house.post("/v1/markets/wc/instruments/ARG/reprice", &format!("base-{base}"), json!({"base": 2_000 + base})).await;
    }
    let first = house.audit("").await;
    assert_eq!(facts(&first).len(), 100);
    let house = Guarded(house.0.reopen(guarded(|_| {})).await);
    let next = first["next"].as_str().expect("more follows");
    let second = house.audit(&format!("?cursor={next}")).await;
    let bases: Vec<i64> = facts(&first).iter().chain(facts(&second)).filter_map(|fact| fact["after"]["base"].as_i64()).collect();
    assert_eq!(bases[1..], (2_000..2_130).collect::<Vec<_>>(), "the first is what it was listed with");
    assert!(second.get("next").is_none());
    house.0.later(1_000);
    house.post("/v1/markets/wc/mode", "halt", json!({"mode": "halted"})).await;
    assert_eq!(commands(&house.audit(&format!("?from={}", START_MS + 1)).await), ["set_mode"]);
    assert_eq!(facts(&house.audit(&format!("?until={START_MS}")).await).len(), 0);
    assert_eq!(facts(&house.audit("?shard=sale/wc").await).len(), 0);
}

#[tokio::test]
async fn a_query_that_is_not_understood_is_refused() {
    let house = House::open().await;
    for query in [
        "/v1/audit?shard=wc",
        "/v1/audit?shard=club/wc",
        "/v1/audit?from=yesterday",
        "/v1/audit?from=-1",
        "/v1/audit?until=-1",
        "/v1/audit?until=9007199254740992",
        "/v1/audit?cursor=5",
        "/v1/audit?cursor=-1.2",
        "/v1/audit?cursor=99999999999999999999.1",
        "/v1/audit?limit=5",
        "/v1/explain",
        "/v1/explain?principal=ann",
        "/v1/explain?key=k",
        "/v1/explain?principal=a%20b&key=k",
        "/v1/explain?principal=ann&key=k&shard=x",
    ] {
        assert_eq!(house.get(query).await.code(), "query_invalid", "{query}");
    }
    assert_eq!(house.get("/v1/explain?principal=ann&key=a%20b").await.code(), "idempotency_key_invalid");
    assert_eq!(house.get("/v1/audit?shard=market/a%20b").await.code(), "name_invalid");
    // A place that is none of any page is the end, or what comes after it.
    assert_eq!(house.get("/v1/audit?cursor=18446744073709551615.7").await.status, 200);
}

/// A command that was refused changed nothing, and the log tells of it.
#[tokio::test]
async fn a_refused_command_of_an_operator_is_logged() {
    let house = Guarded::open().await;
    house.market().await;
    let mode = |key: &str| Ask::post("/v1/markets/wc/mode", key, json!({"mode": "open"}).to_string());
    assert_eq!(house.operator(mode("refused-7f3a")).await.code(), "no_change");
    assert_eq!(house.service(mode("refused-8b2c")).await.code(), "role_insufficient");
    assert_eq!(house.0.send(mode("refused-9d4e")).await.code(), "credentials_missing");
    assert_eq!(house.service(Guarded::buy("refused-order", 0)).await.code(), "quantity_out_of_range");
    let log = log();
    let line = |key: &str| log.lines().find(|line| line.contains("was refused") && line.contains(key));
    let told = line("refused-7f3a").expect("it is logged");
    for field in
        ["WARN", "command=\"set_mode\"", "/v1/markets/wc/mode", "who=\"operator\"", "role=\"operator\"", "from=127.0.0.1", "no_change"]
    {
        assert!(told.contains(field), "{field}: {told}");
    }
    assert!(line("refused-8b2c").is_some_and(|line| line.contains("role_insufficient")));
    assert!(line("refused-9d4e").is_some_and(|line| line.contains("credentials_missing")));
    assert_eq!(line("refused-order"), None, "people's orders are refused all day");
    assert_eq!(facts(&house.audit("").await).len(), 3);
}

#[tokio::test]
async fn a_trace_goes_into_the_entry_and_out_again() {
    let house = Guarded::open().await;
    house.market().await;
    house.sale().await;
    let traced = house.service(Guarded::buy("traced", 1).header("traceparent", TRACE)).await;
    let response = traced.header("traceresponse").expect("the server names its step").to_owned();
    assert!(response.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && response.ends_with("-01"), "{response}");
    assert_ne!(response, TRACE, "its step is another than the caller's");
    let again = house.service(Guarded::buy("traced", 1).header("traceparent", TRACE)).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"), "the trace is no part of what is asked");
    assert_ne!(again.header("traceresponse"), Some(response.as_str()), "each request is a step of its own");
    // Newer versions count as far as this one knows them; a refusal is answered too.
    let newer = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00-more";
    assert!(house.service(Guarded::buy("none", 0).header("traceparent", newer)).await.header("traceresponse").is_some());
    for (number, ignored) in
        ["", "00-0-0-00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &TRACE.to_uppercase()].iter().enumerate()
    {
        let answer = house.service(Guarded::buy(&format!("bad-{number}"), 1).header("traceparent", ignored)).await;
        assert_eq!((answer.status, answer.header("traceresponse")), (201, None), "{ignored}");
    }
    let twice = Guarded::buy("twice", 1).header("traceparent", TRACE).header("traceparent", TRACE);
    assert_eq!(house.service(twice).await.header("traceresponse"), None);
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let batch = Ask::new("POST", "/v1/markets/wc/orders/batch").header("content-type", "application/x-ndjson").header("traceparent", TRACE);
    let batch = batch.body(json!({"key": "line", "order": order}).to_string());
    assert_eq!(house.service(batch).await.status, 200);
    let book = json!({"code": "A1", "level": "north"}).to_string();
    let book = Ask::post("/v1/sales/final/bookings", "book", book).header("traceparent", TRACE);
    assert_eq!(house.service(book).await.status, 201);
    let halt = Ask::post("/v1/markets/wc/mode", "halt", json!({"mode": "halted"}).to_string()).header("traceparent", TRACE);
    house.operator(halt).await.result();

    let folder = house.0.close().await;
    let entries = entries(&folder);
    let of = |key: &str| entries.iter().find(|entry| entry.intent.key.as_str() == key).expect("it is there").origin.as_deref();
    let origin = of("traced").expect("it is told");
    assert_eq!((origin.caller.as_str(), origin.role, &origin.address), ("service", CallerRole::Service, &None));
    assert_eq!(origin.trace.map(|trace| trace.to_string()).as_deref(), Some(TRACE));
    assert_eq!(of("line"), Some(origin));
    assert_eq!(of("book"), Some(origin));
    assert_eq!(of("bad-0"), None, "without a trace an order is what it always was");
    let halt = of("halt").expect("it is told");
    assert_eq!(halt.trace, origin.trace);
    assert!(halt.address.is_some());
    assert_eq!(of("list").map(|origin| origin.trace), Some(None));
    // The steps of the booking that the server took by itself are in the same trace.
    let steps = entries.iter().filter(|entry| entry.intent.principal.as_str() == "nevertwice" && entry.origin.as_deref() == Some(origin));
    assert_eq!(steps.count(), 2, "the payment was begun and attached");
    assert!(
        log().lines().any(|line| line.contains("trace_id=4bf92f3577b34da6a3ce929d0e0e4736") && line.contains("endpoint=\"place_order\""))
    );
}

#[tokio::test]
async fn a_tap_is_explained() {
    let house = Guarded::open().await;
    house.market().await;
    assert_eq!(house.service(Guarded::buy("tap", 5_000)).await.code(), "quantity_out_of_range");
    house.0.later(10);
    let filled = house.service(Guarded::buy("tap", 3).header("traceparent", TRACE)).await.result();
    house.0.later(10);
    house.service(Guarded::buy("tap", 3)).await.result();
    assert_eq!(house.service(Guarded::buy("tap", 4)).await.code(), "fingerprint_mismatch");
    house.service(Guarded::buy("later", 2)).await.result();
    let told = house.explain("ann", "tap").await;
    let attempts: Vec<(i64, &str, Option<&str>)> = told["attempts"]["seen"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|seen| {
            (
                seen["at_ms"].as_i64().expect("an instant") - START_MS,
                seen["outcome"].as_str().expect("an outcome"),
                seen["position"].as_str(),
            )
        })
        .collect();
    let expected = [
        (0, "quantity_out_of_range", Some("1-3")),
        (10, "accepted", Some("1-4")),
        (20, "replayed", Some("1-4")),
        (20, "fingerprint_mismatch", Some("1-4")),
    ];
    assert_eq!(attempts, expected);
    assert_eq!((&told["attempts"]["since_ms"], &told["attempts"]["is_cut"]), (&json!(START_MS), &json!(false)));
    let [found] = told["found"].as_array().expect("entries").as_slice() else { panic!("{told}") };
    assert_eq!(found["result"], filled, "member for member what a replay answers");
    assert_eq!((&found["shard"], &found["position"], &found["command"]), (&json!("market/wc"), &json!("1-4"), &json!("place_order")));
    assert_eq!((&found["is_remembered"], &found["is_in_journal"]), (&json!(true), &json!(true)));
    assert_eq!(found["origin"], json!({"name": "service", "role": "service", "trace": TRACE}));
    let [later] = found["later"].as_array().expect("later entries").as_slice() else { panic!("{told}") };
    assert_eq!((&later["key"], &later["result"]["holding"]), (&json!("later"), &json!(5)));
    assert!(told["says"].as_str().is_some_and(|says| says.contains("A retry now is answered with the same result")), "{told}");
    assert_eq!(told["journal"], json!({"first_batch": 1, "read_to": told["journal"]["read_to"], "is_read_to_end": true}));

    let never = house.explain("ann", "never").await;
    assert_eq!((never["found"].as_array().map(Vec::len), never["attempts"]["seen"].as_array().map(Vec::len)), (Some(0), Some(0)));
    assert!(never["says"].as_str().is_some_and(|says| says.contains("never happened")), "{never}");
    // After a restart nobody remembers attempts, and after the retention nobody remembers the key.
    let house = Guarded(house.0.reopen(guarded(|_| {})).await);
    house.0.later(86_400_001);
    house.service(Guarded::buy("much-later", 1)).await.result();
    let told = house.explain("ann", "tap").await;
    assert_eq!(told["attempts"]["seen"], json!([]));
    assert_eq!((&told["found"][0]["is_remembered"], &told["found"][0]["is_in_journal"]), (&json!(false), &json!(true)));
    assert!(told["says"].as_str().is_some_and(|says| says.contains("decided anew")), "{told}");
}

#[tokio::test]
async fn a_booking_is_explained_to_its_end_without_its_secrets() {
    let house = Guarded::open().await;
    house.sale().await;
    let booked = house.book("seat", "A1").await.json();
    let id = booked["state"]["booking"].as_str().expect("an id");
    let url = booked["state"]["payment_url"].as_str().expect("a page");
    house.post(&format!("/v1/sales/final/bookings/{id}/release"), "release", json!({})).await;
    let told = house.explain("ann", "seat").await;
    let [found] = told["found"].as_array().expect("entries").as_slice() else { panic!("{told}") };
    assert_eq!(found["result"], booked["result"]);
    let later: Vec<&str> =
        found["later"].as_array().expect("entries").iter().map(|later| later["command"].as_str().expect("a word")).collect();
    assert_eq!(later, ["begin_payment", "attach_payment", "release_booking"]);
    assert!(told["says"].as_str().is_some_and(|says| says.contains("release_booking")), "{told}");
    let text = told.to_string();
    for secret in [url, "A1", OPERATOR, SERVICE] {
        assert!(!text.contains(&format!("\"{secret}\"")), "{secret}");
    }
    let program = json!({"code": "B2", "level": "north", "website": "x"}).to_string();
    house.service(Ask::post("/v1/sales/final/bookings", "program", program)).await;
    assert_eq!(house.explain("ann", "program").await["attempts"]["seen"][0]["outcome"], "feigned");
}

/// A backend in front of the real one, with a fault if it is told, and perhaps without a history.
struct Between {
    backend: Arc<LocalBackend>,
    panics: Arc<AtomicBool>,
    has_history: bool,
}

impl Backend for Between {
    fn name(&self) -> &'static str {
        "between"
    }
    fn offers(&self) -> Levels {
        self.backend.offers()
    }
    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Decided, Failure>> {
        assert!(!self.panics.load(Ordering::SeqCst), "a test's panic");
        self.backend.submit(request)
    }
    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        self.backend.read(shard, query, level)
    }
    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        self.backend.wait(shard, position, level)
    }
    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        self.backend.state_hash(shard)
    }
    fn history(&self) -> Option<Arc<dyn History>> {
        self.backend.history().filter(|_| self.has_history)
    }
    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        self.backend.shards()
    }
    fn status(&self) -> BackendStatus {
        self.backend.status()
    }
}

#[tokio::test]
async fn without_a_history_there_is_nothing_to_show() {
    let wrap = |backend| Arc::new(Between { backend, panics: Arc::default(), has_history: false }) as Arc<dyn Backend>;
    let plan = Plan { wrap: Box::new(wrap), ..Plan::default() };
    let house = House::with(plan).await;
    assert_eq!(house.get("/v1/audit").await.code(), "history_unavailable");
    assert_eq!(house.get("/v1/explain?principal=ann&key=k").await.code(), "history_unavailable");
}

/// A fault comes in between, and the client gets `internal`: that its request arrived is known all the same.
#[tokio::test]
async fn an_attempt_that_a_fault_cut_short_is_noted() {
    let panics = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&panics);
    let wrap = |backend| Arc::new(Between { backend, panics: told, has_history: true }) as Arc<dyn Backend>;
    let plan = Plan { wrap: Box::new(wrap), ..Plan::default() };
    let house = House::with(plan).await.with_market().await;
    panics.store(true, Ordering::SeqCst);
    let order = Guarded::buy("tap", 1).header("principal", "ann");
    assert_eq!(house.send(order.clone()).await.code(), "internal");
    panics.store(false, Ordering::SeqCst);
    assert_eq!(house.send(order).await.status, 201);
    let seen = house.get("/v1/explain?principal=ann&key=tap").await.json()["attempts"]["seen"].clone();
    assert_eq!((&seen[0]["outcome"], &seen[1]["outcome"]), (&json!("unfinished"), &json!("accepted")), "{seen}");
}
