//! The tower layer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use nevertwice_api::ErrorCode;
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::Refusal;
use crate::body::KeysBody;
use crate::guard::{Answered, answer, key_of, read};
use crate::policy::Route;
use crate::{Keys, Outcome};

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
    S: Service<Request<B>, Response = Response<RB>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Send,
{
    type Response = Response<KeysBody<RB>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Answered<RB, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready goes with the request; its clone waits for the next one.
        let next = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, next);
        let keys = self.keys.clone();
        Box::pin(async move {
            match keys.routes.find(request.method(), request.uri().path()) {
                Some(route) => guarded(&keys, route, request, service).await,
                None => passed(request, service).await,
            }
        })
    }
}

async fn passed<S, B, RB>(request: Request<B>, mut service: S) -> Answered<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>>,
{
    service.call(request).await.map(|response| response.map(KeysBody::passed))
}

async fn guarded<S, B, RB>(keys: &Keys, route: Arc<Route>, request: Request<B>, service: S) -> Answered<RB, S::Error>
where
    S: Service<Request<B>, Response = Response<RB>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    RB: Body<Data = Bytes> + Send + 'static,
    RB::Error: Send,
{
    let ended = |outcome| keys.observer.ended(&route.pattern, outcome);
    let (parts, body) = request.into_parts();
    let key = match key_of(&parts) {
        Ok(Some(key)) => key,
        Ok(None) if !route.policy.required => {
            ended(Outcome::WithoutKey);
            return passed(Request::from_parts(parts, body), service).await;
        }
        Ok(None) => {
            ended(Outcome::WithoutKey);
            let detail =
                "The Idempotency-Key header is missing. Nothing was done. Draw a key for each intent, and send it with every retry.";
            return Ok(Refusal::new(ErrorCode::IdempotencyKeyMissing, detail).with_status(route.policy.missing_status).render());
        }
        Err(refusal) => {
            ended(Outcome::Refused);
            return Ok(refusal.render());
        }
    };
    let (meant, body) = match read(keys, &route, &key, &parts, body).await {
        Ok(read) => read,
        Err(refusal) => {
            ended(Outcome::Refused);
            return Ok(refusal.render());
        }
    };
    // Detached from the connection: from the claim on, a client that hangs up changes nothing.
    let detached = tokio::spawn(answer(keys.clone(), route.clone(), meant, parts, body, service));
    match detached.await {
        Ok(answered) => answered,
        Err(_) => Ok(crate::guard::unknown(&route.policy).render()),
    }
}
