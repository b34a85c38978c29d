//! The store between a contender and the core: it keeps what the core decides. Every change is judged.

use nevertwice_core::keys::*;

use super::steps::{Keys, LEASE_MS};
use super::world::{Fault, Kept, World};

/// A bug of a store, planted to see that the checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// Who completes, renews or gives back is taken for the owner.
    OwnerNotCompared,
    /// A record ends with its lease, as a lock with a time to live does.
    LeaseEndForgets,
    /// A key that is given back is deleted.
    ReleaseForgets,
}

pub(super) fn owner(number: usize) -> OwnerId {
    OwnerId([u8::try_from(number + 1).expect("contenders are few"); 32])
}

fn answer(number: usize) -> KeyAnswer {
    let status = 200 + u32::try_from(number).expect("contenders are few");
    KeyAnswer { status, head_bytes: 0, head_digest: [0; 32], body_bytes: 0, body_digest: [0; 32], body: BodyKept::Whole }
}

impl Keys {
    fn is(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// The record, as the store shows it to a registration.
    fn shown<'a>(&self, world: &'a World) -> Option<&'a KeyRecord> {
        world.record().filter(|record| !(self.is(Bug::LeaseEndForgets) && record.is_lapsed(world.at_ms)))
    }

    pub(super) fn register(&self, world: &World, number: usize) -> KeyDecision<Registration> {
        let command = RegisterKey {
            fingerprint: [9; 32],
            owner: owner(number),
            lease_ms: LEASE_MS,
            retention_ms: self.retention_ms,
            expires_at: None,
            lapse: self.lapse,
        };
        command.decide(self.shown(world), world.at_ms)
    }

    /// The name under which a contender comes back to its claim.
    fn named(&self, world: &World, number: usize, generation: u64) -> (OwnerId, u64) {
        match world.record() {
            Some(record) if self.is(Bug::OwnerNotCompared) => (owner_of(record), record.generation),
            _ => (owner(number), generation),
        }
    }

    pub(super) fn complete(&self, world: &World, number: usize, generation: u64) -> KeyDecision<Completion> {
        let (owner, generation) = self.named(world, number, generation);
        CompleteKey { owner, generation, answer: answer(number) }.decide(world.record(), world.at_ms)
    }

    pub(super) fn renew(&self, world: &World, number: usize, generation: u64, lease_ms: i64) -> KeyDecision<Lease> {
        let (owner, generation) = self.named(world, number, generation);
        RenewLease { owner, generation, lease_ms }.decide(world.record(), world.at_ms)
    }

    pub(super) fn release(&self, world: &World, number: usize, generation: u64) -> KeyDecision<()> {
        let (owner, generation) = self.named(world, number, generation);
        ReleaseKey { owner, generation }.decide(world.record(), world.at_ms)
    }

    /// Keeps a change that a contender made, and judges it. `claim` is what it named, unless it registered.
    pub(super) fn keep(&self, world: &mut World, number: usize, claim: Option<u64>, change: Option<KeyRecord>) {
        let Some(after) = change else { return };
        let before = KeyRecord::remembered(world.record(), world.at_ms);
        let is_claim = claim.is_none();
        let fault = if before.is_some_and(|before| matches!(before.state, KeyState::Completed(_))) {
            Some(Fault::AnswerChanged)
        } else if claim.is_some_and(|claim| !before.is_some_and(|before| owner_of(before) == owner(number) && before.generation == claim)) {
            Some(Fault::StaleOwnerChanged)
        } else if after.generation < world.highest || (is_claim && after.generation == world.highest) {
            Some(Fault::GenerationNotRisen)
        } else if is_claim && before.is_some_and(|before| is_running(before, world.at_ms)) {
            Some(Fault::RunningClaimChangedHands)
        } else {
            None
        };
        world.fault = world.fault.or(fault);
        world.highest = world.highest.max(after.generation);
        let forgets = self.is(Bug::ReleaseForgets) && matches!(after.state, KeyState::Free(_));
        world.record = Kept(Some(after).filter(|_| !forgets));
    }
}

fn owner_of(record: &KeyRecord) -> OwnerId {
    match &record.state {
        KeyState::Free(freedom) => freedom.owner,
        KeyState::InProgress(claim) => claim.owner,
        KeyState::Completed(completion) => completion.owner,
    }
}

fn is_running(record: &KeyRecord, at_ms: i64) -> bool {
    matches!(record.state, KeyState::InProgress(_)) && !record.is_lapsed(at_ms)
}
