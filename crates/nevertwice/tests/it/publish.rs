//! `nevertwice publish` as a process, with a service that takes webhooks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nevertwice_ledger::outbox::Message;
use nevertwice_ledger::publisher::{Delivery, WebhookSecret};
use nevertwice_ledger::{Database, DatabaseOptions};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Longer than anything takes that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that came: its headers by name, and its body.
struct Taken {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Taken {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map_or_else(|| panic!("{name} is missing in {:?}", self.headers), |(_, value)| value)
    }

    /// Whether the signature is the secret's over what came.
    fn is_signed(&self) -> bool {
        let secret: WebhookSecret = SECRET.parse().expect("it is a secret");
        let delivery = Delivery {
            id: self.header("webhook-id").to_owned(),
            stream: self.header("nevertwice-stream").to_owned(),
            seq: 0,
            kind: String::new(),
            at_ms: 0,
            payload: self.body.clone(),
        };
        let timestamp = self.header("webhook-timestamp").parse().expect("it is a second");
        secret.headers(&delivery, timestamp)[2].1 == self.header("webhook-signature")
    }
}

/// A service that refuses the first requests and takes what follows.
fn service(refused: usize) -> (String, Receiver<(u16, Taken)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/hooks?from=shop", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    let came = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (sender, came) = (sender.clone(), Arc::clone(&came));
            std::thread::spawn(move || {
                let mut stream = stream.expect("a connection");
                while let Some(taken) = request(&stream) {
                    let status = if came.fetch_add(1, Ordering::SeqCst) < refused { 503 } else { 204 };
                    let _ = sender.send((status, taken));
                    if write!(stream, "HTTP/1.1 {status} Told\r\ncontent-length: 0\r\n\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, receiver)
}

fn request(stream: &TcpStream) -> Option<Taken> {
    let mut reader = BufReader::new(stream);
    let mut headers = Vec::new();
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    assert_eq!(first, "POST /hooks?from=shop HTTP/1.1\r\n");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Taken { headers, body })
}

struct Publishing(Child);

impl Drop for Publishing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(config: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["publish", "--config", config]).args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn publish(config: &str) -> Publishing {
    let mut process = command(config, &[]).stderr(Stdio::null()).spawn().expect("the binary starts");
    let mut line = String::new();
    BufReader::new(process.stdout.as_mut().expect("its output")).read_line(&mut line).expect("it says that it publishes");
    assert_eq!(line, "publishing to 1 endpoints: billing\n");
    Publishing(process)
}

/// Leaves messages in an outbox, each in a transaction of its own.
fn leave(address: &str, payloads: &[&str]) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let database = Database::open(&address.parse().expect("an address"), &DatabaseOptions::default()).await.expect("it opens");
        database.migrate().await.expect("its tables are made");
        let Database::Sqlite { write, .. } = &database else { panic!("it is SQLite") };
        for payload in payloads {
            let mut work = write.begin().await.expect("it begins");
            let message = Message::new("orders", "order.placed", *payload).expect("it is a message");
            message.put_in(&mut work, 1_790_000_000_000).await.expect("it is left");
            work.commit().await.expect("it is committed");
        }
        database.close().await;
    });
}

fn settings(folder: &tempfile::TempDir, url: &str, more: &str) -> (String, String) {
    let address = format!("sqlite:{}", folder.path().join("shop.db").display());
    let (file, secret) = (folder.path().join("publish.toml"), folder.path().join("secret"));
    std::fs::write(&secret, format!("{SECRET}\n")).expect("it is written");
    let endpoint =
        format!("[[endpoints]]\nname = \"billing\"\nurl = \"{url}\"\nsecret_file = \"{}\"\ntimeout_ms = 400\n", secret.display());
    let text = format!("address = \"{address}\"\nlook_ms = 10\nlease_ms = 1000\npause_ms = 20\npause_ms_max = 40\n{more}\n{endpoint}");
    std::fs::write(&file, text).expect("it is written");
    (file.display().to_string(), address)
}

#[test]
fn a_webhook_is_told_in_order_signed_and_again_until_it_takes_each() {
    let (url, came) = service(2);
    let folder = tempfile::tempdir().expect("a folder");
    let (config, address) = settings(&folder, &url, "");
    leave(&address, &[r#"{"order":1}"#, r#"{"order":2}"#]);
    let publishing = publish(&config);
    let next = || came.recv_timeout(PATIENCE).expect("something comes");
    let first: Vec<(u16, Taken)> = (0..3).map(|_| next()).collect();
    let ids: Vec<&str> = first.iter().map(|(_, taken)| taken.header("webhook-id")).collect();
    assert_eq!(first.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [503, 503, 204]);
    assert!(ids.iter().all(|id| *id == ids[0]), "each try has the same id: {ids:?}");
    for (_, taken) in &first {
        assert!(taken.is_signed());
        assert_eq!(
            (taken.header("nevertwice-kind"), taken.header("nevertwice-seq"), &taken.body[..]),
            ("order.placed", "1", &br#"{"order":1}"#[..])
        );
    }
    let (status, second) = next();
    assert_eq!((status, &second.body[..], second.header("nevertwice-seq")), (204, &br#"{"order":2}"#[..], "2"));
    assert_ne!(second.header("webhook-id"), ids[0]);
    // Killed, perhaps before it has noted the second; another one goes on when the lease is over, and tells that again under its id.
    drop(publishing);
    leave(&address, &[r#"{"order":3}"#]);
    let _publishing = publish(&config);
    let (_, mut third) = next();
    if third.header("webhook-id") == second.header("webhook-id") {
        third = next().1;
    }
    assert_eq!((third.header("nevertwice-seq"), &third.body[..]), ("3", &br#"{"order":3}"#[..]));
}

#[test]
fn a_dead_letter_is_listed_and_sent_again() {
    let (url, came) = service(2);
    let folder = tempfile::tempdir().expect("a folder");
    let (config, address) = settings(&folder, &url, "tries_max = 2");
    leave(&address, &["{}"]);
    let _publishing = publish(&config);
    let next = || came.recv_timeout(PATIENCE).expect("something comes");
    let (first, _second) = (next().1, next());
    let said = |more: &[&str]| {
        let Output { status, stdout, stderr } = command(&config, more).output().expect("the binary starts");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).expect("it is text")
    };
    // The second answer has come; that it is noted takes a moment more.
    let listed = (0..1_000).map(|_| said(&["--dead-letters"])).find(|listed| listed.contains("1 dead letters")).expect("it is buried");
    assert!(listed.starts_with("billing outbox/orders 1 order.placed died_at=") && listed.contains("tries=2 status 503"), "{listed}");
    assert!(said(&["--send-again", "billing"]).starts_with("1 dead letters of billing"));
    let (status, again) = next();
    assert_eq!((status, again.header("webhook-id")), (204, first.header("webhook-id")));
}

#[test]
fn what_can_not_be_used_is_refused_at_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let (config, _) = settings(&folder, "http://127.0.0.1:1/", "nonsense = 1");
    let (unknown, _) = (config.clone(), ());
    let refused = |config: &str, named: &str| {
        let Output { status, stderr, .. } = command(config, &[]).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && said.contains(named) && said.contains("Nothing was started"), "{named}: {said}");
    };
    refused(&unknown, "nonsense");
    for (more, url, named) in [
        ("tries_max = 0", "http://127.0.0.1:1/", "`tries_max`"),
        ("", "ftp://127.0.0.1/", "neither http:// nor https://"),
        ("password_file = \"/nowhere/at/all\"", "http://127.0.0.1:1/", "can't be read"),
    ] {
        refused(&settings(&folder, url, more).0, named);
    }
    refused("/nowhere/at/all.toml", "can't be read");
    std::fs::write(folder.path().join("secret"), "short").expect("it is written");
    let text = std::fs::read_to_string(folder.path().join("publish.toml")).expect("it is there");
    std::fs::write(folder.path().join("publish.toml"), text.replace("password_file = \"/nowhere/at/all\"", "")).expect("it is written");
    refused(&config, "whsec_");
}
