//! `nevertwice proxy` as a process.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nevertwice_testkit::postgres::Postgres;
use nevertwice_testkit::redis::RedisServer;

struct Proxied {
    process: Child,
    address: String,
    admin: String,
}

impl Drop for Proxied {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.arg("proxy").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Proxied {
    fn start(upstream: &str) -> Self {
        Self::start_with(upstream, &[])
    }

    fn start_with(upstream: &str, more: &[&str]) -> Self {
        let upstream = format!("http://{upstream}");
        let arguments = [&["--upstream", &upstream, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"], more].concat();
        let mut process = command(&arguments).spawn().expect("the binary starts");
        let mut output = BufReader::new(process.stdout.take().expect("its output"));
        let mut said = |begin: &str| {
            let mut line = String::new();
            output.read_line(&mut line).expect("it says where it listens");
            line.trim().strip_prefix(begin).unwrap_or_else(|| panic!("it said {line:?}")).to_owned()
        };
        let address = said("listening on http://");
        let admin = said("health and metrics on http://");
        Self { process, address, admin }
    }
}

/// Sends a request by a connection of its own and reads everything that comes.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is text");
    answer
}

fn get(address: &str, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
}

fn charge(address: &str, key: &str) -> String {
    let headers = format!("host: shop\r\nauthorization: Bearer ann\r\nidempotency-key: {key}\r\nconnection: close\r\ncontent-length: 0");
    ask(address, &format!("POST /charges HTTP/1.1\r\n{headers}\r\n\r\n"))
}

/// A service that answers with how often it was asked.
fn upstream() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let _ = write!(stream, "HTTP/1.1 201 Created\r\nconnection: close\r\ncontent-length: 8\r\n\r\ncharge {number}");
        }
    });
    (address, asked)
}

#[test]
fn a_retry_through_the_proxy_does_not_reach_the_service() {
    let (upstream, asked) = upstream();
    let mut proxied = Proxied::start(&upstream);
    let first = charge(&proxied.address, "k");
    assert!(first.starts_with("HTTP/1.1 201") && first.ends_with("charge 1"), "{first}");
    let again = charge(&proxied.address, "k");
    assert!(again.contains("idempotent-replayed: true") && again.ends_with("charge 1"), "{again}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);

    assert!(get(&proxied.admin, "/healthz").ends_with("alive\n"));
    assert!(get(&proxied.admin, "/readyz").ends_with("ready\n"));
    let metrics = get(&proxied.admin, "/metrics");
    for line in [
        "nevertwice_proxy_key_outcomes_total{route=\"/{*rest}\",outcome=\"fresh\"} 1\n",
        "nevertwice_proxy_key_outcomes_total{route=\"/{*rest}\",outcome=\"replay\"} 1\n",
        "nevertwice_proxy_store_records 1\n",
        "nevertwice_proxy_upstream_lost_total 0\n",
        "nevertwice_proxy_upstream_time_seconds_count{route=\"/{*rest}\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert!(metrics.contains("# EOF"));
    // What alarms and the dashboard look at is shown.
    let described: BTreeSet<&str> = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for file in ["ops/alerts.yml", "ops/grafana-dashboard.json"] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).expect("it is there");
        let is_of_name = |character: char| character.is_ascii_lowercase() || character == '_';
        let names: BTreeSet<&str> =
            text.split(|character| !is_of_name(character)).filter(|word| word.starts_with("nevertwice_proxy_")).collect();
        assert!(names.len() >= 10, "{file}: {names:?}");
        for name in names {
            let base = ["_total", "_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(described.contains(base), "{file} looks at {name}, which no proxy shows");
        }
    }

    let id = proxied.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill is there").success());
    assert!(proxied.process.wait().expect("it ends").success());
    let mut said = String::new();
    proxied.process.stderr.take().expect("its messages").read_to_string(&mut said).expect("they are text");
    assert!(said.contains("guarded: POST,PATCH /{*rest}"), "{said}");
}

#[test]
fn what_can_not_be_used_is_refused_at_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path.display().to_string()
    };
    let settings = file("proxy.toml", "upstream = \"http://127.0.0.1:9000\"\nnonsense = 1");
    let secret = file("secret", "not a secret");
    let upstream = ["--upstream", "http://127.0.0.1:9000"];
    for (arguments, named) in [
        (vec![], "`upstream` is missing"),
        (vec!["--config", &settings], "nonsense"),
        (vec!["--config", "/nowhere/at/all.toml"], "can't be read"),
        ([&upstream[..], &["--secret-file", &secret]].concat(), "64 hexadecimal digits"),
        ([&upstream[..], &["--log", "a=b=c"]].concat(), "`log` is no filter"),
    ] {
        let Output { status, stderr, .. } = command(&arguments).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && said.contains(named) && said.contains("configuration_invalid"), "{arguments:?}: {said}");
        assert!(!said.contains("not a secret"), "{said}");
    }
}

/// Databases of both kinds, with the folder that goes with one.
fn databases(server: &Postgres) -> (tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!("sqlite:{}", folder.path().join("keys.db").display());
    (folder, [file, server.new_database()])
}

#[test]
fn proxies_that_share_a_database_share_their_keys() {
    let server = Postgres::start(&[]);
    let (folder, addresses) = databases(&server);
    let secret = folder.path().join("secret");
    for address in &addresses {
        std::fs::write(&secret, "0123456789abcdef".repeat(4)).expect("it is written");
        let (upstream, asked) = upstream();
        let more = ["--store", address, "--secret-file", &secret.display().to_string()];
        let (one, two) = (Proxied::start_with(&upstream, &more), Proxied::start_with(&upstream, &more));
        assert!(charge(&one.address, "k").ends_with("charge 1"), "{address}");
        let again = charge(&two.address, "k");
        assert!(again.contains("idempotent-replayed: true") && again.ends_with("charge 1"), "{address}: {again}");
        // Killed, both of them.
        drop((one, two));
        let proxied = Proxied::start_with(&upstream, &more);
        assert!(charge(&proxied.address, "k").ends_with("charge 1"), "{address}");
        assert!(charge(&proxied.address, "l").ends_with("charge 2"), "{address}");
        assert_eq!(asked.load(Ordering::SeqCst), 2, "{address}");
        std::fs::write(&secret, "ffffffffffffffff".repeat(4)).expect("it is written");
        for (arguments, named) in [(&more[..], "named under another secret"), (&more[..2], "came without `secret_file`")] {
            let upstream = format!("http://{upstream}");
            let output =
                command(&[&["--upstream", &upstream, "--listen", "127.0.0.1:0"], arguments].concat()).output().expect("the binary starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains(named), "{address}: {said}");
        }
    }
}

#[test]
fn a_database_that_can_not_be_used_is_told_without_its_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef".repeat(4)).expect("it is written");
    let secret = secret.display().to_string();
    for (address, code) in [
        ("postgres://ann@127.0.0.1:1/keys", "key_store_unavailable"),
        ("postgres://ann:hunter2@127.0.0.1:1/keys", "seen by everybody"),
        ("sqlite:/nowhere/at/all/keys.db", "key_store_unavailable"),
        ("mysql://ann:hunter2@127.0.0.1/keys", "configuration_invalid"),
    ] {
        let output = command(&["--upstream", "http://127.0.0.1:9000", "--store", address, "--secret-file", &secret]).output();
        let Output { status, stderr, .. } = output.expect("the binary starts");
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && said.contains(code), "{address}: {said}");
        assert!(!said.contains("hunter2"), "{address}: {said}");
    }
}

#[test]
fn keys_in_a_folder_outlive_a_proxy_that_is_killed() {
    let (upstream, asked) = upstream();
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef".repeat(4)).expect("it is written");
    let data = folder.path().join("data").display().to_string();
    let more = ["--data", &data, "--secret-file", &secret.display().to_string()];
    let proxied = Proxied::start_with(&upstream, &more);
    assert!(charge(&proxied.address, "k").ends_with("charge 1"));
    // Killed.
    drop(proxied);
    let proxied = Proxied::start_with(&upstream, &more);
    let again = charge(&proxied.address, "k");
    assert!(again.contains("idempotent-replayed: true") && again.ends_with("charge 1"), "{again}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    drop(proxied);

    std::fs::write(&secret, "ffffffffffffffff".repeat(4)).expect("it is written");
    for (arguments, named) in [(&more[..], "named under another secret"), (&more[..2], "came without `secret_file`")] {
        let upstream = format!("http://{upstream}");
        let output =
            command(&[&["--upstream", &upstream, "--listen", "127.0.0.1:0"], arguments].concat()).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(named), "{said}");
    }
}

#[test]
fn keys_on_redis_are_shared_by_proxies_and_known_to_no_other_secret() {
    let server = RedisServer::start(&[]);
    let (upstream, asked) = upstream();
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef".repeat(4)).expect("it is written");
    let (url, file) = (server.url(), secret.display().to_string());
    let more = ["--store", &url, "--secret-file", &file];
    let (one, other) = (Proxied::start_with(&upstream, &more), Proxied::start_with(&upstream, &more));
    assert!(charge(&one.address, "k").ends_with("charge 1"));
    let again = charge(&other.address, "k");
    assert!(again.contains("idempotent-replayed: true") && again.ends_with("charge 1"), "{again}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(get(&one.admin, "/metrics").contains("nevertwice_proxy_store_records 1\n"));

    server.ask(&["FLUSHALL"]);
    let refused = charge(&one.address, "k");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("key_store_unavailable"), "{refused}");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "a server that lost its keys lets nothing run again");

    let anew = Proxied::start_with(&upstream, &more);
    assert!(charge(&anew.address, "k2").ends_with("charge 2"));
    std::fs::write(&secret, "ffffffffffffffff".repeat(4)).expect("it is written");
    let nowhere = "redis://127.0.0.1:1";
    for (arguments, named) in [
        (&more[..], "named under another secret"),
        (&more[..2], "came without `secret_file`"),
        (&["--store", nowhere, "--secret-file", &file][..], "key_store_unavailable"),
        (&["--store", "http://h", "--secret-file", &file][..], "begins with redis://"),
        (&["--store", "redis://:hush@h", "--secret-file", &file][..], "seen by everybody"),
    ] {
        let upstream = format!("http://{upstream}");
        let output =
            command(&[&["--upstream", &upstream, "--listen", "127.0.0.1:0"], arguments].concat()).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(named), "{said}");
    }
}
