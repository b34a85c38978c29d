//! What answers the requests of one connection.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderName, Method, Request, Response, Version};
use hyper::body::Incoming;
use nevertwice_api::ErrorCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::body::{AnswerBody, Holding, RequestBody};
use super::counts::ProxyCounts;
use super::forward::Forward;
use super::gathered::Gatherer;
use super::peer::{Peer, take_off_forged};
use crate::Keys;
use crate::answer::Refusal;
use crate::body::KeysBody;
use crate::guard::{Held, guarded, passed};

pub(super) type Answer = Response<Holding<KeysBody<AnswerBody>, Option<Arc<UnderWay>>>>;

/// What a request holds while it is worked on, whether or not its client is still there.
pub(super) struct UnderWay {
    _place: OwnedSemaphorePermit,
    /// Nothing is ever sent: the receiver ends when all who hold this are done.
    _work: mpsc::Sender<Infallible>,
}

/// What the requests of all connections share.
pub(super) struct Shared {
    pub(super) keys: Arc<Keys>,
    pub(super) gatherer: Gatherer,
    pub(super) forward: Forward,
    pub(super) identity: Vec<HeaderName>,
    pub(super) head_bytes_max: usize,
    pub(super) headers_max: usize,
    pub(super) places: Arc<Semaphore>,
    pub(super) work: mpsc::Sender<Infallible>,
    pub(super) counts: Arc<ProxyCounts>,
}

/// Answers the requests of one connection.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) shared: Arc<Shared>,
    pub(super) peer: Peer,
}

impl hyper::service::Service<Request<Incoming>> for Connected {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let Self { shared, peer } = self.clone();
        Box::pin(async move { Ok(shared.answer(request, peer).await) })
    }
}

impl Shared {
    async fn answer(&self, mut request: Request<Incoming>, peer: Peer) -> Answer {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.counts.refused.add(1);
            let detail = "As many requests as may are worked on. Nothing was done. Send the same request again.";
            return held(Refusal::new(ErrorCode::Overloaded, detail).after(1_000).render(), None);
        };
        let under_way = Arc::new(UnderWay { _place: place, _work: self.work.clone() });
        if let Err(refusal) = self.check_head(&request) {
            return held(refusal.render(), Some(under_way));
        }
        take_off_forged(request.headers_mut(), &peer, &self.identity);
        request.extensions_mut().insert(peer);
        let request = request.map(RequestBody::Passed);
        let Ok(answer) = match self.keys.routes.find(request.method(), request.uri().path()) {
            Some(route) => {
                let held: Held = Some(under_way.clone());
                guarded(Arc::clone(&self.keys), self.gatherer.clone(), route, request, self.forward.clone(), held).await
            }
            None => {
                self.counts.passed.add(1);
                passed(request, self.forward.clone()).await
            }
        };
        held(answer, Some(under_way))
    }

    fn check_head(&self, request: &Request<Incoming>) -> Result<(), Refusal> {
        if request.method() == Method::CONNECT {
            let detail = "This proxy opens no tunnels. Nothing was done.";
            return Err(Refusal::new(ErrorCode::MethodNotAllowed, detail));
        }
        let headers = request.headers();
        let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
        let bytes = headers.iter().fold(target, |sum, (name, value)| sum.saturating_add(name.as_str().len() + value.len()));
        if bytes > self.head_bytes_max || headers.len() > self.headers_max {
            let detail = format!(
                "The request's head has more than {} bytes or {} header lines. Nothing was done.",
                self.head_bytes_max, self.headers_max
            );
            return Err(Refusal::new(ErrorCode::HeadersTooLarge, detail));
        }
        let hosts = headers.get_all(HOST).iter().count();
        let has_host = hosts == 1 || request.uri().authority().is_some() || request.version() == Version::HTTP_10;
        if hosts > 1 || !has_host {
            let detail = "A request has one Host header. Nothing was done.";
            return Err(Refusal::new(ErrorCode::HeadMalformed, detail));
        }
        if headers.get(HOST).is_some_and(|host| !is_host(host.as_bytes())) {
            let detail = "The Host header is no host: a name or an address, and a port where it is not the usual one. Nothing was done.";
            return Err(Refusal::new(ErrorCode::HeadMalformed, detail));
        }
        Ok(())
    }
}

/// Whether it is a host with or without a port, or empty (RFC 9110, section 7.2). A list or a sentence would mean one host here and
/// another behind.
fn is_host(text: &[u8]) -> bool {
    let is_authority = || Authority::try_from(text).is_ok_and(|host| !host.as_str().contains(['@', ',']));
    text.is_empty() || is_authority()
}

fn held(answer: Response<KeysBody<AnswerBody>>, held: Option<Arc<UnderWay>>) -> Answer {
    answer.map(|body| Holding { body, _held: held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_name_or_address() {
        for host in ["", "shop", "shop.example:8080", "127.0.0.1", "[::1]:9000"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in ["a b/c", "h,evil", "user@shop", "shop/path", "a b", "sh\u{f6}p"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
