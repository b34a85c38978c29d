//! The server that knows the secrets, and all that is asked of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nevertwice_idempotency::MemoryStore;
use nevertwice_server::config::{Config, Secret};
use nevertwice_server::{KeyParts, KeyRole, Parts, Server, check_jwt_files, make_key, routes};
use prost::Message as _;
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::rustls::version::TLS13;

use super::search::{Sought, as_text};
use crate::access_table::ask;
use crate::callers::{keys_file, wanted};
use crate::client::Ask;
use crate::faults::{FINE, PANICS, trouble_for};
use crate::house::{House, Plan, START_MS, data};
use crate::jwt::issuer::{By, TestIssuer, claims};
use crate::telemetry::collector::{Collector, Mood};
use crate::tls::Pair;

const OPERATOR: &str = "planted-operator-Rk93-0123456789";
const SERVICE: &str = "planted-service-Wm27+0123456789";
const COLLECTOR: &str = "planted-collector-Yd47-0123456789";
const PERSON: [u8; 32] = *b"planted-person-secret-Qz85-01234";
const KEYS: [u8; 32] = *b"planted-secret-of-keys-Vn61-0123";
/// What somebody else's handler was asked, and what it answered: only a replay tells it, and there is none here.
const GUARDED_REQUEST: &str = "planted-guarded-request-Gd38-0123";
const GUARDED_ANSWER: &str = "planted-guarded-answer-Hs74-01234";

/// All secrets, with what they open.
struct Secrets {
    keys: Vec<String>,
    jwts: Vec<String>,
    issuer: TestIssuer,
    pair: Pair,
    folder: TempDir,
    collector: Collector,
}

impl Secrets {
    async fn plant() -> Self {
        let (folder, issuer) = (TempDir::new().expect("a folder can be made"), TestIssuer::new());
        let make = |id: &str, role| {
            let key = make_key(&keys_file(folder.path()), wanted(id, role), START_MS).expect("a key");
            key.reveal().to_owned()
        };
        let keys = vec![
            OPERATOR.to_owned(),
            SERVICE.to_owned(),
            make("desk", KeyRole::Operator),
            make("web", KeyRole::Service),
            make("eye", KeyRole::Reader),
        ];
        let mut with_secret = claims();
        with_secret["private"] = json!("planted-claim-Tb61-0123456789");
        let mut over = claims();
        over["exp"] = json!(1);
        let jwts = vec![
            issuer.sign(By::EdDsa, &By::EdDsa.header(), &with_secret),
            issuer.sign(By::Es256, &By::Es256.header(), &with_secret),
            issuer.good(By::Hs256),
            issuer.sign(By::EdDsa, &By::EdDsa.header(), &over),
            TestIssuer::new().good(By::EdDsa),
        ];
        Self { keys, jwts, issuer, pair: Pair::new(), folder, collector: Collector::start(Mood::BusyOnce).await }
    }

    fn plan(&self) -> Plan {
        let keys = KeyParts { store: Arc::new(MemoryStore::default()), secret: KEYS, previous_secret: None, copied: None };
        let mut plan = Plan { person_secret: PERSON, keys: Some(keys), ..Plan::default() };
        plan.config.operator_key = Some(Secret::new(OPERATOR));
        plan.config.service_key = Some(Secret::new(SERVICE));
        plan.config.keys_file = Some(keys_file(self.folder.path()));
        self.issuer.configure(&mut plan.config);
        self.pair.configure(&mut plan.config);
        // It answers after it was refused once, which gives the server something to complain of.
        self.collector.configure(&mut plan.config);
        plan.config.otlp_sample_ratio = 1.0;
        plan.config.otlp_headers = Some(Secret::new(format!("authorization: Bearer {COLLECTOR}")));
        plan.config.otlp_flush_ms = 10;
        plan
    }

    fn tls_key(&self) -> String {
        fs::read_to_string(self.pair.key_file()).expect("it can be read")
    }

    /// What is looked for.
    fn sought(&self) -> Vec<Sought> {
        let mut sought = vec![Sought::new("the person key", &PERSON), Sought::new("the secret of HS256", self.issuer.secret.as_bytes())];
        sought.push(Sought::new("the key of the collector", COLLECTOR.as_bytes()));
        sought.push(Sought::new("a private claim", b"planted-claim-Tb61-0123456789"));
        sought.push(Sought::new("the secret of keys", &KEYS));
        sought.push(Sought::new("a guarded request", GUARDED_REQUEST.as_bytes()));
        sought.push(Sought::new("a guarded answer", GUARDED_ANSWER.as_bytes()));
        for (number, key) in self.keys.iter().enumerate() {
            sought.push(Sought::new(format!("key {number}"), key.as_bytes()));
            if let Some((_, letters)) = key.strip_prefix("nevertwice_").and_then(|rest| rest.split_once('_')) {
                sought.push(Sought::new(format!("the secret part of key {number}"), letters.as_bytes()));
            }
        }
        for (number, jwt) in self.jwts.iter().enumerate() {
            let parts: Vec<&str> = jwt.split('.').collect();
            sought.push(Sought::new(format!("the payload of JWT {number}"), parts[1].as_bytes()));
            sought.push(Sought::new(format!("the signature of JWT {number}"), parts[2].as_bytes()));
        }
        for (number, line) in self.tls_key().lines().filter(|line| line.len() >= 16 && !line.starts_with('-')).enumerate() {
            sought.push(Sought::new(format!("line {number} of the key of TLS"), line.as_bytes()));
            let bytes = data_encoding::BASE64.decode(line.as_bytes()).expect("it is base 64");
            sought.push(Sought::new(format!("the bytes of line {number} of the key of TLS"), &bytes));
        }
        sought
    }

    /// Whole header lines, with credentials as they should be and as they should not.
    fn presented(&self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for secret in self.keys.iter().chain(&self.jwts) {
            lines.push(format!("Bearer {secret}").into_bytes());
            lines.push(format!("Bearer {secret}x").into_bytes());
            lines.push(format!("Bearer  {secret}").into_bytes());
            lines.push(format!("Basic {secret}").into_bytes());
            lines.push(secret.clone().into_bytes());
            lines.push([b"Bearer ", secret.as_bytes(), b"\xff"].concat());
        }
        lines.push(format!("Bearer {}", self.jwts[0].repeat(20)).into_bytes());
        lines
    }
}

/// All that came back, as one text.
struct Heard<'a> {
    secrets: &'a Secrets,
    house: &'a House,
    text: String,
    answers: usize,
}

impl Heard<'_> {
    async fn send(&mut self, ask: Ask) {
        let mut stream = self.secrets.pair.connect(self.house, &[&TLS13]).await.expect("they agree");
        self.text += &as_text(&crate::tls::ask_bytes(&mut stream, &ask).await);
        self.answers += 1;
    }

    async fn send_as(&mut self, secret: &str, ask: Ask) {
        self.send(ask.header("authorization", format!("Bearer {secret}"))).await;
    }

    /// Every route, with every credential as it should be.
    async fn ask_everything(&mut self) {
        for route in routes() {
            for secret in self.secrets.keys.iter().chain(&self.secrets.jwts) {
                self.send_as(secret, ask(route)).await;
            }
        }
    }

    /// Two routes and one that is none, with every header line and with credentials where they do not belong.
    async fn ask_wrongly(&mut self) {
        let order = Ask::post("/v1/markets/wc/orders", "k", "{\"account\":5");
        for line in self.secrets.presented() {
            self.send(Ask::post("/v1/markets", "k", "{}").header("authorization", &line)).await;
            self.send(order.clone().header("authorization", &line).header("principal", "ann")).await;
            self.send(Ask::get("/metrics").header("authorization", &line).header("authorization", &line)).await;
        }
        for secret in self.secrets.keys.iter().chain(&self.secrets.jwts) {
            self.send(Ask::get("/nowhere").header("authorization", format!("Bearer {secret}"))).await;
            self.send(Ask::new("DELETE", "/v1/markets").header("authorization", format!("Bearer {secret}"))).await;
            self.send(Ask::get(format!("/v1/markets/wc?access_token={secret}"))).await;
            self.send_as(OPERATOR, Ask::get(format!("/v1/markets/wc?key={secret}"))).await;
            self.send_as(OPERATOR, Ask::get("/v1/markets/wc").header("cookie", format!("session={secret}"))).await;
            self.send_as(OPERATOR, Ask::get("/v1/markets/wc").header("x-api-key", secret)).await;
            self.send_as(OPERATOR, Ask::post("/v1/sales", "big", "x".repeat(300_000)).header("cookie", secret)).await;
            self.send_as(OPERATOR, Ask::get("/v1/markets/wc").header("cookie", secret.repeat(300))).await;
            self.send_as(OPERATOR, Ask::get("/v1/markets/wc").header("bad header", secret)).await;
        }
    }

    /// A key that is claimed and completed, and calls about it that are wrong.
    async fn guard_well(&mut self) {
        let owner = "5a".repeat(32);
        let registration = json!({"key": "guarded", "owner": owner, "request": format!("{{\"a\":\"{GUARDED_REQUEST}\"}}")});
        let call = |verb: &str, body: String| Ask::post(format!("/v1/keys/{verb}"), "k", body);
        self.send_as(OPERATOR, call("register", registration.to_string())).await;
        let (_, told) = self.text.rsplit_once("\"generation\":").expect("the claim has a number");
        let generation: i64 = told.split(',').next().and_then(|digits| digits.parse().ok()).expect("a number");
        let answer = json!({"status": 200, "headers": [{"name": "x-a", "value": GUARDED_ANSWER}], "body_text": GUARDED_ANSWER});
        let completion = json!({"key": "guarded", "owner": owner, "generation": generation, "answer": answer}).to_string();
        for (verb, body) in [
            ("register", registration.to_string().replace("{\\\"a", "{\\\"b")),
            ("complete", completion.replace("\"status\":200", "\"status\":20")),
            ("complete", completion.replace(&owner, &"5b".repeat(32))),
            ("complete", completion.clone()),
            ("complete", completion.clone()),
        ] {
            self.send_as(OPERATOR, call(verb, body)).await;
        }
        for expected in ["\"registration\":\"fresh\"", "fingerprint_mismatch", "answer.status", "stale_owner", "\"kept_before\":true"] {
            assert!(self.text.contains(expected), "nobody said {expected}");
        }
    }

    /// Orders and bookings that work, as each who may; then what tells of them.
    async fn ask_well(&mut self) {
        let limits = json!({"quantity_max": 9, "holding_max": 9, "house_loss_max": 0});
        let sale = json!({"sale": "s", "levels": [{"level": "n", "cap": null}], "total_cap": 5, "opens_at": 0, "closes_at": 9_000_000_000_000_i64});
        let order = json!({"account": "ann", "instrument": "I", "side": "buy", "quantity": 1}).to_string();
        for (key, path, body) in [
            ("1", "/v1/markets", json!({"market": "wc", "decimals": 0, "fee_bps": 0, "limits": limits, "mode": "open"})),
            ("2", "/v1/markets/wc/instruments", json!({"instrument": "I", "base": 1, "slope": 0})),
            ("3", "/v1/markets/wc/accounts", json!({"account": "ann", "opening_balance": 100})),
            ("4", "/v1/sales", sale),
            ("5", "/v1/sales/s/candidates", json!({"candidates": [{"code": "A1"}, {"code": "B2"}]})),
            ("6", "/v1/sales/s/open", json!({"open": true})),
        ] {
            self.send_as(OPERATOR, Ask::post(path, key, body.to_string())).await;
        }
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        for (number, secret) in self.secrets.keys.iter().chain(&self.secrets.jwts).enumerate() {
            let order = Ask::post("/v1/markets/wc/orders", &format!("o{number}"), &order).header("traceparent", trace);
            self.send_as(secret, order.header("principal", "ann")).await;
        }
        let book = Ask::post("/v1/sales/s/bookings", "b", r#"{"code":"A1","level":"n"}"#);
        self.send_as(&self.secrets.jwts[0], book).await;
        self.guard_well().await;
        for path in [
            "/metrics",
            "/v1/keys/inspect?key=guarded",
            "/v1/audit?shard=market/wc",
            "/v1/explain?principal=ann&key=o5&shard=market/wc",
            "/v1/journal",
            "/openapi.json",
            "/docs",
            "/readyz",
        ] {
            self.send_as(OPERATOR, Ask::get(path)).await;
        }
    }
}

/// All files of a folder, as one text.
fn all_of(folder: &Path) -> String {
    let read = |path: &Path| as_text(&fs::read(path).expect("the file can be read"));
    let entries = fs::read_dir(folder).expect("the folder can be listed").map(|entry| entry.expect("an entry").path());
    entries.fold(String::new(), |text, path| text + &if path.is_dir() { all_of(&path) } else { read(&path) })
}

/// What the command line would print of settings and files that are wrong.
async fn refusals(secrets: &Secrets, house: &House) -> String {
    let mut text = String::new();
    let config = Config { listen: ([127, 0, 0, 1], 0).into(), ..secrets.plan().config };
    let broken = TempDir::new().expect("a folder can be made");
    let file = broken.path().join("broken");
    let contents: Vec<String> =
        secrets.keys.iter().chain(&secrets.jwts).cloned().chain([secrets.issuer.secret.clone(), secrets.tls_key()]).collect();
    for content in contents {
        for content in [
            content.clone(),
            format!("[[key]]\nid = \"{content}\""),
            format!("{{\"keys\":[{{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{content}\"}}]}}"),
        ] {
            fs::write(&file, &content).expect("it can be written");
            for change in [
                (|config, file| config.keys_file = Some(file)) as fn(&mut Config, _),
                |config, file| config.jwt_jwks_file = Some(file),
                |config, file| config.jwt_key_file = Some(file),
                |config, file| config.tls_certificate = Some(file),
                |config, file| config.tls_key = Some(file),
            ] {
                let mut config = config.clone();
                change(&mut config, file.clone());
                let refused = Server::bind(&config, Parts::new(house.backend.clone(), PERSON)).await;
                text += &refused.map_or_else(|error| format!("{error} {error:?}"), |server| format!("{server:?}"));
                text += &format!("{:?} {config:?}", check_jwt_files(&config));
            }
        }
    }
    assert!(text.matches("configuration_invalid").count() > 100, "{text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn no_planted_secret_is_found_where_it_does_not_belong() {
    let secrets = Secrets::plant().await;
    let mut plan = secrets.plan();
    let trouble = trouble_for(&mut plan);
    let house = House::with(plan).await;
    let mut heard = Heard { secrets: &secrets, house: &house, text: String::new(), answers: 0 };
    heard.ask_well().await;
    heard.ask_everything().await;
    heard.ask_wrongly().await;
    // What panics has the whole request in its hands.
    trouble.store(PANICS, Ordering::SeqCst);
    for secret in secrets.keys.iter().chain(&secrets.jwts) {
        heard.send_as(secret, Ask::get("/v1/markets/wc").header("principal", "ann")).await;
    }
    trouble.store(FINE, Ordering::SeqCst);
    let Heard { text: heard, answers, .. } = heard;
    for expected in
        ["HTTP/1.1 200", "HTTP/1.1 201", "HTTP/1.1 401", "HTTP/1.1 403", "HTTP/1.1 404", "HTTP/1.1 413", "HTTP/1.1 431", "HTTP/1.1 500"]
    {
        assert!(heard.contains(expected), "nothing was answered {expected}");
    }
    for expected in ["nevertwice_requests_total", "\"openapi\"", "credentials_expired", "credentials_invalid", "jwt:https://issuer.example"]
    {
        assert!(heard.contains(expected), "nobody said {expected}");
    }
    assert!(answers > 500, "{answers}");
    let refused = refusals(&secrets, &house).await;
    tracing::trace!(control = "control-0123456789-abcdef", "a planted secret of the search's own");
    let folder = house.close().await;
    let spans = secrets.collector.spans();
    let endpoints: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(spans.len() > 200 && endpoints.len() > 30, "{} spans of {endpoints:?}", spans.len());
    let bodies = secrets.collector.requests().iter().map(|request| as_text(&request.encode_to_vec())).collect::<String>();
    let places = [
        ("an answer", heard),
        ("a span", format!("{bodies}{spans:?}")),
        ("the data folder", all_of(&data(&folder))),
        ("what is printed", format!("{refused}{:?}", secrets.plan().config)),
        ("the log", crate::secrets::log()),
    ];
    let sought = secrets.sought();
    assert!(sought.len() > 20, "{}", sought.len());
    for secret in &sought {
        for (place, text) in &places {
            assert_eq!(secret.find(text), None, "{} is in {place}", secret.name);
        }
    }
    // The search is one that can fail: what lies in the files of the secrets is found there, and what was logged in the log.
    let control = Sought::new("the control", b"control-0123456789-abcdef");
    assert_eq!(control.find(&places[4].1), Some("as it is"));
    // What names the server to its collector is in its requests, and in none of their bodies.
    assert!(secrets.collector.heads().iter().all(|head| head.contains(COLLECTOR)));
    let files = format!("{}\n{}", as_text(&fs::read(secrets.issuer.secret_file()).expect("it can be read")), secrets.tls_key());
    let found = sought.iter().filter(|secret| secret.find(&files).is_some()).count();
    assert!(found >= 4, "only {found} were found where they are");
    let leaking = format!("{:?}", secrets.plan().config.operator_key.map(|key| key.reveal().to_owned()));
    assert!(sought.iter().any(|secret| secret.find(&leaking).is_some()));
}
