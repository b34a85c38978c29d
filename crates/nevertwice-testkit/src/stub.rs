//! A scripted HTTP server on a loopback port, one behaviour per connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with the requests of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Answers every request.
    Answer,
    /// Answers one request, then closes.
    AnswerOnce,
    /// Reads one request, then closes.
    Hang,
    /// Sends half a reply, then closes.
    Half,
    /// Reads and never answers.
    Silent,
}

/// The server and what it saw.
#[derive(Debug)]
pub struct Stub {
    /// Where it listens.
    pub address: SocketAddr,
    /// Each request's bytes, with the number of its connection.
    pub seen: Arc<Mutex<Vec<(usize, String)>>>,
    /// Connections that were closed by the client.
    pub closed: Arc<Mutex<Vec<usize>>>,
}

impl Stub {
    /// Starts a server whose n-th connection follows the n-th act; the last act goes on.
    ///
    /// # Panics
    /// If there is no loopback port.
    pub async fn start(acts: &[Act]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("an address");
        let stub = Self { address, seen: Arc::default(), closed: Arc::default() };
        let (seen, closed, acts) = (stub.seen.clone(), stub.closed.clone(), acts.to_vec());
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let act = acts[number.min(acts.len() - 1)];
                tokio::spawn(serve(stream, number, act, seen.clone(), closed.clone()));
            }
        });
        stub
    }

    /// How it is asked.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it saw so far.
    ///
    /// # Panics
    /// If one of its connections panicked.
    #[must_use]
    pub fn seen(&self) -> Vec<(usize, String)> {
        self.seen.lock().expect("not poisoned").clone()
    }
}

async fn serve(mut stream: TcpStream, number: usize, act: Act, seen: Arc<Mutex<Vec<(usize, String)>>>, closed: Arc<Mutex<Vec<usize>>>) {
    let mut text = String::new();
    loop {
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).await {
            Ok(0) | Err(_) => {
                closed.lock().expect("not poisoned").push(number);
                return;
            }
            Ok(count) => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
        while let Some(end) = whole(&text) {
            let request: String = text.drain(..end).collect();
            seen.lock().expect("not poisoned").push((number, request));
            let reply = "HTTP/1.1 200 OK\r\nX-Twice: 1\r\ncontent-length: 13\r\n\r\n{\"answer\":42}";
            let _broken = match act {
                Act::Answer | Act::AnswerOnce => stream.write_all(reply.as_bytes()).await,
                Act::Half => stream.write_all(&reply.as_bytes()[..60]).await,
                Act::Hang | Act::Silent => Ok(()),
            };
            if matches!(act, Act::AnswerOnce | Act::Hang | Act::Half) {
                return;
            }
        }
    }
}

/// Where the first whole request ends.
fn whole(text: &str) -> Option<usize> {
    let head = text.find("\r\n\r\n")? + 4;
    let length =
        text[..head].lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |length| length.parse().expect("a length"));
    (text.len() >= head + length).then_some(head + length)
}
