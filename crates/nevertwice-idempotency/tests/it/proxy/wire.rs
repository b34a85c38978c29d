//! A client that writes bytes and reads bytes.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) status: u16,
    /// Header lines in their order, with names in lower case.
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(line, _)| line == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.lines.iter().filter(|(line, _)| line == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("it is text")
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: serde_json::Value = serde_json::from_slice(&self.body).expect("a problem is JSON");
        assert_eq!(problem["status"], self.status);
        let code = problem["code"].as_str().expect("it has a code").to_owned();
        nevertwice_testkit::codes::met(code.parse().expect("it is one of the catalogue"));
        code
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

/// Writes bytes to a new connection, and does not end it.
pub(crate) async fn write(address: SocketAddr, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    stream.write_all(bytes.as_ref()).await.expect("it is taken");
    stream
}

/// Sends a whole request by a connection of its own.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Told {
    answer(&mut write(address, request).await).await
}

/// Reads one answer.
pub(crate) async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Told {
    loop {
        let head = head(stream).await;
        let mut lines = head.lines();
        let status: u16 = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("it has a status");
        if status == 100 {
            continue;
        }
        let lines: Vec<(String, String)> =
            lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let mut told = Told { status, lines, body: Vec::new() };
        if let Some(length) = told.header("content-length") {
            told.body = vec![0; length.parse().expect("it is a length")];
            stream.read_exact(&mut told.body).await.expect("the body is whole");
        } else if told.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = chunk(stream).await {
                told.body.extend(chunk);
            }
        }
        return told;
    }
}

/// The head of a message, without the empty line.
pub(crate) async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("the head is whole"));
    }
    String::from_utf8(head).expect("it is text").trim_end().to_owned()
}

/// One chunk of a body; none at its end, trailers included.
pub(crate) async fn chunk(stream: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let length = usize::from_str_radix(&line(stream).await, 16).expect("it is a length");
    if length == 0 {
        while !line(stream).await.is_empty() {}
        return None;
    }
    let mut chunk = vec![0; length];
    stream.read_exact(&mut chunk).await.expect("the chunk is whole");
    assert_eq!(line(stream).await, "");
    Some(chunk)
}

pub(crate) async fn line(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.push(stream.read_u8().await.expect("the line is whole"));
    }
    String::from_utf8(line).expect("it is text").trim_end().to_owned()
}

/// Whether the other end has closed the connection: nothing more comes.
pub(crate) async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]).await, Ok(0) | Err(_))
}

/// A request of Ann's with a key.
pub(crate) fn post(path: &str, key: &str, body: &str) -> String {
    request("POST", path, &[("authorization", "Bearer ann"), ("idempotency-key", key), ("content-type", "application/json")], body)
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: shop\r\n{lines}content-length: {}\r\n\r\n{body}", body.len())
}
