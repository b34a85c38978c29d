//! Reads the body of a guarded request whole, before anything is claimed.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use nevertwice_api::ErrorCode;

use crate::Policy;
use crate::answer::Refusal;
use crate::joined::Joined;
use crate::timers::Timers;

/// How bodies of guarded requests are read and kept until the handler takes them.
pub(crate) trait Gather<B>: Clone + Send + Sync + 'static {
    /// A body that was read whole.
    type Whole: Send + 'static;

    /// Reads a body to its end. Within which time is the caller's business.
    fn gather(&self, policy: &Policy, body: B) -> impl Future<Output = Result<Self::Whole, Refusal>> + Send;

    /// Digests the bytes of a body.
    fn digest<D>(&self, whole: Self::Whole, digest: D) -> impl Future<Output = Result<(Self::Whole, [u8; 32]), Refusal>> + Send
    where
        D: FnOnce(&[u8]) -> [u8; 32] + Send + 'static;
}

/// In memory, whatever their size up to the policy's bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InMemory;

impl<B> Gather<B> for InMemory
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Whole = Bytes;

    async fn gather(&self, policy: &Policy, body: B) -> Result<Bytes, Refusal> {
        let (mut body, mut joined) = (pin!(body), Joined::default());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| malformed())?.into_data() else { continue };
            if data.len() > policy.request_bytes_max.saturating_sub(joined.len()) {
                return Err(too_large(policy));
            }
            joined.push(data);
        }
        Ok(joined.whole())
    }

    async fn digest<D>(&self, whole: Bytes, digest: D) -> Result<(Bytes, [u8; 32]), Refusal>
    where
        D: FnOnce(&[u8]) -> [u8; 32] + Send + 'static,
    {
        let told = digest(&whole);
        Ok((whole, told))
    }
}

/// Reads a body within the route's time.
pub(crate) async fn gather_in_time<B, G: Gather<B>>(timers: &Timers, gather: &G, policy: &Policy, body: B) -> Result<G::Whole, Refusal> {
    let in_time = timers.within(Duration::from_millis(policy.request_ms_max), pin!(gather.gather(policy, body))).await;
    in_time.unwrap_or_else(|| {
        Err(Refusal::new(ErrorCode::RequestTimeout, "The body did not arrive in time. Nothing was done. Send it again.").after(1_000))
    })
}

pub(crate) fn too_large(policy: &Policy) -> Refusal {
    let detail = format!("The body is larger than {} bytes. Nothing was done.", policy.request_bytes_max);
    Refusal::new(ErrorCode::BodyTooLarge, detail)
}

pub(crate) fn malformed() -> Refusal {
    Refusal::new(ErrorCode::BodyMalformed, "The body could not be read to its end. Nothing was done.")
}
