//! A server for a test: in this process, on a data folder of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use nevertwice_api::{Backend, Observer};
use nevertwice_local::clock::Clock;
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_server::{Config, KeyParts, Machine, Metrics, Parts, PaymentGateway, Reloader, Server, open_local};
use nevertwice_testkit::clock::ManualClock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Answer, Ask, send};

/// The instant at which every test begins.
pub(crate) const START_MS: i64 = 1_790_000_000_000;

/// A running server.
pub(crate) struct House {
    pub(crate) addr: SocketAddr,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) backend: Arc<LocalBackend>,
    reloader: Reloader,
    folder: Option<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    ran: JoinHandle<()>,
}

/// What a server is to be like.
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) gateway: Option<Arc<dyn PaymentGateway>>,
    /// Smaller segments than a server's.
    pub(crate) segment_bytes: Option<u64>,
    pub(crate) machine: Option<Arc<dyn Machine>>,
    /// Another store of keys than one in memory.
    pub(crate) keys: Option<KeyParts>,
    /// From what the keys of sales are made.
    pub(crate) person_secret: [u8; 32],
    /// Puts something between the server and the backend.
    pub(crate) wrap: Box<dyn FnOnce(Arc<LocalBackend>) -> Arc<dyn Backend>>,
}

impl Default for Plan {
    fn default() -> Self {
        // The steward sweeps when a test says so: never by itself. A machine that stands still for a while loses no answer by it.
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            sweep_ms: 60_000,
            answer_deadline_ms: 600_000,
            request_read_ms: 600_000,
            ..Config::default()
        };
        Self {
            config,
            gateway: None,
            machine: None,
            keys: None,
            segment_bytes: None,
            person_secret: [7; 32],
            wrap: Box::new(|backend| backend),
        }
    }
}

impl House {
    pub(crate) async fn open() -> Self {
        Self::with(Plan::default()).await
    }

    pub(crate) async fn configured(change: impl FnOnce(&mut Config)) -> Self {
        let mut plan = Plan::default();
        change(&mut plan.config);
        Self::with(plan).await
    }

    pub(crate) async fn with(plan: Plan) -> Self {
        Self::on(plan, TempDir::new().expect("a folder can be made"), START_MS).await
    }

    /// A server on what lies in the folder already.
    pub(crate) async fn on(mut plan: Plan, folder: TempDir, now_ms: i64) -> Self {
        crate::secrets::listen_to_log();
        plan.config.data = data(&folder);
        let clock = Arc::new(ManualClock::new(now_ms));
        let metrics = Arc::new(Metrics::new());
        let (now, observer) = (Arc::clone(&clock) as Arc<dyn Clock>, Arc::clone(&metrics) as Arc<dyn Observer>);
        let backend = match plan.segment_bytes {
            None => open_local(&plan.config, now, observer).expect("the backend opens").0,
            Some(segment_bytes) => {
                let storage = FileStorage::create(&plan.config.data).expect("the folder can be made");
                let journal = JournalOptions { segment_bytes, segments_ahead: 0 };
                let options = LocalOptions { snapshot_bytes: 0, journal, ..LocalOptions::default() };
                LocalBackend::open(Arc::new(storage), now, observer, &options).expect("the backend opens").0
            }
        };
        let backend = Arc::new(backend);
        let mut parts = Parts::new((plan.wrap)(Arc::clone(&backend)), plan.person_secret);
        parts.journal = Some(Arc::clone(&backend) as Arc<_>);
        parts.metrics = metrics;
        parts.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        parts.steady = Arc::clone(&clock) as Arc<dyn Clock>;
        parts.gateway = plan.gateway;
        parts.keys = plan.keys;
        parts.machine = plan.machine;
        let server = Server::bind(&plan.config, parts).await.expect("the server binds");
        let (addr, reloader) = (server.addr(), server.reloader());
        let (stop, stopped) = oneshot::channel();
        let ran = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { addr, clock, backend, reloader, folder: Some(folder), stop: Some(stop), ran }
    }

    /// Stops the server, and waits until everything that was under way is finished.
    pub(crate) async fn close(mut self) -> TempDir {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.ran.await.expect("the server ends well");
        let backend = Arc::clone(&self.backend);
        tokio::task::spawn_blocking(move || backend.stop()).await.expect("the backend stops");
        drop(self.backend);
        self.folder.take().expect("the folder is there")
    }

    /// Stops the server and starts another one on the same folder.
    pub(crate) async fn reopen(self, plan: Plan) -> Self {
        let now_ms = self.clock.now_ms();
        let folder = self.close().await;
        Self::on(plan, folder, now_ms).await
    }

    /// Has the server look at its files, as SIGHUP does.
    pub(crate) async fn reload(&self) {
        let reloader = self.reloader.clone();
        tokio::task::spawn_blocking(move || reloader.reload()).await.expect("it ends well");
    }

    /// Its data folder.
    pub(crate) fn data(&self) -> PathBuf {
        data(self.folder.as_ref().expect("the folder is there"))
    }

    pub(crate) fn later(&self, ms: i64) {
        self.clock.set(self.clock.now_ms() + ms);
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        send(self.addr, &ask).await
    }

    pub(crate) async fn get(&self, path: impl Into<String>) -> Answer {
        self.send(Ask::get(path)).await
    }

    pub(crate) async fn post(&self, path: impl Into<String>, key: &str, body: Value) -> Answer {
        self.send(Ask::post(path, key, body.to_string())).await
    }

    /// The value of a metric, with its labels as they are written.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text;
        let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
    }

    /// A market `wc` with the instrument `ARG` at 1000 + 2 a share, and the account `ann` with 1,000,000.
    pub(crate) async fn with_market(self) -> Self {
        let limits = json!({"quantity_max": 1_000, "holding_max": 1_000_000, "house_loss_max": 10_000_000});
        let market = json!({"market": "wc", "decimals": 2, "fee_bps": 50, "limits": limits, "mode": "open"});
        self.post("/v1/markets", "open", market).await.result();
        self.post("/v1/markets/wc/instruments", "list", json!({"instrument": "ARG", "base": 1_000, "slope": 2})).await.result();
        self.post("/v1/markets/wc/accounts", "ann", json!({"account": "ann", "opening_balance": 1_000_000})).await.result();
        self
    }

    /// A sale `final` with 2 seats on `north`, 3 in all, an open door, and four candidates; `D4` has an e-mail address and
    /// may not book `south`.
    pub(crate) async fn with_sale(self) -> Self {
        let levels = json!([{"level": "north", "cap": 2}, {"level": "south", "cap": null}]);
        let window = (START_MS - 1_000, START_MS + 86_400_000);
        let sale = json!({"sale": "final", "levels": levels, "total_cap": 3, "opens_at": window.0, "closes_at": window.1});
        self.post("/v1/sales", "open", sale).await.result();
        let candidates = json!([{"code": "A1"}, {"code": "b2"}, {"code": "C3"},
            {"code": "D4", "email": "Dee@Example.org", "levels": ["north"]}]);
        self.post("/v1/sales/final/candidates", "load", json!({"candidates": candidates})).await.result();
        self.post("/v1/sales/final/open", "doors", json!({"open": true})).await.result();
        self
    }

    pub(crate) async fn book(&self, key: &str, code: &str, level: &str) -> Answer {
        self.post("/v1/sales/final/bookings", key, json!({"code": code, "level": level})).await
    }

    /// How a booking is now.
    pub(crate) async fn booking(&self, id: &Value) -> Value {
        self.get(format!("/v1/sales/final/bookings/{}", id.as_str().expect("a booking's id"))).await.result()
    }
}

/// Where the data is in a test's folder.
pub(crate) fn data(folder: &TempDir) -> PathBuf {
    folder.path().join("data")
}

/// The path of a URL of this server.
pub(crate) fn path_of(url: &Value) -> String {
    let url = url.as_str().expect("a URL");
    let rest = url.strip_prefix("http://").expect("an http URL");
    rest[rest.find('/').expect("a path")..].to_owned()
}

/// Asks until the answer suits: for what happens in the background.
pub(crate) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..400 {
        if let Some(found) = ask().await {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it did not come: {what}");
}
