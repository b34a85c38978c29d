//! Settings: what is read, and what is refused.

use std::sync::Arc;

use nevertwice_api::KeyStore as _;
use nevertwice_idempotency::proxy::{IdentityConfig, Proxy, ProxyConfig, ProxyParts};
use nevertwice_idempotency::{MemoryStore, NoKeyObserver};

fn parts() -> ProxyParts {
    ProxyParts { store: Arc::new(MemoryStore::default()), secrets: None, observer: Arc::new(NoKeyObserver), tls: None }
}

/// Whether a proxy starts with that, and what it says.
async fn start(settings: &str) -> Result<Vec<String>, String> {
    let text = format!("listen = \"127.0.0.1:0\"\n{settings}");
    let config = ProxyConfig::from_toml("proxy.toml", &text).map_err(|error| error.to_string())?;
    let proxy = Proxy::bind(&config, parts()).await.map_err(|error| error.to_string())?;
    Ok(proxy.lines().to_vec())
}

const UPSTREAM: &str = "upstream = \"http://127.0.0.1:9000\"\n";

#[tokio::test]
async fn a_start_says_what_is_guarded_and_what_to_mind() {
    let lines = start(UPSTREAM).await.expect("it starts");
    let says = |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:?}");
    says("guarded: POST,PATCH /{*rest} (ietf; a key is demanded; lease 60000 ms; kept 86400000 ms");
    says("after a restart, a retry runs again");
    says("a retry with renewed credentials is another caller's");
    says("can't be known from here");
    let routes = "[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\npreset = \"stripe\"\nlapse = \"rerun\"\nretry_budget_ms = 1000";
    let lines = start(&format!("{UPSTREAM}{routes}")).await.expect("it starts");
    assert!(lines.iter().any(|line| line.contains("POST /a (stripe; a key is optional") && line.ends_with("run again)")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("warning: /a: the lease of 60000 ms is longer")), "{lines:?}");
}

#[tokio::test]
async fn every_choice_of_a_route_is_read() {
    let routes = r#"
[[routes]]
methods = ["POST", "PUT"]
path = "/v1/{id}/{*rest}"
preset = "ucp"
required = false
scope = "route"
query = { named = ["a"] }
fingerprint = { json_include = ["/a"], json_exclude = ["/b"], headers = ["x-version"] }
anonymous_shares = true
request_bytes_max = 1000
request_ms_max = 1000
missing_status = 422
mismatch_status = 400
in_progress_status = 425
marker = "x-replayed"
wait_ms = 10
lease_ms = 1000
heartbeat_ms_max = 10000
retention_ms = 60000
lapse = "refuse"
client_errors_free = true
store_5xx = true
stored_bytes_max = 100
oversize = { spill = 1000 }
trailers = "keep"
streams = false
not_replayed = ["x-once"]
store_down = "open"
levels = ["decided"]
refuse_old_keys = true
retry_budget_ms = 5000
"#;
    start(&format!("{UPSTREAM}{routes}")).await.expect("it starts");
}

#[tokio::test]
async fn nonsense_is_refused_and_named() {
    let route = |more: &str| format!("{UPSTREAM}[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\n{more}");
    for (settings, named) in [
        (String::new(), "`upstream` is missing"),
        ("upstream = \"9000\"".to_owned(), "no address of a service"),
        (format!("{UPSTREAM}nonsense = 1"), "nonsense"),
        (format!("{UPSTREAM}connect_ms = 30000"), "`connect_ms`"),
        (format!("{UPSTREAM}first_byte_ms = 700000"), "`first_byte_ms`"),
        (format!("{UPSTREAM}requests_max = 0"), "`requests_max`"),
        (format!("{UPSTREAM}tls_key = \"a\""), "`tls_certificate`"),
        (format!("{UPSTREAM}previous_secret_file = \"a\""), "`previous_secret_file`"),
        (format!("{UPSTREAM}data = \"a\"\n[store]\nurl = \"sqlite:b\""), "both say where keys are kept"),
        (format!("{UPSTREAM}[store]\npassword_file = \"a\""), "`store.password_file`"),
        (format!("{UPSTREAM}trusted_proxies = \"nobody\""), "neither an address"),
        (format!("{UPSTREAM}identity = {{ header = {{ principal = \"x-user\" }} }}"), "`trusted_proxies` names nobody"),
        (format!("{UPSTREAM}upstream_http = \"2\""), "needs `host = \"upstream\"`"),
        (format!("{UPSTREAM}data = \"d\"\nstore.url = \"redis://:secret@h\""), "name one of them"),
        (format!("{UPSTREAM}store.replicas = 1"), "which is not named"),
        (format!("{UPSTREAM}store.level = \"journaled\""), "which is not named"),
        (format!("{UPSTREAM}store.replicas_wait_ms = 3000"), "`store.replicas_wait_ms`"),
        (route("methods = []"), "duplicate"),
        (route("preset = \"paypal\""), "paypal"),
        (route("lapse = \"ask\""), "ask"),
        (route("lease_ms = 86400000"), "the lease"),
        (route("missing_status = 500"), "not 4xx"),
        (route("marker = \"a b\""), "no name of a header"),
        (route("fingerprint = { json_include = [\"a\"] }"), "no JSON pointer"),
        (route("levels = [\"journaled\"]"), "level"),
        (format!("{UPSTREAM}[[routes]]\nmethods = [\"post\"]\npath = \"/a\""), "in capitals"),
        (format!("{UPSTREAM}[[routes]]\npath = \"/a\""), "no `methods`"),
        (format!("{UPSTREAM}[[routes]]\nmethods = [\"POST\"]\npath = \"a\""), "begin with a slash"),
        (format!("{UPSTREAM}[[routes]]\nmethods = [\"POST\"]\npath = \"/{{*a}}/b\""), "goes on after"),
        (format!("{UPSTREAM}[[routes]]\nmethods = [\"POST\"]\npath = \"/{{a\""), "brace"),
    ] {
        let refused = start(&settings).await.expect_err(&settings);
        assert!(refused.contains(named) && refused.contains("configuration_invalid"), "{settings}: {refused}");
        assert!(refused.contains("Nothing was started"), "{refused}");
    }
}

#[tokio::test]
async fn an_error_in_a_file_names_its_line() {
    let error = ProxyConfig::from_toml("proxy.toml", "\n\nconnect_ms = \"two\"").expect_err("it is no number");
    assert!(error.detail.starts_with("proxy.toml, line 3:"), "{error}");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("an address");
    let config = ProxyConfig::from_toml("s", &format!("{UPSTREAM}listen = \"{address}\"")).expect("they are settings");
    let refused = Proxy::bind(&config, parts()).await.expect_err("it is taken");
    assert_eq!(refused.code.code(), "address_in_use");
}

#[test]
fn the_defaults_are_those_of_the_layer() {
    let config = ProxyConfig::default();
    assert_eq!(config.identity, IdentityConfig::Authorization);
    let store = MemoryStore::new(config.store.memory_bounds());
    assert_eq!(store.answer_bytes_max(), MemoryStore::default().answer_bytes_max());
    assert_eq!((config.store.operation_ms, config.store.failures_max, config.store.rest_ms), (2_000, 5, 5_000));
}

#[test]
fn the_example_is_read_and_checked() {
    let text = include_str!("../../../../../ops/config/proxy.toml");
    let config = ProxyConfig::from_toml("ops/config/proxy.toml", text).expect("it is read");
    config.check().expect("it is sound");
    assert!(!config.routes.is_empty());
}

/// The members that a table of the settings may have, by what is said of one that it may not have.
fn members(before: &str) -> Vec<String> {
    let error = ProxyConfig::from_toml("s", &format!("{before}\nnonsense = 1")).expect_err("nobody knows it");
    let (_, list) = error.detail.split_once("expected one of ").expect("it lists them");
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_guide_has_every_setting_and_every_choice() {
    let guide = include_str!("../../../../../docs/proxy.md");
    let tables = ["bodies", "store"];
    let mut settings: Vec<String> = members("").into_iter().filter(|name| !tables.contains(&name.as_str())).collect();
    assert!(settings.len() > 25, "{settings:?}");
    for table in tables {
        settings.extend(members(&format!("[{table}]")).into_iter().map(|name| format!("{table}.{name}")));
    }
    for setting in &settings {
        assert!(guide.contains(&format!("\n| `{setting}` | ")), "docs/proxy.md does not list {setting}");
    }
    let listed = guide.lines().filter(|line| line.starts_with("| `") && line.matches(" | ").count() == 2).count();
    assert!(listed >= settings.len(), "{listed} of {}", settings.len());
    let lists = guide.split("Guarded routes").nth(1).and_then(|rest| rest.split("## Who calls").next()).expect("it tells of routes");
    for choice in members("[[routes]]") {
        assert!(
            lists.contains(&format!("`{choice}`")) || lists.contains(&format!("\n{choice} = ")),
            "docs/proxy.md does not name {choice}"
        );
    }
}

#[tokio::test]
async fn an_upstream_that_is_the_proxy_itself_is_refused() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let text = format!("listen = \"127.0.0.1:{port}\"\nupstream = \"http://localhost:{port}\"\n");
    let config = ProxyConfig::from_toml("proxy.toml", &text).expect("it is well formed");
    let Err(refused) = Proxy::bind(&config, parts()).await.map(drop) else { panic!("it starts") };
    let refused = refused.to_string();
    assert!(refused.contains("where the proxy itself listens"), "{refused}");
}

#[tokio::test]
async fn a_marker_that_means_something_else_is_refused() {
    for marker in ["Content-Length", "Transfer-Encoding", "Connection", "Date", "Set-Cookie", "Location", "Access-Control-Allow-Origin"] {
        let routes = format!("{UPSTREAM}[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\nmarker = \"{marker}\"");
        let refused = start(&routes).await.expect_err("it does not start");
        assert!(refused.contains("the marker of a replay is a header that means something else"), "{marker}: {refused}");
    }
}
