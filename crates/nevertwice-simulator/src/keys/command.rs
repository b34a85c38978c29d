//! What is asked of the store, what it says, and how one becomes the other.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use nevertwice_api::{AnswerBytes, KeyReply, KeyStore, KeyStoreFailure, Levels, Registered, Swept};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, KeyRejection, Lease, RegisterKey, ReleaseKey, RenewLease};

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Register(RegisterKey),
    Complete(CompleteKey, AnswerBytes),
    Renew(RenewLease),
    Release(ReleaseKey),
    Inspect,
    Sweep(usize),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(RegisterKey { owner, lease_ms, lapse, .. }) => {
                write!(f, "register by {owner:?} for {lease_ms} ms, at a lapse {}", lapse.word())
            }
            Self::Complete(CompleteKey { owner, generation, answer }, _) => {
                write!(f, "complete by {owner:?} in {generation}, {} bytes, {}", answer.body_bytes, answer.body.word())
            }
            Self::Renew(RenewLease { owner, generation, lease_ms }) => write!(f, "renew by {owner:?} in {generation} for {lease_ms} ms"),
            Self::Release(ReleaseKey { owner, generation }) => write!(f, "release by {owner:?} in {generation}"),
            Self::Inspect => f.write_str("inspect"),
            Self::Sweep(records_max) => write!(f, "sweep {records_max}"),
        }
    }
}

/// What the store says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Registered(Result<Registered, KeyRejection>),
    Completed(Result<Completion, KeyRejection>),
    Renewed(Result<Lease, KeyRejection>),
    Released(Result<(), KeyRejection>),
    Inspected(Option<KeyRecord>),
    Swept(Swept),
}

/// What the store says, at which instant, and how safe that is. Of what has no instant and no level: none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) said: Said,
    pub(crate) at: Option<(i64, Levels)>,
}

pub(crate) type Hearing = Pin<Box<dyn Future<Output = Result<Heard, KeyStoreFailure>> + Send>>;

/// The id of a key.
pub(crate) fn id(key: u64) -> KeyId {
    let mut bytes = [0x5a; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    KeyId(bytes)
}

impl Command {
    /// Asks the store.
    pub(crate) fn ask(&self, store: &dyn KeyStore, key: u64) -> Hearing {
        let id = id(key);
        match self.clone() {
            Command::Register(command) => heard(store.register(id, command, Levels::NONE), Said::Registered),
            Command::Complete(command, bytes) => heard(store.complete(id, command, bytes, Levels::NONE), Said::Completed),
            Command::Renew(command) => heard(store.renew(id, command), Said::Renewed),
            Command::Release(command) => heard(store.release(id, command, Levels::NONE), Said::Released),
            Command::Inspect => {
                let asked = store.inspect(id);
                Box::pin(async move { Ok(Heard { said: Said::Inspected(asked.await?), at: None }) })
            }
            Command::Sweep(records_max) => {
                let asked = store.sweep(records_max);
                Box::pin(async move { Ok(Heard { said: Said::Swept(asked.await?), at: None }) })
            }
        }
    }
}

fn heard<T: Send + 'static>(
    asked: impl Future<Output = Result<KeyReply<T>, KeyStoreFailure>> + Send + 'static,
    said: fn(Result<T, KeyRejection>) -> Said,
) -> Hearing {
    Box::pin(async move {
        let KeyReply { reply, at_ms, levels } = asked.await?;
        Ok(Heard { said: said(reply), at: Some((at_ms, levels)) })
    })
}

/// What has come of a question by now.
pub(crate) fn look(hearing: &mut Hearing) -> Option<Result<Heard, KeyStoreFailure>> {
    match hearing.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(heard) => Some(heard),
        Poll::Pending => None,
    }
}
