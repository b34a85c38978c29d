//! Sends one request, and reads its answer.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Answer, Ask, Base};

/// How long an answer may take, connecting included.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);

/// The longest body of an answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The pieces in which a body goes out.
const PIECE_BYTES: usize = 16 << 10;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Nobody listens there.
    NoConnection(String),
    /// The connection ended before the answer did.
    Broken,
    /// It took longer than [`ANSWER_TIME`].
    TooSlow,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection(what) => write!(f, "no connection: {what}"),
            Self::Broken => f.write_str("the connection ended before the answer did"),
            Self::TooSlow => write!(f, "no answer within {} seconds", ANSWER_TIME.as_secs()),
        }
    }
}

/// A connection that ends with whoever waits for its answer.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The beginning of an answer whose body is still to come.
pub(crate) struct Opened {
    pub(crate) answer: Answer,
    body: Incoming,
    _connection: Connection,
}

impl Opened {
    /// The next bytes of the body; none at its end.
    pub(crate) async fn more(&mut self) -> Result<Option<Bytes>, NoAnswer> {
        let next = async {
            while let Some(frame) = self.body.frame().await {
                match frame.map(Frame::into_data) {
                    Ok(Ok(data)) if !data.is_empty() => return Ok(Some(data)),
                    Ok(_) => {}
                    Err(_) => return Err(NoAnswer::Broken),
                }
            }
            Ok(None)
        };
        timeout(ANSWER_TIME, next).await.unwrap_or(Err(NoAnswer::TooSlow))
    }
}

/// A body with its length, or in chunks without.
struct Pieces {
    rest: Bytes,
    is_chunked: bool,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_chunked { SizeHint::default() } else { SizeHint::with_exact(self.rest.len() as u64) }
    }
}

/// Sends a request and reads its answer whole. Dropped before, it closes its connection: the client hangs up.
pub(crate) async fn send(base: &Base, asked: &Ask) -> Result<Answer, NoAnswer> {
    let whole = async {
        let Opened { answer, body, _connection } = open_now(base, asked).await?;
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(|_| NoAnswer::Broken)?.to_bytes();
        Ok(Answer { body, ..answer })
    };
    timeout(ANSWER_TIME, whole).await.unwrap_or(Err(NoAnswer::TooSlow))
}

/// Sends a request and reads the head of its answer.
pub(crate) async fn open(base: &Base, asked: &Ask) -> Result<Opened, NoAnswer> {
    timeout(ANSWER_TIME, open_now(base, asked)).await.unwrap_or(Err(NoAnswer::TooSlow))
}

async fn open_now(base: &Base, asked: &Ask) -> Result<Opened, NoAnswer> {
    let no_connection = |error: &dyn fmt::Display| NoAnswer::NoConnection(error.to_string());
    let stream = TcpStream::connect(base.authority()).await.map_err(|error| no_connection(&error))?;
    // Without this a small request may wait for the acknowledgement of the one before.
    stream.set_nodelay(true).map_err(|error| no_connection(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| no_connection(&error))?;
    let connection = Connection(tokio::spawn(async move {
        // Its end shows in the answer; there is nobody else to tell.
        let _ended = connection.await;
    }));
    let mut request = hyper::Request::new(Pieces { rest: asked.body.clone(), is_chunked: asked.is_chunked });
    *request.method_mut() = asked.method.clone();
    *request.uri_mut() = base.path(&asked.path).parse().map_err(|error| no_connection(&error))?;
    let host = hyper::header::HeaderValue::from_str(base.authority()).map_err(|error| no_connection(&error))?;
    request.headers_mut().insert(hyper::header::HOST, host);
    for (name, value) in &asked.headers {
        request.headers_mut().append(name, value.clone());
    }
    let response = sender.send_request(request).await.map_err(|_| NoAnswer::Broken)?;
    let (head, body) = response.into_parts();
    let lines = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    let answer = Answer { status: head.status.as_u16(), lines, body: Bytes::new() };
    Ok(Opened { answer, body, _connection: connection })
}
