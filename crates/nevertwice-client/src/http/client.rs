//! One connection, kept alive and reopened when it breaks.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Outcome, Reply, Request, Target};

/// The longest body that a reply may have.
const REPLY_BODY_MAX: usize = 16 * 1024 * 1024;

/// A client of one server. One request at a time; one per worker.
pub struct Client {
    target: Target,
    time_limit: Duration,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// A request that was sent completely and of whose reply nothing is read. Closing or dropping it loses the reply for good.
#[derive(Debug)]
pub struct Unread {
    stream: TcpStream,
}

impl Unread {
    /// Closes the connection without having read from it.
    pub fn close(self) {
        drop(self.stream);
    }
}

/// Why a connection could not be opened.
enum NoConnection {
    Refused,
    Broken,
}

impl Client {
    /// A client that connects when it first sends. `time_limit` holds for a whole request, connecting included.
    pub fn new(target: Target, time_limit: Duration) -> Self {
        Self { target, time_limit, connection: None }
    }

    /// The server that it asks.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Sends a request and waits for its whole reply.
    pub async fn send(&mut self, request: &Request) -> Outcome {
        self.send_within(request, self.time_limit).await
    }

    /// Sends a request and waits for its whole reply, with another time limit for this one.
    pub async fn send_within(&mut self, request: &Request, time_limit: Duration) -> Outcome {
        match timeout(time_limit, self.exchange(request)).await {
            Ok(outcome) => {
                if matches!(outcome, Outcome::Lost | Outcome::Refused) {
                    self.connection = None;
                }
                outcome
            }
            Err(_) => {
                self.connection = None;
                Outcome::TimedOut
            }
        }
    }

    /// Sends a request completely, on a connection of its own, and reads nothing.
    ///
    /// The error is the [`Outcome`] of the attempt: it is never a reply.
    pub async fn send_unread(&self, request: &Request) -> Result<Unread, Outcome> {
        if self.message(request).is_none() {
            return Err(Outcome::Unsendable);
        }
        let bytes = request.render(&self.target);
        let sent = async {
            let mut stream = self.connect().await.map_err(|reason| match reason {
                NoConnection::Refused => Outcome::Refused,
                NoConnection::Broken => Outcome::Lost,
            })?;
            stream.write_all(&bytes).await.map_err(|_| Outcome::Lost)?;
            stream.flush().await.map_err(|_| Outcome::Lost)?;
            Ok(Unread { stream })
        };
        timeout(self.time_limit, sent).await.unwrap_or(Err(Outcome::TimedOut))
    }

    async fn connect(&self) -> Result<TcpStream, NoConnection> {
        let stream = TcpStream::connect(self.target.authority()).await.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => NoConnection::Refused,
            _ => NoConnection::Broken,
        })?;
        // Without this a small request may wait for the acknowledgement of the one before.
        stream.set_nodelay(true).map_err(|_| NoConnection::Broken)?;
        Ok(stream)
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, NoConnection> {
        let stream = self.connect().await?;
        let (sender, connection) = http1::Builder::new().handshake(TokioIo::new(stream)).await.map_err(|_| NoConnection::Broken)?;
        tokio::spawn(async move {
            // Its end shows in the sender; there is nobody else to tell.
            let _ended = connection.await;
        });
        Ok(sender)
    }

    async fn exchange(&mut self, request: &Request) -> Outcome {
        let Some(mut message) = self.message(request) else {
            return Outcome::Unsendable;
        };
        // A kept connection may have been closed by the server meanwhile. hyper hands a message back that it has not begun
        // to send; only then is it sent again, once, on a new connection.
        for _ in 0..2 {
            let mut sender = match self.connection.take() {
                Some(sender) if !sender.is_closed() => sender,
                _ => match self.open().await {
                    Ok(sender) => sender,
                    Err(NoConnection::Refused) => return Outcome::Refused,
                    Err(NoConnection::Broken) => return Outcome::Lost,
                },
            };
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(message).await {
                Ok(response) => return self.read(response, sender).await,
                Err(mut error) => match error.take_message() {
                    Some(unsent) => message = unsent,
                    None => return Outcome::Lost,
                },
            }
        }
        Outcome::Lost
    }

    async fn read(&mut self, response: hyper::Response<hyper::body::Incoming>, sender: SendRequest<Full<Bytes>>) -> Outcome {
        let (head, body) = response.into_parts();
        let Ok(body) = Limited::new(body, REPLY_BODY_MAX).collect().await else {
            return Outcome::Lost;
        };
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        self.connection = Some(sender);
        Outcome::Reply(Reply { status: head.status.as_u16(), headers, body: body.to_bytes() })
    }

    /// The request as hyper wants it; none if a path or a header cannot be sent, so that nothing was asked.
    fn message(&self, request: &Request) -> Option<hyper::Request<Full<Bytes>>> {
        let mut builder =
            hyper::Request::builder().method(request.method).uri(request.path.as_str()).header("host", self.target.authority());
        if request.body.is_some() {
            builder = builder.header("content-type", "application/json");
        }
        for (name, value) in &request.headers {
            builder = builder.header(*name, value.as_str());
        }
        builder.body(Full::new(request.body.clone().unwrap_or_default())).ok()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Client").field("target", &self.target).finish_non_exhaustive()
    }
}
