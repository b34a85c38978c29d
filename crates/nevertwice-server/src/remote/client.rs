//! One connection, kept alive and reopened when it breaks. What is asked here changes nothing or may be asked again, so a
//! request whose connection broke is no riddle.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::SendRequest;
use nevertwice_api::wire::Problem;
use tokio::sync::Notify;
use tokio::time::{Duration, timeout};

use super::connect::Connect;
use crate::config::Secret;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(120);
/// How much longer one may take that was asked to wait: who asks so asks again.
const ANSWER_AFTER_WAIT: Duration = Duration::from_secs(10);

/// Ends whatever a [`Remote`](super::Remote) waits for, from another thread, for good.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<(AtomicBool, Notify)>);

impl Interrupt {
    /// Ends it.
    pub fn interrupt(&self) {
        self.0.0.store(true, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    async fn came(&self) {
        loop {
            let notified = self.0.1.notified();
            if self.0.0.load(Ordering::SeqCst) {
                return;
            }
            notified.await;
        }
    }
}

/// Why there is no answer that can be used.
#[derive(Clone, Debug, PartialEq)]
pub enum RemoteError {
    /// Nobody answered, or not in time; or this side ended it.
    Unreachable(String),
    /// The server refused.
    Refused(Box<Problem>),
    /// What came is no answer of this API.
    Strange(String),
    /// Nothing was asked: no certificate would be believed, or this side lacks something.
    Unprepared(String),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(what) => write!(f, "there is no answer: {what}"),
            Self::Refused(problem) => write!(f, "{} ({}). {}", problem.title, problem.code, problem.detail),
            Self::Strange(what) => write!(f, "what came is no answer of a nevertwice server: {what}"),
            Self::Unprepared(what) => write!(f, "{what}; nothing was asked"),
        }
    }
}

impl std::error::Error for RemoteError {}

/// One connection to a server, reopened when it breaks.
pub(crate) struct Client {
    connect: Connect,
    key: Option<Secret>,
    body_bytes_max: usize,
    interrupt: Interrupt,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// What is asked.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Bytes,
    /// How long the server was asked to wait.
    pub(crate) wait: Duration,
}

impl<'a> Ask<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, headers: &[], body: Bytes::new(), wait: Duration::ZERO }
    }
}

impl Client {
    /// `key` goes with each request; an answer of more than `body_bytes_max` is not read.
    pub(crate) fn new(connect: Connect, key: Option<Secret>, body_bytes_max: usize) -> Self {
        Self { connect, key, body_bytes_max, interrupt: Interrupt::default(), connection: None }
    }

    pub(super) fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Asks, and returns the head and the body of what is no problem.
    pub(super) async fn ask(&mut self, ask: Ask<'_>) -> Result<(HeaderMap, Bytes), RemoteError> {
        let (status, headers, body) = self.send(ask).await?;
        let judged = judge(status, headers, body);
        if matches!(judged, Err(RemoteError::Strange(_))) {
            self.connection = None;
        }
        judged
    }

    /// Asks, and returns the status, the head and the body of whatever is answered.
    pub(crate) async fn send(&mut self, ask: Ask<'_>) -> Result<(StatusCode, HeaderMap, Bytes), RemoteError> {
        let within = if ask.wait.is_zero() { ANSWER } else { ask.wait + ANSWER_AFTER_WAIT };
        let interrupt = self.interrupt.clone();
        let answer = tokio::select! {
            biased;
            () = interrupt.came() => Err(RemoteError::Unreachable("it was ended from here".to_owned())),
            answer = timeout(within, self.exchange(ask)) => {
                answer.unwrap_or_else(|_| Err(RemoteError::Unreachable(format!("none came within {} s", within.as_secs()))))
            }
        };
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    async fn exchange(&mut self, ask: Ask<'_>) -> Result<(StatusCode, HeaderMap, Bytes), RemoteError> {
        let unreachable = |error: hyper::Error| RemoteError::Unreachable(error.to_string());
        let mut request = self.request(ask)?;
        // A kept connection may have been closed meanwhile: then once more, on a new one.
        for _ in 0..2 {
            let mut sender = match self.connection.take() {
                Some(sender) if !sender.is_closed() => sender,
                _ => self.open().await?,
            };
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let body = Limited::new(body, self.body_bytes_max).collect().await;
                    let body = body.map_err(|error| RemoteError::Unreachable(error.to_string()))?.to_bytes();
                    self.connection = Some(sender);
                    return Ok((head.status, head.headers, body));
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(unreachable(error.into_error())),
                },
            }
        }
        Err(RemoteError::Unreachable("the connection broke twice".to_owned()))
    }

    async fn open(&self) -> Result<SendRequest<Full<Bytes>>, RemoteError> {
        let opened = self.connect.open().await;
        opened.map_err(|what| RemoteError::Unreachable(format!("{}: {what}", self.connect.target())))
    }

    fn request(&self, ask: Ask<'_>) -> Result<Request<Full<Bytes>>, RemoteError> {
        let mut builder = Request::builder().method(ask.method).uri(ask.path).header("host", self.connect.target().authority());
        if let Some(key) = &self.key {
            builder = builder.header("authorization", format!("Bearer {}", key.reveal()));
        }
        for (name, value) in ask.headers {
            builder = builder.header(*name, *value);
        }
        // The text of the error may show a header, and a header the key.
        builder.body(Full::new(ask.body)).map_err(|_| RemoteError::Strange("the key or the path can't be put on the wire".to_owned()))
    }
}

fn judge(status: StatusCode, headers: HeaderMap, body: Bytes) -> Result<(HeaderMap, Bytes), RemoteError> {
    if status.is_success() {
        return Ok((headers, body));
    }
    match serde_json::from_slice(&body) {
        Ok(problem) => Err(RemoteError::Refused(Box::new(problem))),
        Err(_) => Err(RemoteError::Strange(format!("status {status}"))),
    }
}
