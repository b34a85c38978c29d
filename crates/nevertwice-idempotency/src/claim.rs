//! The claims of one attempt: on one name of a key, or on two while the secret changes.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{AnswerBytes, HeldKey, KeyReply, KeyStoreFailure, PrincipalMark, Registered};
use nevertwice_core::keys::{
    CompleteKey, KeyAnswer, KeyId, KeyRejection, LapsePolicy, Lease, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};
use tokio::time::sleep;

use crate::heartbeat::Heartbeats;
use crate::routes::Route;
use crate::{Keys, Policy};

/// How often a claim whose reply was lost is asked for again.
const REGISTER_TRIES: u32 = 3;

/// How often an answer is brought to the store before it is given up; its key then lapses.
const COMPLETE_TRIES: u32 = 5;

/// The pause after the first failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What an attempt holds.
pub(crate) struct Claims {
    keys: Arc<Keys>,
    route: Arc<Route>,
    owner: OwnerId,
    /// Against whose bound new records count.
    principal: PrincipalMark,
    held: Vec<Held>,
}

/// One name that is held.
#[derive(Clone, Copy)]
struct Held {
    id: KeyId,
    generation: u64,
    /// Somebody had it whose lease had ended, or may have had.
    taken_over: bool,
}

/// What the claims came to.
pub(crate) enum Claimed {
    /// The attempt may run. `taken_over`: after somebody whose lease had ended.
    Runs { claims: Claims, taken_over: bool },
    /// There is an answer.
    Replay(KeyAnswer, AnswerBytes),
    /// The core refused, at that instant.
    Refused(KeyRejection, i64),
}

/// What a change of the claims came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Done,
    /// Another owns the key, or it was forgotten.
    Stale,
    /// The store can't be used.
    Failed,
    /// The store does not take the bytes.
    BytesRefused,
}

impl Claims {
    /// Claims every name in turn, and gives back what it has if a later one is known.
    pub(crate) async fn claim(
        keys: &Arc<Keys>,
        route: &Arc<Route>,
        principal: PrincipalMark,
        ids: &[KeyId],
        command: &RegisterKey,
    ) -> Result<Claimed, KeyStoreFailure> {
        let (keys, route) = (Arc::clone(keys), Arc::clone(route));
        let mut claims = Self { keys, route, owner: command.owner, principal, held: Vec::with_capacity(ids.len()) };
        for id in ids {
            let told = match claims.register(*id, command).await {
                Ok(told) => told,
                Err(failure) => {
                    Box::pin(claims.give_back()).await;
                    return Err(failure);
                }
            };
            let known = match told.reply {
                Ok(registered) => match registered.registration {
                    Registration::Fresh(Lease { generation, .. }) => {
                        claims.held.push(Held { id: *id, generation, taken_over: false });
                        continue;
                    }
                    // The reply that was lost may have told of somebody else before.
                    Registration::Resumed(Lease { generation, .. }) => {
                        claims.held.push(Held { id: *id, generation, taken_over: command.lapse != LapsePolicy::Refuse });
                        continue;
                    }
                    Registration::TakenOver(Lease { generation, .. }) => {
                        claims.held.push(Held { id: *id, generation, taken_over: true });
                        continue;
                    }
                    Registration::Replay { answer, .. } => Claimed::Replay(answer, registered.bytes),
                },
                Err(rejection) => Claimed::Refused(rejection, told.at_ms),
            };
            if !claims.held.is_empty() {
                Box::pin(claims.give_back()).await;
            }
            return Ok(known);
        }
        let taken_over = claims.held.iter().any(|held| held.taken_over);
        Ok(Claimed::Runs { claims, taken_over })
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.route.policy
    }

    pub(crate) fn heartbeats(&self) -> &Arc<Heartbeats> {
        &self.keys.heartbeats
    }

    /// The generation that a handler may pass on.
    pub(crate) fn generation(&self) -> u64 {
        self.held.last().map_or(0, |held| held.generation)
    }

    /// What a handler names that keeps its answer itself.
    pub(crate) fn held_keys(&self) -> Arc<[HeldKey]> {
        self.held.iter().map(|held| HeldKey { id: held.id, owner: self.owner, generation: held.generation }).collect()
    }

    async fn register(&self, id: KeyId, command: &RegisterKey) -> Result<KeyReply<Registered>, KeyStoreFailure> {
        let mut tries = 1;
        loop {
            let levels = self.route.policy.levels;
            match self.keys.ask("register", || self.keys.store.register_for(self.principal, id, command.clone(), levels)).await {
                // It may be ours already: the same owner is told so.
                Err(KeyStoreFailure::OutcomeUnknown) if tries < REGISTER_TRIES => tries += 1,
                told => return told,
            }
        }
    }

    /// Answers. The previous name comes first, as it was claimed first: whoever looks meanwhile finds the answer there.
    pub(crate) async fn complete(&self, answer: &KeyAnswer, bytes: &AnswerBytes) -> Changed {
        let mut changed = Changed::Done;
        for Held { id, generation, .. } in self.held.iter().copied() {
            let command = CompleteKey { owner: self.owner, generation, answer: answer.clone() };
            changed = worse(changed, self.complete_one(id, &command, bytes).await);
        }
        changed
    }

    async fn complete_one(&self, id: KeyId, command: &CompleteKey, bytes: &AnswerBytes) -> Changed {
        let mut pause = FIRST_PAUSE;
        for _ in 0..COMPLETE_TRIES {
            match self.keys.ask("complete", || self.keys.store.complete(id, command.clone(), bytes.clone(), self.route.policy.levels)).await
            {
                Ok(told) => return if told.reply.is_ok() { Changed::Done } else { Changed::Stale },
                Err(KeyStoreFailure::Full | KeyStoreFailure::PrincipalFull | KeyStoreFailure::BytesRefused) => {
                    return Changed::BytesRefused;
                }
                Err(_) => sleep(pause).await,
            }
            pause *= 2;
        }
        Changed::Failed
    }

    /// Moves the end of the leases to where a claim's is, and tells whoever listens if another has taken over.
    pub(crate) async fn renew_lease(&self) -> Changed {
        let changed = self.renew(self.route.policy.lease_ms).await;
        if changed == Changed::Stale {
            self.keys.observer.stale_owner_refused(&self.route.pattern);
        }
        changed
    }

    /// Moves the end of the leases; to now with 0.
    pub(crate) async fn renew(&self, lease_ms: i64) -> Changed {
        let mut changed = Changed::Done;
        for held in self.held.iter().copied() {
            changed = worse(changed, self.renew_one(held, lease_ms).await);
        }
        changed
    }

    /// Gives the key back.
    pub(crate) async fn release(&self) -> Changed {
        let mut changed = Changed::Done;
        for held in self.held.iter().copied() {
            changed = worse(changed, self.release_one(held).await);
        }
        changed
    }

    /// Leaves the names as they were found: of what somebody else had before, nobody knows yet what became.
    async fn give_back(&self) {
        for held in self.held.iter().copied() {
            if held.taken_over {
                self.renew_one(held, 0).await;
            } else {
                self.release_one(held).await;
            }
        }
    }

    async fn renew_one(&self, Held { id, generation, .. }: Held, lease_ms: i64) -> Changed {
        let command = RenewLease { owner: self.owner, generation, lease_ms };
        changed(self.keys.ask("renew", || self.keys.store.renew(id, command)).await)
    }

    async fn release_one(&self, Held { id, generation, .. }: Held) -> Changed {
        let command = ReleaseKey { owner: self.owner, generation };
        changed(self.keys.ask("release", || self.keys.store.release(id, command, self.route.policy.levels)).await)
    }
}

fn changed<R>(told: Result<KeyReply<R>, KeyStoreFailure>) -> Changed {
    match told {
        Ok(told) if told.reply.is_ok() => Changed::Done,
        Ok(_) => Changed::Stale,
        Err(_) => Changed::Failed,
    }
}

fn worse(before: Changed, now: Changed) -> Changed {
    if now == Changed::Done { before } else { now }
}
