//! Services behind the proxy.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, Response, Uri};
use axum::routing::{any, post};
use http_body_util::channel::{Channel, Sender};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A service that counts what it does.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    effects: Arc<AtomicUsize>,
    /// Requests at `/gate` wait for a permit of it.
    pub(crate) gate: Arc<Semaphore>,
    /// Whoever waits at the gate has added a permit.
    pub(crate) waits: Arc<Semaphore>,
    /// The body of the last answer at `/stream`, for the test to write.
    pub(crate) stream: Arc<Mutex<Option<Sender<Bytes, std::io::Error>>>>,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let upstream = Self::at(listener.local_addr().expect("an address"));
        tokio::spawn(axum::serve(listener, upstream.router()).into_future());
        upstream
    }

    /// One that does not listen yet.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let (gate, waits) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        Self { address, effects: Arc::default(), gate, waits, stream: Arc::default() }
    }

    pub(crate) fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    pub(crate) fn router(&self) -> Router {
        let count = {
            let effects = self.effects.clone();
            move || effects.fetch_add(1, Ordering::SeqCst) + 1
        };
        let charge = {
            let count = count.clone();
            move || async move {
                let mut response = Response::new(Body::from(format!("charge {}", count())));
                *response.status_mut() = axum::http::StatusCode::CREATED;
                for (name, value) in [("x-part", "a, b"), ("x-part", "c"), ("location", "/charges/1"), ("set-cookie", "session=1")] {
                    response.headers_mut().append(HeaderName::from_static(name), value.parse().expect("a value"));
                }
                response
            }
        };
        let status = {
            let count = count.clone();
            move |Path(status): Path<u16>, uri: Uri| async move {
                count();
                let mut response = Response::builder().status(status);
                if let Some(effect) = uri.query() {
                    response = response.header("idempotency-effect", effect);
                }
                response.body(Body::from("said")).expect("it is a response")
            }
        };
        let gate = {
            let (count, gate, waits) = (count.clone(), self.gate.clone(), self.waits.clone());
            move || async move {
                waits.add_permits(1);
                gate.acquire().await.expect("it stays open").forget();
                format!("passed {}", count())
            }
        };
        let headers = move |uri: Uri, headers: HeaderMap| async move {
            let lines = headers.iter().map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
            format!("{uri}\n{}", lines.collect::<String>())
        };
        let streams = self.stream.clone();
        let stream = move || async move {
            count();
            let (sender, body) = Channel::<Bytes, std::io::Error>::new(1);
            *streams.lock().expect("nobody panics with it") = Some(sender);
            Response::new(Body::new(body))
        };
        Router::new()
            .route("/charges", post(charge))
            .route("/status/{status}", any(status))
            .route("/gate", any(gate))
            .route("/headers", any(headers))
            .route("/open/headers", any(headers))
            .route("/echo", any(|body: Body| async { Response::new(body) }))
            .route("/open/echo", any(|body: Body| async { Response::new(body) }))
            .route("/stream", any(stream.clone()))
            .route("/open/stream", any(stream))
            .layer(axum::extract::DefaultBodyLimit::disable())
    }
}

/// A service that is a function of its connections, which come with their numbers.
pub(crate) async fn raw<F, R>(serve: F) -> SocketAddr
where
    F: Fn(usize, TcpStream) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut number = 0;
        while let Ok((stream, _)) = listener.accept().await {
            number += 1;
            tokio::spawn(serve(number, stream));
        }
    });
    address
}
