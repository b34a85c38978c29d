//! Answers that wait for replicas: what the sequencer does with those that are asked for at the level `replicated`.
//!
//! What waits is durable here as well, since replicas read nothing else. Where too few confirm, an answer that would have to
//! wait is refused, and a decision is refused before it is made: nothing is left behind that nobody was told of.

use nevertwice_api::{Answer, Failure, Level, Levels, Reading};
use nevertwice_core::Rejection;
use nevertwice_core::{Decision, ShardId, View};

use super::queue::{Reply, Waiting};
use super::sequencer::{Found, Sequencer};

/// What has been reached by an answer that waited for replicas.
pub(super) const REPLICATED: Levels = Levels::reached(Level::Replicated).and(Levels::reached(Level::Journaled));

impl Sequencer {
    /// Answers a command, once all that its answer rests on is confirmed.
    pub(super) fn submit_replicated(&mut self, id: &ShardId, found: Found<Decision>, reply: Reply<Answer>) {
        let Found { answer: decision, position, is_confirmed, confirmed, .. } = found;
        let decision = match decision {
            Decision::Accepted(entry) => {
                // A journal that can't be written is what has to be told first.
                return match self.refusal().filter(|_| self.can_write()) {
                    Some(failure) => drop(reply.send(Err(failure))),
                    None => self.accept(id, entry, Level::Replicated, reply),
                };
            }
            Decision::Replayed(entry) if !is_confirmed && entry.position <= confirmed => {
                // What it says was told already, or may be, whatever became of what came after it.
                let decision = Decision::Replayed(entry);
                return drop(reply.send(Ok(Answer { decision, position: confirmed, levels: REPLICATED })));
            }
            other => other,
        };
        let answer = Answer { decision, position, levels: REPLICATED };
        if is_confirmed {
            drop(reply.send(Ok(answer)));
        } else if let Some(failure) = self.obstacle() {
            drop(reply.send(Err(failure)));
        } else {
            self.group.confirming.push(Waiting::Submit(reply, answer));
        }
    }

    /// Answers a read, once all that it shows is confirmed.
    pub(super) fn read_replicated(&mut self, found: Found<Result<View, Rejection>>, reply: Reply<Reading>) {
        let reading = Reading { view: found.answer, position: found.position, levels: REPLICATED };
        if found.is_confirmed {
            drop(reply.send(Ok(reading)));
        } else if let Some(failure) = self.obstacle() {
            drop(reply.send(Err(failure)));
        } else {
            self.group.confirming.push(Waiting::Read(reply, reading));
        }
    }

    /// Answers who waits for a position, once it is confirmed.
    pub(super) fn wait_replicated(&mut self, found: &Found<()>, reply: Reply<Levels>) {
        if found.is_confirmed {
            drop(reply.send(Ok(REPLICATED)));
        } else if let Some(failure) = self.obstacle() {
            drop(reply.send(Err(failure)));
        } else {
            self.group.confirming.push(Waiting::Wait(reply, REPLICATED));
        }
    }

    /// Why nothing may wait now.
    fn obstacle(&self) -> Option<Failure> {
        if self.now.poisoned { Some(Failure::JournalFailed) } else { self.refusal() }
    }

    fn refusal(&self) -> Option<Failure> {
        self.replicas.as_ref()?.refusal(self.now.standing)
    }

    fn can_write(&self) -> bool {
        !self.now.poisoned && !self.now.full
    }
}
