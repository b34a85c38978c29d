//! While the secret is changed: each key has two names, one under the previous secret and one under the present one.
//!
//! What is claimed is claimed under both, the previous name first, and what is answered, renewed or given back is so under both. So
//! after one retention everything that is still remembered is known under the present secret, and the previous one can go. A claim of
//! the time before has one name alone; whoever works on it gets it the other as soon as he says anything.
//!
//! One process uses a store at a time, so nobody claims the present name without having looked at the previous one.

use nevertwice_api::{AnswerBytes, KeyReply, Levels, Registered};
use nevertwice_core::keys::{
    CompleteKey, Completion, KeyId, KeyRecord, KeyState, LapsePolicy, Lease, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease,
};

use super::store::{KeyRecords, Named};
use crate::convert;
use crate::refusal::Refusal;

/// One key under both of its names.
pub(super) struct BothNames<'a> {
    pub(super) keys: &'a KeyRecords,
    pub(super) previous: Named,
    pub(super) present: Named,
}

/// One name under which an attempt has a key.
#[derive(Clone, Copy)]
struct Under {
    id: KeyId,
    generation: u64,
}

/// All names under which it has it, the previous one first.
struct Held {
    first: Under,
    second: Option<Under>,
}

impl BothNames<'_> {
    pub(super) async fn register(&self, command: RegisterKey, levels: Levels) -> Result<KeyReply<Registered>, Refusal> {
        let (owner, lapse) = (command.owner, command.lapse);
        let first = self.keys.register_named(self.previous, command.clone(), levels).await?;
        let Some(before) = claim_of(&first) else { return Ok(first) };
        let second = self.keys.register_named(self.present, command, levels).await;
        let after = second.as_ref().ok().and_then(claim_of);
        let Some(after) = after else {
            self.give_back(&before, owner, lapse).await;
            return second;
        };
        let mut told = second?;
        let lease = lease_of(&after);
        let registration = match (&before, &after) {
            (Registration::TakenOver(_), _) | (_, Registration::TakenOver(_)) => Registration::TakenOver(lease),
            (Registration::Resumed(_), _) | (_, Registration::Resumed(_)) => Registration::Resumed(lease),
            _ => Registration::Fresh(lease),
        };
        told.reply = Ok(Registered { registration, bytes: AnswerBytes::default() });
        Ok(told)
    }

    pub(super) async fn complete(&self, command: CompleteKey, bytes: AnswerBytes, levels: Levels) -> Result<KeyReply<Completion>, Refusal> {
        let (owner, answer) = (command.owner, command.answer.clone());
        let held = match self.held(owner, command.generation).await? {
            Ok(held) => held,
            Err(named) => return self.keys.complete_named(named.id, command, bytes, levels).await,
        };
        let of = |under: Under| CompleteKey { owner, generation: under.generation, answer: answer.clone() };
        // The previous name comes first, as it was claimed first: who looks meanwhile finds the answer there.
        let first = self.keys.complete_named(held.first.id, of(held.first), bytes.clone(), levels).await?;
        let Some(second) = held.second.filter(|_| first.reply.is_ok()) else { return Ok(first) };
        self.keys.complete_named(second.id, of(second), bytes, levels).await
    }

    pub(super) async fn renew(&self, command: RenewLease) -> Result<KeyReply<Lease>, Refusal> {
        let held = match self.held(command.owner, command.generation).await? {
            Ok(held) => held,
            Err(named) => return self.keys.renew_named(named.id, command).await,
        };
        let of = |under: Under| RenewLease { generation: under.generation, ..command.clone() };
        let first = self.keys.renew_named(held.first.id, of(held.first)).await?;
        let Some(second) = held.second.filter(|_| first.reply.is_ok()) else { return Ok(first) };
        self.keys.renew_named(second.id, of(second)).await
    }

    pub(super) async fn release(&self, command: ReleaseKey, levels: Levels) -> Result<KeyReply<()>, Refusal> {
        let held = match self.held(command.owner, command.generation).await? {
            Ok(held) => held,
            Err(named) => return self.keys.release_named(named.id, command, levels).await,
        };
        let of = |under: Under| ReleaseKey { generation: under.generation, ..command.clone() };
        // The other way round: who comes next looks at the previous name first, and it is free once both are.
        if let Some(second) = held.second {
            let told = self.keys.release_named(second.id, of(second), levels).await?;
            if told.reply.is_err() {
                return Ok(told);
            }
        }
        self.keys.release_named(held.first.id, of(held.first), levels).await
    }

    pub(super) async fn inspect(&self) -> Result<Option<KeyRecord>, Refusal> {
        match self.keys.inspect_named(self.present.id).await? {
            Some(record) => Ok(Some(record)),
            None => self.keys.inspect_named(self.previous.id).await,
        }
    }

    /// Under which names the attempt has the key, if it names the generation of one of them; else the name under which it is to hear
    /// its no.
    async fn held(&self, owner: OwnerId, generation: u64) -> Result<Result<Held, Named>, Refusal> {
        let previous = self.keys.inspect_named(self.previous.id).await?;
        let present = self.keys.inspect_named(self.present.id).await?;
        let of = |named: Named, record: &Option<KeyRecord>| {
            let record = record.as_ref().filter(|record| *convert::owner_of(record) == owner)?;
            Some(Under { id: named.id, generation: record.generation })
        };
        let (before, mut after) = (of(self.previous, &previous), of(self.present, &present));
        let is_named = |under: Option<Under>| under.is_some_and(|under| under.generation == generation);
        if !is_named(before) && !is_named(after) {
            return Ok(Err(if present.is_none() && previous.is_some() { self.previous } else { self.present }));
        }
        if let (None, Some(record)) = (&present, &previous) {
            after = self.claim_present(record, owner).await?;
        }
        Ok(match (before, after) {
            (Some(first), second) => Ok(Held { first, second }),
            (None, Some(first)) => Ok(Held { first, second: None }),
            (None, None) => Err(self.present),
        })
    }

    /// Gives a claim of the time before its present name.
    async fn claim_present(&self, record: &KeyRecord, owner: OwnerId) -> Result<Option<Under>, Refusal> {
        let KeyState::InProgress(claim) = &record.state else { return Ok(None) };
        let command = RegisterKey {
            fingerprint: claim.fingerprint,
            owner,
            lease_ms: claim.lease_expires_at.saturating_sub(record.changed_at).clamp(0, record.retention_ms.saturating_sub(1)),
            retention_ms: record.retention_ms,
            expires_at: None,
            lapse: LapsePolicy::Refuse,
        };
        let told = self.keys.register_named(self.present, command, Levels::NONE).await?;
        Ok(claim_of(&told).map(|claim| Under { id: self.present.id, generation: lease_of(&claim).generation }))
    }

    /// Leaves the previous name as it was found: of what somebody else had before, nobody knows yet what became.
    async fn give_back(&self, before: &Registration, owner: OwnerId, lapse: LapsePolicy) {
        let generation = lease_of(before).generation;
        let may_be_anothers = match before {
            Registration::TakenOver(_) => true,
            Registration::Resumed(_) => lapse != LapsePolicy::Refuse,
            Registration::Fresh(_) | Registration::Replay { .. } => false,
        };
        // A refusal here leaves a claim that ends by itself.
        if may_be_anothers {
            let _ended = self.keys.renew_named(self.previous.id, RenewLease { owner, generation, lease_ms: 0 }).await;
        } else {
            let _freed = self.keys.release_named(self.previous.id, ReleaseKey { owner, generation }, Levels::NONE).await;
        }
    }
}

fn claim_of(told: &KeyReply<Registered>) -> Option<Registration> {
    let registered = told.reply.as_ref().ok()?;
    (!matches!(registered.registration, Registration::Replay { .. })).then(|| registered.registration.clone())
}

const fn lease_of(registration: &Registration) -> Lease {
    match registration {
        Registration::Fresh(lease) | Registration::TakenOver(lease) | Registration::Resumed(lease) => *lease,
        Registration::Replay { generation, .. } => Lease { generation: *generation, expires_at: 0 },
    }
}
