//! One connection: what is refused for a request's head alone or for its address, and panics that end in an answer.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, Response};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use nevertwice_api::{BoxFuture, ErrorCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::alarm::HeadTimer;
use crate::app::{App, Limits};
use crate::metrics::RouteNumber;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::router;
use crate::server::Places;
use crate::share::Share;
use crate::socket::Socket;
use crate::tls::Tls;

/// How many times the bounds of a head are read before it is refused unread, so that a request which is somewhat over them counts
/// as one, and its connection goes on.
const HEAD_GRACE: usize = 4;

/// How many header lines hyper reads without help of the heap.
const HEADERS_ON_STACK: usize = 100;

/// What answers the requests of one connection.
pub(crate) struct Connected {
    pub(crate) app: Share,
    /// The address of the other end.
    pub(crate) address: IpAddr,
}

/// What makes of a stream a connection that is served.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) app: Arc<App>,
    pub(crate) tls: Option<Tls>,
    /// Becomes true when the server stops.
    pub(crate) stopped: watch::Receiver<bool>,
}

/// Serves a connection in a task of its own.
pub(crate) fn serve(stream: TcpStream, address: IpAddr, connector: Connector, places: Places) {
    let _ = stream.set_nodelay(true);
    tokio::spawn(async move {
        let Connector { app, tls, mut stopped } = connector;
        let app = Share::of(&app);
        match tls {
            None => answer(stream, address, app, stopped).await,
            Some(tls) => {
                let agreed = tokio::select! {
                    agreed = tls.agree(stream) => agreed,
                    _ = stopped.wait_for(|stopped| *stopped) => return,
                };
                match agreed {
                    Ok(stream) => answer(stream, address, app, stopped).await,
                    Err(error) => {
                        app.metrics.handshake_failures.inc();
                        tracing::debug!(%error, "a connection ended before it had agreed on a key");
                    }
                }
            }
        }
        drop(places);
    });
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    address: IpAddr,
    app: Share,
    mut stopped: watch::Receiver<bool>,
) {
    let socket = Socket::new(stream, app.clone());
    let limits = &app.limits;
    let mut builder = http1::Builder::new();
    // Beyond hyper's own bound the heads of all requests would be read with the help of the heap, which costs some percent.
    if limits.headers_max > HEADERS_ON_STACK {
        builder.max_headers(limits.headers_max * HEAD_GRACE);
    }
    let mut connection = builder
        .timer(HeadTimer(Arc::clone(app.rest())))
        .header_read_timeout(limits.request_read)
        .max_buf_size((limits.headers_bytes_max * HEAD_GRACE).max(64 * 1024))
        // A client that has sent its request and hangs up has still asked: its request is not dropped halfway.
        .half_close(true)
        .serve_connection(TokioIo::new(socket), Connected { app, address });
    let told = async {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let ended = tokio::select! {
        biased;
        ended = &mut connection => Some(ended),
        () = told => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            // What is under way is answered, and nothing after it.
            Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    let Err(error) = ended else { return };
    tracing::debug!(%error, "a connection ended early");
    let http1::Parts { io, read_buf, .. } = connection.into_parts();
    // Nobody waits for an answer on a connection on which nothing was asked.
    if error.is_timeout() && !read_buf.is_empty() {
        io.into_inner().end_late().await;
    }
}

impl<B> hyper::service::Service<Request<B>> for Connected
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<B>) -> Answering {
        let app = self.app.clone();
        if let Err(refusal) = check_head(&app, &request) {
            return Answering { answer: None, refused: Some(refusal), app };
        }
        let peer = Peer::of(self.address, request.headers(), &app.trusted_proxies);
        if let Err(refusal) = app.limiter.take_address(peer.0, app.steady.now_ms()) {
            return Answering { answer: None, refused: Some(refusal), app };
        }
        let answer = router::answer(app.clone(), request.map(Body::new), peer.0);
        Answering { answer: Some(Box::pin(answer)), refused: None, app }
    }
}

fn check_head<B>(app: &App, request: &Request<B>) -> Result<(), Refusal> {
    let limits = &app.limits;
    let bytes = head_bytes(request.headers()) + request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if bytes > limits.headers_bytes_max || request.headers().len() > limits.headers_max {
        return Err(head_too_large(limits));
    }
    app.hosts.check(request.uri(), request.headers())
}

/// A head that is larger than the server takes.
pub(crate) fn head_too_large(limits: &Limits) -> Refusal {
    Refusal::new(
        ErrorCode::HeadersTooLarge,
        format!("The request's head has more than {} bytes or {} header lines", limits.headers_bytes_max, limits.headers_max),
        "Send fewer or shorter headers",
    )
    .figure("headers_bytes_max", limits.headers_bytes_max)
    .figure("headers_max", limits.headers_max)
}

fn head_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// An answer under way.
pub(crate) struct Answering {
    answer: Option<BoxFuture<'static, Response<Body>>>,
    refused: Option<Refusal>,
    app: Share,
}

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(answer) = &mut self.answer else {
            let refusal = self.refused.take().unwrap_or_else(|| Refusal::internal("an answer that was asked for twice"));
            return Poll::Ready(Ok(self.refuse(refusal)));
        };
        match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))) {
            Ok(answered) => answered.map(Ok),
            Err(_) => {
                let refusal = Refusal::internal("a handler panicked");
                Poll::Ready(Ok(self.refuse(refusal)))
            }
        }
    }
}

impl Answering {
    fn refuse(&self, refusal: Refusal) -> Response<Body> {
        self.app.metrics.requests.observe(RouteNumber::UNMATCHED, Err(refusal.code()), std::time::Duration::ZERO);
        refusal.into_response()
    }
}
