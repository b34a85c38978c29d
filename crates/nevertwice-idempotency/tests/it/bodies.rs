//! The layer around services that know nothing of axum: hyper's alone, and a call of tonic.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Buf as _, BufMut as _, Bytes};
use http::uri::PathAndQuery;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use nevertwice_idempotency::{Caller, Keys, KeysBody, KeysLayer, Policy, RequestBody, Routes, Secrets};
use tokio::net::{TcpListener, TcpStream};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use tower::{Layer as _, Service, service_fn};

use crate::house::memory;

fn layer(policy: Policy) -> KeysLayer {
    let routes = Routes::new().guard(&[Method::POST], "/{*rest}", policy);
    let keys = Keys::new(memory(), Some(Secrets::new([1; 32])), routes).expect("the policy is one");
    KeysLayer::new(keys.with_identity(|parts: &http::request::Parts| {
        let principal = parts.headers.get("user")?.to_str().ok()?.to_owned();
        Some(Caller { tenant: String::new(), principal })
    }))
}

/// Serves one connection, of HTTP/1.1 or HTTP/2, and connects to it.
async fn connect<S, RB>(service: S) -> TcpStream
where
    S: Service<Request<Incoming>, Response = Response<KeysBody<RB>>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    RB: http_body::Body<Data = Bytes> + Send + 'static,
    RB::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("somebody comes");
        let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
        let _ended = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
    });
    TcpStream::connect(address).await.expect("it listens")
}

#[tokio::test]
async fn a_service_of_hyper_alone_is_guarded_and_its_unguarded_bodies_pass_unread() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let inner = service_fn(move |request: Request<RequestBody<Incoming>>| {
        let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            let body = request.into_body().collect().await.expect("it comes whole").to_bytes();
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(format!("run {run}: {}", String::from_utf8_lossy(&body))))))
        }
    });
    let stream = connect(layer(Policy::ietf()).layer(inner)).await;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("it shakes hands");
    tokio::spawn(connection);
    let mut ask = async |method: &str| {
        let request = Request::builder().method(method).uri("/charges").header("host", "bank").header("user", "ann");
        let request = request.header("idempotency-key", "k").body(Full::new(Bytes::from_static(b"five"))).expect("it is a request");
        let (head, body) = sender.send_request(request).await.expect("it answers").into_parts();
        let body = body.collect().await.expect("it is whole").to_bytes();
        (head.headers.get("idempotent-replayed").is_some(), String::from_utf8_lossy(&body).into_owned())
    };
    assert_eq!(ask("POST").await, (false, "run 1: five".to_owned()));
    assert_eq!(ask("POST").await, (true, "run 1: five".to_owned()));
    assert_eq!(ask("PUT").await, (false, "run 2: five".to_owned()), "nobody guards it");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

/// Messages that are bytes.
#[derive(Clone, Copy, Default)]
struct Plain;

impl Codec for Plain {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        dst.put(item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(src.copy_to_bytes(src.remaining())))
    }
}

/// A bank that answers each call with the number of its run, or as the call says.
#[derive(Clone, Default)]
struct Bank(Arc<AtomicUsize>);

impl Bank {
    fn runs(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Makes a call, over HTTP/2, again and again.
    async fn calls(&self, policy: Policy) -> impl AsyncFnMut(&'static str, &'static str) -> Result<Bytes, Status> {
        let bank = self.0.clone();
        let inner = service_fn(move |request: Request<RequestBody<Incoming>>| {
            let bank = bank.clone();
            async move {
                let charge = service_fn(move |call: tonic::Request<Bytes>| {
                    let run = bank.fetch_add(1, Ordering::SeqCst) + 1;
                    async move {
                        match call.get_ref().as_ref() {
                            b"busy" => Err(Status::unavailable("nobody knows")),
                            b"poor" => Err(Status::failed_precondition("no money")),
                            b"forbidden" => Err(Status::permission_denied("not you")),
                            _ => Ok(tonic::Response::new(Bytes::from(format!("run {run}")))),
                        }
                    }
                });
                Ok::<_, Infallible>(tonic::server::Grpc::new(Plain).unary(charge, request).await)
            }
        });
        let stream = connect(layer(policy).layer(inner)).await;
        let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = shaken.expect("it shakes hands");
        tokio::spawn(connection);
        async move |key: &'static str, message: &'static str| {
            let mut sender = sender.clone();
            let send = service_fn(move |mut request: Request<tonic::body::Body>| {
                // A connection of HTTP/2 needs to be told for whom the request is.
                let path = request.uri().path().to_owned();
                *request.uri_mut() = format!("http://bank{path}").parse().expect("it is an address");
                sender.send_request(request)
            });
            let mut client = tonic::client::Grpc::new(send);
            client.ready().await.map_err(|_| Status::unknown("it is not ready"))?;
            let mut call = tonic::Request::new(Bytes::from_static(message.as_bytes()));
            call.metadata_mut().insert("user", MetadataValue::from_static("ann"));
            call.metadata_mut().insert("idempotency-key", MetadataValue::from_static(key));
            let path = PathAndQuery::from_static("/bank.Charges/Charge");
            client.unary(call, path, Plain).await.map(tonic::Response::into_inner)
        }
    }
}

#[tokio::test]
async fn a_unary_call_of_tonic_is_repeated_with_its_trailers() {
    let bank = Bank::default();
    let mut call = bank.calls(Policy::grpc()).await;
    for _ in 0..3 {
        assert_eq!(call("k", "five").await.expect("it is done"), "run 1");
    }
    let refused = call("k", "six").await.expect_err("it is another call");
    assert_eq!((refused.code(), bank.runs()), (Code::InvalidArgument, 1));
    assert!(refused.message().contains("The key was used for something else"), "{}", refused.message());
    assert_eq!(refused.metadata().get("idempotency-refusal").expect("it has a code"), "fingerprint_mismatch");
}

#[tokio::test]
async fn the_status_of_a_call_decides_what_becomes_of_its_key() {
    for (message, code, again, runs) in [
        ("poor", Code::FailedPrecondition, Code::FailedPrecondition, 1),
        ("forbidden", Code::PermissionDenied, Code::PermissionDenied, 2),
        ("busy", Code::Unavailable, Code::Unknown, 1),
    ] {
        let bank = Bank::default();
        let mut call = bank.calls(Policy::grpc()).await;
        assert_eq!(call("k", message).await.expect_err("it is refused").code(), code, "{message}");
        assert_eq!(call("k", message).await.expect_err("it is refused").code(), again, "{message}");
        assert_eq!(bank.runs(), runs, "{message}");
    }
}

#[tokio::test]
async fn where_trailers_are_not_kept_a_call_leaves_a_tombstone_and_says_so() {
    let bank = Bank::default();
    let mut call = bank.calls(Policy::ietf()).await;
    assert_eq!(call("k", "five").await.expect("it is done"), "run 1");
    let refused = call("k", "five").await.expect_err("its answer is gone");
    assert_eq!((refused.code(), bank.runs()), (Code::AlreadyExists, 1));
    assert_eq!(refused.metadata().get("idempotency-refusal").expect("it has a code"), "answer_not_kept");
}
