//! What may happen next.

use std::sync::Arc;

use nevertwice_core::keys::*;
use stateright::Model;

use super::seen::Seen;
use super::store::Bug;
use super::world::{Contender, End, Fault, Kept, Left, World};

/// Time passes in steps of half a lease.
const TICK_MS: i64 = 600;
pub(super) const LEASE_MS: i64 = 1_200;
const T0: i64 = 1_000;

/// The model: who contends, and under which rules.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) contenders: usize,
    pub(super) lapse: LapsePolicy,
    pub(super) retention_ms: i64,
    /// Steps of time, at least; it goes on as long as somebody waits for the end of a lease.
    pub(super) ticks: i64,
    pub(super) left: Left,
    pub(super) bug: Option<Bug>,
    /// What happened somewhere in the model: no part of its states.
    pub(super) seen: Arc<Seen>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    TimePasses,
    /// The contender asks the store, or reports to it; and the reply reaches it, or does not.
    Speaks {
        number: usize,
        hears: bool,
    },
    /// The owner moves the end of its lease.
    Renews {
        number: usize,
    },
    /// The owner has its effect.
    Acts {
        number: usize,
    },
    /// The owner finds that nothing can have happened.
    FindsNothing {
        number: usize,
    },
    /// The owner does not know what happened: after its effect, or without.
    LosesTrack {
        number: usize,
    },
    Dies {
        number: usize,
    },
}

impl Model for Keys {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            at_ms: T0,
            record: Kept(None),
            contenders: vec![Contender::Asks; self.contenders],
            acts: Vec::new(),
            forgotten: false,
            highest: 0,
            told: None,
            fault: None,
            left: self.left,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if world.fault.is_some() {
            return;
        }
        let waits =
            |contender: &Contender| matches!(contender, Contender::Waits { lease_expires_at, .. } if *lease_expires_at > world.at_ms);
        if world.at_ms < T0 + self.ticks * TICK_MS || world.contenders.iter().any(waits) {
            steps.push(Step::TimePasses);
        }
        for (number, contender) in world.contenders.iter().enumerate() {
            match contender {
                Contender::Ended(_) => continue,
                Contender::Waits { .. } => {
                    if self.would_hear_something_else(world, number) {
                        steps.push(Step::Speaks { number, hears: true });
                    }
                }
                Contender::Runs(_) => {
                    steps.extend([Step::Acts { number }, Step::FindsNothing { number }, Step::LosesTrack { number }]);
                    if world.left.renewals > 0 {
                        steps.push(Step::Renews { number });
                    }
                }
                Contender::Acted(_) => steps.extend([Step::Speaks { number, hears: true }, Step::LosesTrack { number }]),
                Contender::Asks | Contender::GivesBack(_) | Contender::DoesNotKnow(_) => steps.push(Step::Speaks { number, hears: true }),
            }
            let may_be_lost = !matches!(contender, Contender::Waits { .. } | Contender::Runs(_));
            if may_be_lost && world.left.losses > 0 {
                steps.push(Step::Speaks { number, hears: false });
            }
            if world.left.deaths > 0 {
                steps.push(Step::Dies { number });
            }
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::TimePasses => {
                next.at_ms += TICK_MS;
                if world.record().is_some() && KeyRecord::remembered(world.record(), next.at_ms).is_none() {
                    // Nobody knows any more what was answered; but a generation is never used again.
                    (next.forgotten, next.told, next.record) = (true, None, Kept(None));
                }
            }
            Step::Speaks { number, hears } => {
                let heard = self.speak(&mut next, number);
                if hears {
                    next.contenders[number] = heard;
                } else {
                    next.left.losses -= 1;
                }
            }
            Step::Renews { number } => {
                let Contender::Runs(generation) = world.contenders[number] else { return None };
                next.left.renewals -= 1;
                let renewed = self.renew(world, number, generation, LEASE_MS);
                self.seen.note_stale(&renewed);
                self.keep(&mut next, number, Some(generation), renewed.change);
            }
            Step::Acts { number } => {
                let Contender::Runs(generation) = world.contenders[number] else { return None };
                next.acts.push(generation);
                next.acts.sort_unstable();
                next.contenders[number] = Contender::Acted(generation);
            }
            Step::FindsNothing { number } => {
                let Contender::Runs(generation) = world.contenders[number] else { return None };
                next.contenders[number] = Contender::GivesBack(generation);
            }
            Step::LosesTrack { number } => {
                let (Contender::Runs(generation) | Contender::Acted(generation)) = world.contenders[number] else { return None };
                next.contenders[number] = Contender::DoesNotKnow(generation);
            }
            Step::Dies { number } => {
                next.left.deaths -= 1;
                next.contenders[number] = Contender::Ended(End::Dead);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        super::properties::all(self)
    }
}

impl Keys {
    /// Whether who waits would be told anything new: the lease has moved, or ended, or there is an answer.
    fn would_hear_something_else(&self, world: &World, number: usize) -> bool {
        let mut asked = world.clone();
        self.speak(&mut asked, number) != world.contenders[number]
    }

    /// The contender asks or reports; what it becomes if it hears the reply.
    fn speak(&self, world: &mut World, number: usize) -> Contender {
        match world.contenders[number] {
            Contender::Asks | Contender::Waits { .. } => self.ask(world, number),
            Contender::Acted(generation) => {
                let is_late = world.record().is_some_and(|record| record.is_lapsed(world.at_ms));
                let told = self.complete(world, number, generation);
                self.seen.late_answer_kept.note(is_late && told.change.is_some());
                self.report(world, number, generation, told, End::Kept)
            }
            Contender::GivesBack(generation) => {
                let told = self.release(world, number, generation);
                self.report(world, number, generation, told, End::Left)
            }
            Contender::DoesNotKnow(generation) => {
                let told = self.renew(world, number, generation, 0);
                self.report(world, number, generation, told, End::Left)
            }
            silent @ (Contender::Runs(_) | Contender::Ended(_)) => silent,
        }
    }

    fn report<R>(&self, world: &mut World, number: usize, generation: u64, told: KeyDecision<R>, end: End) -> Contender {
        self.seen.note_stale(&told);
        self.keep(world, number, Some(generation), told.change);
        Contender::Ended(if told.reply.is_ok() { end } else { End::Replaced })
    }

    fn ask(&self, world: &mut World, number: usize) -> Contender {
        let was_free = world.record().is_some_and(|record| matches!(record.state, KeyState::Free(_)));
        let told = self.register(world, number);
        self.keep(world, number, None, told.change);
        match told.reply {
            Ok(Registration::Fresh(lease)) => {
                self.seen.freed_and_claimed.note(was_free);
                Contender::Runs(lease.generation)
            }
            Ok(Registration::TakenOver(lease)) => {
                self.seen.taken_over.note(true);
                Contender::Runs(lease.generation)
            }
            Ok(Registration::Resumed(lease)) => {
                self.seen.resumed.note(true);
                Contender::Runs(lease.generation)
            }
            Ok(Registration::Replay { answer, .. }) => {
                if world.told.is_some_and(|told| told != answer.status) {
                    world.fault = world.fault.or(Some(Fault::AnswerChanged));
                }
                world.told = Some(answer.status);
                Contender::Ended(End::Replayed)
            }
            Err(KeyRejection::KeyInProgress { generation, lease_expires_at }) => Contender::Waits { generation, lease_expires_at },
            Err(_) => Contender::Ended(End::Unknown),
        }
    }
}
