//! How a call is made: at its levels, and told only if the store is still the one that it was.

use nevertwice_api::{KeyStoreFailure, Level, Levels};
use redis::{Cmd, Value};

use super::fields::BadFields;
use super::mark::Mark;
use super::open::Inner;
use crate::keys;
use crate::link::Reply;
use crate::script::Call;
use crate::{LinkFailure, ServerRefusal};

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
        let mut tail = vec![Mark::look()];
        let waits = wanted.contains(Level::Replicated);
        if waits {
            tail.extend(self.wait());
        }
        let mut answers = self.runner.call_all(&[call], &tail).await.map_err(|failure| lost(name, &failure))?;
        self.check_mark(answers.tail.first())?;
        let mut reached = Levels::reached(Level::Decided);
        if self.options.is_fsync_vouched {
            reached = reached.and(Levels::reached(Level::Journaled));
        }
        if waits {
            if confirmed(answers.tail.last()) < u64::from(self.options.replicas) {
                tracing::warn!(script = name, "fewer replicas than asked for confirmed what was decided");
                return Err(KeyStoreFailure::OutcomeUnknown);
            }
            reached = reached.and(Levels::reached(Level::Replicated));
        }
        let reply = answers.calls.pop().expect("one call has one reply: the link has counted them");
        let said = reply.map_err(|error| {
            let refusal = ServerRefusal::of(&error);
            tracing::warn!(script = name, %refusal, "a script was refused");
            refusal
        });
        Ok(Asked { said, levels: reached })
    }

    /// What ends a call whose answer must lie on the replicas. The server's `WAIT` covers what this connection wrote, and a call may
    /// have written nothing: so something is written.
    fn wait(&self) -> [Cmd; 2] {
        let mut written = redis::cmd("SET");
        written.arg(keys::key_store_written()).arg("").arg("PX").arg(self.options.wait_ms.max(1));
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.options.replicas).arg(self.options.wait_ms);
        [written, wait]
    }

    fn check_mark(&self, reply: Option<&Reply>) -> Result<(), KeyStoreFailure> {
        if reply.and_then(Mark::found).as_ref() == Some(&self.mark) {
            return Ok(());
        }
        if let Some(Err(error)) = reply {
            // It could not be read: nothing is known about it.
            tracing::warn!(refusal = %ServerRefusal::of(error), "the mark of the store of keys could not be read");
            return Err(KeyStoreFailure::OutcomeUnknown);
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

fn confirmed(reply: Option<&Reply>) -> u64 {
    match reply {
        Some(Ok(Value::Int(count))) => u64::try_from(*count).unwrap_or(0),
        _ => 0,
    }
}
