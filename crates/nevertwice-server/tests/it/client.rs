//! A client that sends exactly the bytes it is told to.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("not JSON: {error}: {}", self.text))
    }

    /// The answer's `result`; panics at a problem.
    pub(crate) fn result(&self) -> Value {
        assert!(self.status < 300, "{} {}", self.status, self.text);
        self.json()["result"].clone()
    }

    /// The code of a problem, after checking that it is a whole one.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{} {}", self.status, self.text);
        let problem = self.json();
        let code = problem["code"].as_str().expect("a problem has a code").to_owned();
        let known: nevertwice_api::ErrorCode = code.parse().expect("the code is in the catalogue");
        assert_eq!(problem["status"], self.status, "{problem}");
        assert_eq!(known.status(), self.status, "{problem}");
        assert_eq!(problem["type"], format!("/errors/{code}"));
        assert_eq!(problem["title"], known.title());
        assert_eq!(problem["retryable"], known.retryable());
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 20), "{problem}");
        let retry_after = self.header("retry-after").is_some();
        assert_eq!(retry_after, known.retryable() && matches!(self.status, 409 | 429 | 503), "{problem}");
        code
    }
}

/// A request to be.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, path: impl Into<String>) -> Self {
        let host = ("host".to_owned(), b"localhost".to_vec());
        Self { method: method.to_owned(), path: path.into(), headers: vec![host], body: Vec::new() }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    /// A command: JSON, and a key.
    pub(crate) fn post(path: impl Into<String>, key: &str, body: impl AsRef<str>) -> Self {
        Self::new("POST", path).header("content-type", "application/json").header("idempotency-key", key).body(body.as_ref())
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if self.method == "POST" {
            bytes.extend_from_slice(format!("content-length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Sends a request and reads its answer.
pub(crate) async fn send(addr: SocketAddr, ask: &Ask) -> Answer {
    send_bytes(addr, &ask.bytes()).await
}

/// Sends bytes and reads what comes.
pub(crate) async fn send_bytes(addr: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(addr).await.expect("the server accepts");
    // A server that has seen enough may close before all was sent.
    let _ = stream.write_all(bytes).await;
    read_answer(stream).await
}

/// Reads what comes until the end.
pub(crate) async fn read_answer(mut stream: TcpStream) -> Answer {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    read(&answer)
}

/// Sends a request and hangs up without reading the answer.
pub(crate) async fn send_and_hang_up(addr: SocketAddr, ask: &Ask) {
    let mut stream = TcpStream::connect(addr).await.expect("the server accepts");
    stream.write_all(&ask.bytes()).await.expect("the request can be sent");
    stream.shutdown().await.expect("the connection can be closed");
}

/// Sends a request, and resets the connection once `until` is ready.
pub(crate) async fn send_and_reset(addr: SocketAddr, ask: &Ask, until: impl Future) {
    let mut stream = TcpStream::connect(addr).await.expect("the server accepts");
    stream.write_all(&ask.bytes()).await.expect("the request can be sent");
    until.await;
    stream.set_zero_linger().expect("the connection can be reset");
}

fn read(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP answer: {text:?}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status line");
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let answer = Answer { status, headers, text: body.to_owned() };
    if answer.header("content-type") == Some("application/problem+json")
        && let Some(code) = serde_json::from_str::<Value>(body).ok().and_then(|problem| problem["code"].as_str()?.parse().ok())
    {
        nevertwice_testkit::codes::met(code);
    }
    answer
}
