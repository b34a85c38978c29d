//! Sends requests to the upstream.
//!
//! A guarded request is sent once. The client underneath sends one again only if it gets it back from a connection that ended before a
//! byte of it was written: then it is as if it had never been tried. What fails after the first byte is told, and never repeated.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, HOST, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use nevertwice_api::ErrorCode;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};
use tower_service::Service;

use super::body::{AnswerBody, InTime, RequestBody, SentBody};
use super::config::{HostSeen, ProxyConfig, UpstreamHttp};
use super::connector::Connector;
use super::counts::ProxyCounts;
use super::error::ProxyError;
use super::hop_by_hop;
use super::peer::{GENERATION, Peer, testify};
use super::switch::switch;
use super::upstream_url::UpstreamUrl;
use crate::Generation;
use crate::answer::Refusal;
use crate::effect::Effect;

/// The most header lines of an answer of HTTP/1.1.
const ANSWER_HEADERS_MAX: usize = 512;

type UpstreamClient = Client<Connector, SentBody>;

/// Sends requests to the upstream and brings its answers. Cheap to clone.
#[derive(Clone)]
pub(super) struct Forward(Arc<Inner>);

struct Inner {
    client: UpstreamClient,
    /// Speaks HTTP/1.1: only there can a connection change its protocol.
    switching: UpstreamClient,
    upstream: UpstreamUrl,
    host: HostSeen,
    identity: Vec<http::HeaderName>,
    first_byte: Duration,
    whole: Duration,
    /// Connections that may have changed their protocol at one time.
    switches: Arc<Semaphore>,
    counts: Arc<ProxyCounts>,
}

/// Why there is no answer.
enum Failed {
    /// Nothing was sent.
    Unreachable,
    Lost,
    Timeout,
    /// The client did not send its body to the end.
    BodyBroken,
}

impl Forward {
    pub(super) fn new(
        config: &ProxyConfig,
        upstream: &UpstreamUrl,
        identity: Vec<http::HeaderName>,
        counts: Arc<ProxyCounts>,
    ) -> Result<Self, ProxyError> {
        Ok(Self(Arc::new(Inner {
            client: client(config, upstream, config.upstream_http)?,
            switching: client(config, upstream, UpstreamHttp::One)?,
            upstream: upstream.clone(),
            host: config.host,
            identity,
            first_byte: Duration::from_millis(config.first_byte_ms),
            whole: Duration::from_millis(config.whole_ms),
            switches: Arc::new(Semaphore::new(config.connections_max)),
            counts,
        })))
    }
}

fn client(config: &ProxyConfig, upstream: &UpstreamUrl, http: UpstreamHttp) -> Result<UpstreamClient, ProxyError> {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_millis(config.idle_ms))
        .pool_max_idle_per_host(config.idle_connections_max)
        .http2_only(http == UpstreamHttp::Two)
        .http1_max_headers(ANSWER_HEADERS_MAX)
        // Only what comes back unsent is sent again; see the head of this file.
        .retry_canceled_requests(true)
        .set_host(false);
    Ok(builder.build(Connector::new(config, upstream, http)?))
}

impl Service<Request<RequestBody>> for Forward {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { Ok(inner.answer(request).await) })
    }
}

impl Inner {
    async fn answer(&self, request: Request<RequestBody>) -> Response<AnswerBody> {
        let (mut parts, body) = request.into_parts();
        let is_guarded = body.is_gathered();
        let from_client = if is_guarded { None } else { parts.extensions.remove::<OnUpgrade>() };
        let switches_to = from_client.as_ref().and_then(|_| hop_by_hop::upgrade_of(&parts.headers));
        let has_unmeasured_body = !body.is_end_stream() && body.size_hint().exact().is_none();
        // Taken before anything is sent: a change of protocol that the upstream has agreed to can't be refused any more.
        let place = match switches_to.as_ref().map(|_| Arc::clone(&self.switches).try_acquire_owned()).transpose() {
            Ok(place) => place,
            Err(_) => {
                self.counts.refused.add(1);
                let detail = "As many connections as may have changed their protocol. Nothing was done. Send the same request again.";
                return own(Refusal::new(ErrorCode::Overloaded, detail).after(1_000), None);
            }
        };
        let outgoing = match self.outgoing(parts, switches_to.as_ref(), has_unmeasured_body) {
            Ok(outgoing) => outgoing,
            Err(error) => {
                tracing::warn!(%error, "a request can't be put together for the upstream");
                return own(Refusal::new(ErrorCode::HeadMalformed, "The request's target can't be passed on. Nothing was done."), None);
            }
        };
        let client = if switches_to.is_some() { &self.switching } else { &self.client };
        let start = Instant::now();
        let mut response = match self.send(client, outgoing, body, is_guarded, start).await {
            Ok(response) => response,
            Err(failed) => return self.failed(failed, is_guarded),
        };
        let switched = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some(((client, protocol), place)) = from_client.zip(switches_to).zip(place) else {
                return self.failed(Failed::Lost, is_guarded);
            };
            let upstream = hyper::upgrade::on(&mut response);
            self.counts.switched.add(1);
            tokio::spawn(async move {
                switch(client, upstream).await;
                drop(place);
            });
            Some(protocol)
        } else {
            None
        };
        self.incoming(response, is_guarded.then_some(start + self.whole), switched)
    }

    /// The request as the upstream sees it.
    fn outgoing(
        &self,
        parts: Parts,
        switches_to: Option<&HeaderValue>,
        has_unmeasured_body: bool,
    ) -> Result<http::request::Builder, http::Error> {
        let Parts { method, uri, mut headers, extensions, .. } = parts;
        // A target in absolute form, and HTTP/2's, name the host themselves (RFC 9112, section 3.2.2).
        let host = match uri.authority() {
            Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
            None => headers.get(HOST).cloned(),
        };
        hop_by_hop::of_request(&mut headers, &self.identity);
        if let Some(peer) = extensions.get::<Peer>() {
            testify(&mut headers, peer, host.as_ref());
        }
        headers.remove(HOST);
        let seen = match self.host {
            HostSeen::Client => host,
            HostSeen::Upstream => HeaderValue::from_str(self.upstream.authority.as_str()).ok(),
        };
        if let Some(seen) = seen {
            headers.insert(HOST, seen);
        }
        if let Some(Generation(generation)) = extensions.get() {
            headers.insert(GENERATION, HeaderValue::from(*generation));
        }
        if let Some(protocol) = switches_to {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol.clone());
        }
        let uri = self.upstream.uri(uri.into_parts().path_and_query)?;
        if has_unmeasured_body && matches!(method, Method::GET | Method::HEAD) {
            // The client underneath takes such a request to have no body unless it is told. HTTP/2 has no such line, and it goes there.
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let mut outgoing = Request::builder().method(method).uri(uri).version(Version::HTTP_11);
        if let Some(lines) = outgoing.headers_mut() {
            *lines = headers;
        }
        Ok(outgoing)
    }

    async fn send(
        &self,
        client: &UpstreamClient,
        outgoing: http::request::Builder,
        body: RequestBody,
        is_guarded: bool,
        start: Instant,
    ) -> Result<Response<Incoming>, Failed> {
        let (body, was_sent) = SentBody::new(body);
        let request = outgoing.body(body).map_err(|_| Failed::Unreachable)?;
        let answering = client.request(request);
        let answered = if is_guarded {
            timeout_at(start + self.first_byte, answering).await.map_err(|_| Failed::Timeout)
        } else {
            // How long the client takes to send its body is its business.
            let late = async {
                let _ = was_sent.await;
                sleep(self.first_byte).await;
            };
            tokio::select! {
                answered = answering => Ok(answered),
                () = late => Err(Failed::Timeout),
            }
        };
        answered?.map_err(|error| self.why(&error, is_guarded))
    }

    fn why(&self, error: &ClientError, is_guarded: bool) -> Failed {
        let source = std::error::Error::source(error);
        // The body is what hyper was given.
        let is_of_body = source.and_then(|source| source.downcast_ref::<hyper::Error>()).is_some_and(hyper::Error::is_user);
        if is_of_body && !is_guarded {
            return Failed::BodyBroken;
        }
        let failed = if error.is_connect() { Failed::Unreachable } else { Failed::Lost };
        let cause = source.map(ToString::to_string).unwrap_or_default();
        tracing::warn!(upstream = %self.upstream, %error, cause, "the upstream gave no answer");
        failed
    }

    fn failed(&self, failed: Failed, is_guarded: bool) -> Response<AnswerBody> {
        let what_next = if is_guarded {
            "Send the same request with the same key: it tells what is known."
        } else {
            "Find out before it is sent again."
        };
        match failed {
            Failed::Unreachable => {
                self.counts.unreachable.add(1);
                let detail =
                    "The service behind this proxy can't be reached. Nothing was sent to it, and nothing was done. Send the request again.";
                own(Refusal::new(ErrorCode::UpstreamUnreachable, detail).after(1_000), Some(Effect::Nothing))
            }
            Failed::BodyBroken => {
                let detail = "The body could not be read to its end. What was read of it was sent to the service behind this proxy.";
                own(Refusal::new(ErrorCode::BodyMalformed, detail), None)
            }
            Failed::Lost => {
                self.counts.lost.add(1);
                let detail = format!(
                    "The service behind this proxy was sent the request, and the connection ended before its answer. What became of the request is not known. {what_next}"
                );
                own(Refusal::new(ErrorCode::UpstreamLost, detail), Some(Effect::Unknown))
            }
            Failed::Timeout => {
                self.counts.timeouts.add(1);
                let detail =
                    format!("The service behind this proxy did not answer in time. What became of the request is not known. {what_next}");
                own(Refusal::new(ErrorCode::UpstreamTimeout, detail), Some(Effect::Unknown))
            }
        }
    }

    /// The answer as the client sees it.
    fn incoming(&self, response: Response<Incoming>, until: Option<Instant>, switched: Option<HeaderValue>) -> Response<AnswerBody> {
        let (mut head, body) = response.into_parts();
        let protocol = head.headers.get(UPGRADE).cloned().or(switched.clone());
        hop_by_hop::of_answer(&mut head.headers);
        if let (Some(_), Some(protocol)) = (switched, protocol) {
            head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            head.headers.insert(UPGRADE, protocol);
        }
        head.version = Version::HTTP_11;
        head.extensions = http::Extensions::new();
        Response::from_parts(head, AnswerBody::Upstream(InTime::new(body, until)))
    }
}

/// An answer of the proxy itself, and what it means for a key.
fn own(refusal: Refusal, effect: Option<Effect>) -> Response<AnswerBody> {
    let mut response = refusal.response().map(AnswerBody::Own);
    if let Some(effect) = effect {
        response.extensions_mut().insert(effect);
    }
    response
}
