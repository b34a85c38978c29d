//! Who asks, and what he asks next.

use nevertwice_api::AnswerBytes;
use nevertwice_core::keys::{CompleteKey, LapsePolicy, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease};
use nevertwice_core::model::Random;

use super::command::{Command, Said};
use super::plan::KeysPlan;

/// How many old attempts come back late.
const OLD_MAX: usize = 6;

/// One attempt at the work behind a key.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    key: u64,
    owner: OwnerId,
    generation: u64,
}

/// Somebody who wants things done.
#[derive(Default)]
pub(crate) struct Contender {
    /// What he holds.
    claim: Option<Attempt>,
    /// What he held once, and may still think that he holds.
    old: Vec<Attempt>,
    /// What he has asked and has no answer to.
    pub(crate) waits: bool,
    /// What he asks again, for its answer was lost.
    pub(crate) again: Option<(u64, Command)>,
}

impl Contender {
    /// What he asks next, and of which key.
    pub(crate) fn next(&mut self, plan: &KeysPlan, random: &mut Random, owners: &mut u64) -> (u64, Command) {
        if let Some(again) = self.again.take() {
            return again;
        }
        if random.chance(100)
            && let Some(old) = random.pick(&self.old).copied()
        {
            return (old.key, late(old, plan, random));
        }
        match self.claim {
            None => {
                let key = random.below(plan.keys);
                if random.chance(30) {
                    return (key, Command::Inspect);
                }
                *owners += 1;
                (key, register(key, *owners, plan, random))
            }
            Some(claim) => (claim.key, self.work(claim, plan, random)),
        }
    }

    fn work(&mut self, claim: Attempt, plan: &KeysPlan, random: &mut Random) -> Command {
        match random.below(10) {
            0..=2 => Command::Renew(RenewLease { owner: claim.owner, generation: claim.generation, lease_ms: lease(plan, random) }),
            3..=6 => {
                self.leave();
                complete(claim, plan, random)
            }
            7 | 8 => {
                self.leave();
                Command::Release(ReleaseKey { owner: claim.owner, generation: claim.generation })
            }
            _ => {
                // He dies, and the lease goes on without him.
                self.leave();
                Command::Inspect
            }
        }
    }

    fn leave(&mut self) {
        if let Some(claim) = self.claim.take() {
            self.old.push(claim);
            if self.old.len() > OLD_MAX {
                self.old.remove(0);
            }
        }
    }

    /// Hears what became of what he asked.
    pub(crate) fn hear(&mut self, key: u64, command: &Command, said: &Said) {
        let (Command::Register(command), Said::Registered(Ok(registered))) = (command, said) else { return };
        let lease = match &registered.registration {
            Registration::Fresh(lease) | Registration::TakenOver(lease) | Registration::Resumed(lease) => lease,
            Registration::Replay { .. } => return,
        };
        self.leave();
        self.claim = Some(Attempt { key, owner: command.owner, generation: lease.generation });
    }
}

/// What somebody does who thinks that he still holds a key.
fn late(old: Attempt, plan: &KeysPlan, random: &mut Random) -> Command {
    let Attempt { owner, generation, .. } = old;
    match random.below(3) {
        0 => complete(old, plan, random),
        1 => Command::Renew(RenewLease { owner, generation, lease_ms: lease(plan, random) }),
        _ => Command::Release(ReleaseKey { owner, generation }),
    }
}

fn register(key: u64, owner: u64, plan: &KeysPlan, random: &mut Random) -> Command {
    let mut bytes = [0xa7; 32];
    // The first four are those that are printed.
    bytes[..8].copy_from_slice(&owner.rotate_left(32).to_be_bytes());
    // Now and then somebody uses a key for something else.
    let fingerprint = [if random.chance(50) { 0xff } else { key as u8 }; 32];
    let lapse = random.pick(&[LapsePolicy::Refuse, LapsePolicy::Rerun, LapsePolicy::Rerun, LapsePolicy::Ask]).copied();
    Command::Register(RegisterKey {
        fingerprint,
        owner: OwnerId(bytes),
        lease_ms: lease(plan, random),
        retention_ms: plan.retention_ms,
        expires_at: None,
        lapse: lapse.unwrap_or(LapsePolicy::Refuse),
    })
}

fn lease(plan: &KeysPlan, random: &mut Random) -> i64 {
    if random.chance(100) { 0 } else { random.between(0, 2 * plan.lease_ms).min(plan.retention_ms - 1) }
}

fn complete(claim: Attempt, plan: &KeysPlan, random: &mut Random) -> Command {
    let Attempt { owner, generation, .. } = claim;
    if random.chance(150) {
        let answer = AnswerBytes::tombstone(200, 1 << 20);
        return Command::Complete(CompleteKey { owner, generation, answer }, AnswerBytes::default());
    }
    let mut body = vec![0; random.below(plan.answer_bytes_max) as usize];
    body.iter_mut().for_each(|byte| *byte = random.number() as u8);
    let head = generation.to_be_bytes().to_vec();
    let bytes = AnswerBytes { head: head.into(), body: body.into() };
    Command::Complete(CompleteKey { owner, generation, answer: bytes.describe(201) }, bytes)
}
