//! How a call is made: at its levels, and told only if the store is still the one that it was.

use nevertwice_api::{KeyStoreFailure, Level, Levels};
use redis::Value;

use super::fields::BadFields;
use super::mark::Mark;
use super::open::Inner;
use super::replicas::{confirmed, note, wait};
use crate::script::Call;
use crate::{Answers, LinkFailure, ServerRefusal};

/// What a script said, and which levels everything that it saw has reached.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) said: Result<Value, ServerRefusal>,
    pub(super) levels: Levels,
}

impl Inner {
    /// Calls a script. The levels are those of the store and those that are asked for.
    pub(super) async fn ask(&self, call: Call, levels: Levels) -> Result<Asked, KeyStoreFailure> {
        if self.gauges.is_forgotten() {
            return Err(KeyStoreFailure::Unavailable);
        }
        let wanted = Levels::reached(self.options.level).and(levels);
        if !self.offers().contains_all(wanted) {
            return Err(KeyStoreFailure::LevelUnavailable);
        }
        let name = call.script.name();
        let (mut closing, mut tail) = (None, vec![Mark::look()]);
        let waits = wanted.contains(Level::Replicated);
        if waits {
            self.check_replicas().await?;
            closing = Some(note());
            tail.push(wait(&self.options));
        }
        let answers = self.runner.call_closed(&[call], closing.as_ref(), &tail).await.map_err(|failure| lost(name, &failure))?;
        self.check_mark(&answers)?;
        let mut reached = Levels::reached(Level::Decided);
        if self.options.is_fsync_vouched {
            reached = reached.and(Levels::reached(Level::Journaled));
        }
        if waits {
            let is_confirmed = confirmed(&answers, &self.options);
            self.replicas.note(!is_confirmed);
            if !is_confirmed {
                return Err(KeyStoreFailure::OutcomeUnknown);
            }
            reached = reached.and(Levels::reached(Level::Replicated));
        }
        let reply = answers.calls.into_iter().next().expect("one call has one reply: the link has counted them");
        let said = reply.map_err(|error| {
            let refusal = ServerRefusal::of(&error);
            tracing::warn!(script = name, %refusal, "a script was refused");
            refusal
        });
        Ok(Asked { said, levels: reached })
    }

    fn check_mark(&self, answers: &Answers) -> Result<(), KeyStoreFailure> {
        let reply = answers.tail.first();
        if reply.and_then(Mark::found).as_ref() == Some(&self.mark) {
            return Ok(());
        }
        if let Some(Err(error)) = reply {
            tracing::warn!(refusal = %ServerRefusal::of(error), "the mark of the store of keys could not be read");
            // Who refuses that refuses the call as well, as a rule; if not, it may have happened.
            return Err(match answers.calls.first() {
                Some(Err(error)) => refused(&ServerRefusal::of(error)),
                _ => KeyStoreFailure::OutcomeUnknown,
            });
        }
        if self.gauges.set_forgotten() {
            tracing::error!(
                address = %self.runner.link().address(),
                "the server has lost the keys that it held: what was carried out under them would run again. Every key is refused \
                 from now on; find out what became of its data, and start anew to begin with what is there"
            );
        }
        Err(KeyStoreFailure::Unavailable)
    }
}

/// What a refusal of the server means to who asked.
pub(super) fn refused(refusal: &ServerRefusal) -> KeyStoreFailure {
    match refusal {
        ServerRefusal::OutOfMemory => KeyStoreFailure::Full,
        ServerRefusal::Failed(_) => KeyStoreFailure::OutcomeUnknown,
        _ => KeyStoreFailure::Unavailable,
    }
}

/// What a reply means that could not be read.
pub(super) fn unread(script: &str, bad: BadFields) -> KeyStoreFailure {
    match bad {
        BadFields::TooNew => KeyStoreFailure::TooNew,
        BadFields::Damaged => {
            tracing::error!(script, "the record of a key is damaged, or something else lies in its place");
            KeyStoreFailure::Unavailable
        }
    }
}

pub(super) fn lost(script: &str, failure: &LinkFailure) -> KeyStoreFailure {
    tracing::warn!(script, %failure, "the store of keys did not answer");
    match failure {
        LinkFailure::Unreachable(_) => KeyStoreFailure::Unavailable,
        LinkFailure::Lost(_) => KeyStoreFailure::OutcomeUnknown,
    }
}
