//! A standby as a server: it tells how it is, decides nothing, and is promoted.

use std::net::SocketAddr;
use std::sync::Arc;

use nevertwice_api::{Backend, Observer};
use nevertwice_local::clock::Clock;
use nevertwice_local::standby::Standby;
use nevertwice_server::{Config, Method, Metrics, Parts, Remote, Server, open_standby, routes};
use nevertwice_testkit::clock::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Answer, Ask, send};
use crate::house::{House, Plan, START_MS, data, eventually};

/// A standby of a house, as a server.
pub(crate) struct Annex {
    addr: SocketAddr,
    clock: Arc<ManualClock>,
    standby: Arc<Standby>,
    stop: oneshot::Sender<()>,
    ran: JoinHandle<()>,
    _folder: TempDir,
}

impl Annex {
    pub(crate) async fn of(house: &House) -> Self {
        let folder = TempDir::new().expect("a folder can be made");
        let config = Config { data: data(&folder), sweep_ms: 20, ..Plan::default().config };
        let remote = Remote::new(format!("http://{}", house.addr).parse().expect("an address"), None, None).expect("a runtime");
        let (clock, metrics) = (Arc::new(ManualClock::new(START_MS)), Arc::new(Metrics::new()));
        let (now, observer) = (Arc::clone(&clock) as Arc<dyn Clock>, Arc::clone(&metrics) as Arc<dyn Observer>);
        let standby = Arc::new(open_standby(&config, remote, "annex", now, observer).expect("it opens"));
        let mut parts = Parts::new(Arc::clone(&standby) as Arc<_>, [7; 32]);
        parts.journal = Some(Arc::clone(&standby) as Arc<_>);
        parts.standby = Some(Arc::clone(&standby));
        parts.metrics = metrics;
        parts.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let server = Server::bind(&config, parts).await.expect("the server binds");
        let addr = server.addr();
        let (stop, stopped) = oneshot::channel();
        let ran = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { addr, clock, standby, stop, ran, _folder: folder }
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        send(self.addr, &ask).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Ask::get(path)).await
    }

    /// Waits until it has all that the house has.
    pub(crate) async fn caught_up(&self, house: &House) {
        let durable = house.backend.journal().durable();
        eventually("the standby has it all", async || (self.standby.status().applied >= durable).then_some(())).await;
    }

    pub(crate) async fn close(self) {
        let _ = self.stop.send(());
        self.ran.await.expect("the server ends well");
        let standby = self.standby;
        tokio::task::spawn_blocking(move || standby.stop()).await.expect("it stops");
    }
}

async fn buy(house: &House, key: &str) -> Value {
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    house.post("/v1/markets/wc/orders", key, order).await.result()
}

pub(crate) fn buying(key: &str) -> Ask {
    Ask::post("/v1/markets/wc/orders", key, r#"{"account":"ann","instrument":"ARG","side":"buy","quantity":1}"#)
}

#[tokio::test]
async fn a_standby_tells_how_it_is_and_refuses_everything_else() {
    let house = House::open().await.with_market().await.with_sale().await;
    let annex = Annex::of(&house).await;
    buy(&house, "1").await;
    annex.caught_up(&house).await;
    let ready = annex.get("/readyz").await;
    assert_eq!((ready.status, ready.code().as_str(), ready.header("retry-after")), (503, "standby_follows", Some("1")));
    let figures = &ready.json()["figures"];
    let durable = house.backend.journal().durable();
    assert_eq!((&figures["phase"], &figures["batch"], &figures["lag_ms"]), (&json!("following"), &json!(durable), &json!(0)), "{figures}");
    assert_eq!(annex.get("/healthz").await.status, 200);

    let shown = annex.get("/v1/standby?hashes=true").await.json();
    let mut expected = Vec::new();
    for shard in house.backend.shards().await.expect("shards") {
        let (position, hash) = house.backend.state_hash(shard.clone()).await.expect("a hash");
        expected.push(json!({"shard": shard.to_string(), "position": position.to_string(), "state_hash": hash.to_string()}));
    }
    assert_eq!(shown["shards"], Value::Array(expected));
    assert!(annex.get("/v1/standby").await.json()["shards"][0].get("state_hash").is_none());
    assert_eq!(annex.get("/v1/standby?hashes=yes").await.code(), "query_invalid");
    let metrics = annex.get("/metrics").await.text;
    for line in [
        "nevertwice_ready 0",
        "nevertwice_standby_following 1",
        "nevertwice_standby_lag_batches 0",
        "nevertwice_standby_lag_ms 0",
        &format!("nevertwice_standby_batch {durable}"),
        &format!("nevertwice_durable_batch {durable}"),
        "nevertwice_position_seq{shard=\"market/wc\"} 4",
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line}: {metrics}");
    }
    assert!(!metrics.contains("nevertwice_steward_failures_total 1"), "its steward rests");
    let primary = house.get("/metrics").await.text;
    assert!(primary.contains(&format!("nevertwice_reader_confirmed_batch{{reader=\"annex\"}} {durable}")), "{primary}");

    // All that decides or reads what was decided is refused, and nothing else.
    let mut refused = 0;
    for route in routes() {
        let path = route.path.replace("{position}", "1-1").replace("{booking}", "1-1").replace(['{', '}'], "");
        let copies = path.starts_with("/v1/journal") || path.starts_with("/v1/standby");
        let ask = match route.method {
            Method::Get => Ask::get(match route.word {
                "show_quote" => format!("{path}?side=buy&quantity=1"),
                "explain" => format!("{path}?principal=ann&key=1"),
                _ => path.clone(),
            }),
            Method::Post => continue,
        };
        let answer = annex.send(ask).await;
        if path.starts_with("/v1/") && !copies {
            assert_eq!(answer.code(), "standby_follows", "{route:?}");
            refused += 1;
        } else if copies {
            assert!(!answer.text.contains("standby_follows"), "{route:?}");
        }
    }
    assert!(refused >= 10, "{refused}");
    for ask in [buying("1"), buying("2"), Ask::post("/v1/sales/final/bookings", "b", r#"{"code":"A1","level":"north"}"#)] {
        assert_eq!(annex.send(ask).await.code(), "standby_follows");
    }

    // It can be copied itself.
    let there = annex.get("/v1/journal").await.json();
    let here = house.get("/v1/journal").await.json();
    assert_eq!(there["batch"], here["batch"]);
    assert_ne!(there["journal"], here["journal"], "its journal is one of its own");

    // Its source falls silent, and it says how old it may be.
    house.close().await;
    annex.clock.set(START_MS + 60_000);
    let figures = annex.get("/readyz").await.json()["figures"].clone();
    assert!(figures["lag_ms"].as_u64() >= Some(50_000) && figures["silent_ms"].as_u64() >= Some(50_000), "{figures}");
    annex.close().await;
}

#[tokio::test]
async fn a_promoted_standby_replays_what_it_has_and_decides_from_then_on() {
    let house = House::open().await.with_market().await.with_sale().await;
    let annex = Annex::of(&house).await;
    let first = buy(&house, "1").await;
    let booked = house.book("b", "A1", "north").await.result();
    annex.caught_up(&house).await;
    let refused = house.send(Ask::post("/v1/standby/promote", "p", "{}")).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "not_standby"));
    assert_eq!(house.get("/v1/standby").await.code(), "not_standby");
    assert_eq!(annex.send(Ask::post("/v1/standby/promote", "p", r#"{"now":true}"#)).await.code(), "body_invalid");

    let promoted = annex.send(Ask::post("/v1/standby/promote", "p", "{}")).await;
    let told = promoted.json();
    assert_eq!((promoted.status, &told["replayed"], promoted.header("idempotent-replayed")), (200, &json!(false), None));
    assert_eq!(told["batch"], house.backend.journal().durable());
    assert!(told["epoch"].as_u64() >= Some(1_000));
    let again = annex.send(Ask::post("/v1/standby/promote", "another", "{}")).await;
    assert_eq!((&again.json()["shards"], &again.json()["replayed"]), (&told["shards"], &json!(true)));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));

    assert_eq!(annex.get("/readyz").await.status, 200);
    assert_eq!(annex.get("/v1/standby").await.json()["phase"], "promoted");
    // The audit is that of the old server, and tells of the promotion, once.
    let (old, new) = (house.get("/v1/audit").await.json(), annex.get("/v1/audit").await.json());
    let facts = |page: &Value| page["facts"].as_array().cloned().expect("a list");
    assert!(facts(&new).starts_with(&facts(&old)) && facts(&old).len() > 3);
    let [promotion] = facts(&new).split_off(facts(&old).len()).try_into().expect("one thing more");
    assert_eq!((&promotion["command"], &promotion["key"]), (&json!("promote_standby"), &json!("p")));
    assert_eq!((&promotion["origin"]["name"], &promotion["origin"]["address"]), (&json!("local"), &json!("127.0.0.1")));
    assert_eq!((&promotion["before"]["batch"], &promotion["before"]["shards"]), (&told["batch"], &told["shards"]));
    assert_eq!((&promotion["before"]["epoch"], &promotion["after"]["epoch"]), (&json!(house.backend.epoch()), &told["epoch"]));
    assert_eq!(facts(&annex.get("/v1/audit?shard=market/wc").await.json()), facts(&house.get("/v1/audit?shard=market/wc").await.json()));
    let retried = annex.send(buying("1")).await;
    assert_eq!((retried.status, &retried.json()["result"]), (200, &first));
    let retried = annex.send(Ask::post("/v1/sales/final/bookings", "b", r#"{"code":"A1","level":"north"}"#)).await;
    assert_eq!((retried.status, &retried.json()["result"]), (200, &booked));
    let (here, there) = (annex.send(buying("2")).await.result(), buy(&house, "2").await);
    assert_eq!(here["balance"], there["balance"]);
    assert_ne!(here["position"], there["position"], "what the old server still tells is told apart");

    // The steward of the promoted server works: it ends the hold.
    annex.clock.set(START_MS + 601_000 + 60_000);
    let path = format!("/v1/sales/final/bookings/{}", booked["booking"].as_str().expect("a booking"));
    eventually("the hold ends", async || {
        let shown = annex.get(&path).await.json();
        let state = shown["result"]["state"].as_str()?.to_owned();
        (state == "closing" || state == "released").then_some(())
    })
    .await;
    assert!(!annex.get("/metrics").await.text.contains("nevertwice_standby_following"), "it is none any more");
    annex.close().await;
    house.close().await;
}
