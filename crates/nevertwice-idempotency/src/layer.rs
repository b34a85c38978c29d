//! The tower layer.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use crate::Keys;
use crate::body::KeysBody;
use crate::gather::InMemory;
use crate::grpc;
use crate::guard::{KeysFuture, guarded};
use crate::request_body::RequestBody;

/// Puts [`Keys`] around a service. It belongs behind authentication and authorisation (added before them in axum, where the layer
/// that is added last sees a request first), and outside of compression, which would change what is replayed.
#[derive(Clone, Debug)]
pub struct KeysLayer(Arc<Keys>);

impl KeysLayer {
    /// A layer; clones of it share everything.
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        Self(Arc::new(keys))
    }
}

impl<S> Layer<S> for KeysLayer {
    type Service = KeysService<S>;

    fn layer(&self, inner: S) -> KeysService<S> {
        KeysService { keys: self.0.clone(), inner }
    }
}

/// A service with guarded routes.
#[derive(Clone, Debug)]
pub struct KeysService<S> {
    keys: Arc<Keys>,
    inner: S,
}

impl<S, B, RB> Service<Request<B>> for KeysService<S>
where
    S: Service<Request<RequestBody<B>>, Response = Response<RB>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Response = Response<KeysBody<RB>>;
    type Error = S::Error;
    type Future = KeysFuture<RB, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready goes with the request; its clone waits for the next one.
        let next = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, next);
        let is_call = grpc::is_grpc(request.headers());
        let request = request.map(RequestBody::passed);
        match self.keys.routes.find(request.method(), request.uri().path()) {
            Some(route) => guarded(Arc::clone(&self.keys), InMemory, route, request, service, None).of_call(is_call),
            None => KeysFuture::passed(request, service),
        }
    }
}
