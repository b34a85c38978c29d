//! What callers put before the writer, and what they get back.

use nevertwice_api::{AnswerBytes, KeyReply, KeyStoreFailure, Levels, PrincipalMark, Registered, Swept};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use tokio::sync::oneshot;

use super::reader::{Replay, Shelf};

/// Where one answer goes. Its receiver may be gone: who hangs up loses the answer and nothing else.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, KeyStoreFailure>>;

/// One thing to do.
pub(crate) enum Item {
    Register(PrincipalMark, KeyId, RegisterKey, Levels, Reply<KeyReply<Registered>>),
    Complete(KeyId, CompleteKey, AnswerBytes, Levels, Reply<KeyReply<Completion>>),
    Renew(KeyId, RenewLease, Reply<KeyReply<Lease>>),
    Release(KeyId, ReleaseKey, Levels, Reply<KeyReply<()>>),
    Inspect(KeyId, Reply<Option<KeyRecord>>),
    Sweep(usize, Reply<Swept>),
    /// Answer all before this, then end.
    Stop,
}

impl Item {
    /// Says why it was not done.
    pub(crate) fn fail(self, failure: KeyStoreFailure) {
        match self {
            Item::Register(_, _, _, _, reply) => drop(reply.send(Err(failure))),
            Item::Complete(_, _, _, _, reply) => drop(reply.send(Err(failure))),
            Item::Renew(_, _, reply) => drop(reply.send(Err(failure))),
            Item::Release(_, _, _, reply) => drop(reply.send(Err(failure))),
            Item::Inspect(_, reply) => drop(reply.send(Err(failure))),
            Item::Sweep(_, reply) => drop(reply.send(Err(failure))),
            Item::Stop => {}
        }
    }
}

/// An answer that is decided, and where it goes.
pub(crate) enum Told {
    Register(Reply<KeyReply<Registered>>, KeyReply<Registered>),
    /// Its bytes are still to be read.
    Replay(Replay),
    Complete(Reply<KeyReply<Completion>>, KeyReply<Completion>),
    Renew(Reply<KeyReply<Lease>>, KeyReply<Lease>),
    Release(Reply<KeyReply<()>>, KeyReply<()>),
    Inspect(Reply<Option<KeyRecord>>, Option<KeyRecord>),
    Sweep(Reply<Swept>, Swept),
}

impl Told {
    /// Sends it: what it rests on is as safe as it has to be.
    pub(crate) fn send(self, shelf: &Shelf) {
        match self {
            Told::Register(reply, told) => drop(reply.send(Ok(told))),
            Told::Replay(replay) => shelf.read(replay),
            Told::Complete(reply, told) => drop(reply.send(Ok(told))),
            Told::Renew(reply, told) => drop(reply.send(Ok(told))),
            Told::Release(reply, told) => drop(reply.send(Ok(told))),
            Told::Inspect(reply, told) => drop(reply.send(Ok(told))),
            Told::Sweep(reply, told) => drop(reply.send(Ok(told))),
        }
    }

    /// Sends why there is no answer.
    pub(crate) fn fail(self, failure: KeyStoreFailure) {
        match self {
            Told::Register(reply, _) => drop(reply.send(Err(failure))),
            Told::Replay(replay) => replay.fail(failure),
            Told::Complete(reply, _) => drop(reply.send(Err(failure))),
            Told::Renew(reply, _) => drop(reply.send(Err(failure))),
            Told::Release(reply, _) => drop(reply.send(Err(failure))),
            Told::Inspect(reply, _) => drop(reply.send(Err(failure))),
            Told::Sweep(reply, _) => drop(reply.send(Err(failure))),
        }
    }
}

/// An answer that waits until the group is safe.
pub(crate) struct Waiting {
    /// The key whose record it rests on; none if it rests on none.
    pub(crate) rests_on: Option<KeyId>,
    pub(crate) told: Told,
}
