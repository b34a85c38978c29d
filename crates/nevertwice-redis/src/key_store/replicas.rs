//! Waiting for replicas, and what happens while they are short.
//!
//! What was decided and not confirmed is told as unknown. From then on nothing more is decided that would have to be confirmed, until
//! one look has found the replicas there again: else every caller would wait in vain, and leave a claim behind.

use std::sync::atomic::{AtomicBool, Ordering};

use nevertwice_api::KeyStoreFailure;
use redis::{Cmd, Value};
use tokio::sync::Mutex;

use super::RedisKeyOptions;
use super::asked::lost;
use super::calls::NoteCall;
use super::open::Inner;
use crate::script::Call;
use crate::{Answers, keys};

#[derive(Debug, Default)]
pub(super) struct Replicas {
    are_short: AtomicBool,
    look: Mutex<()>,
}

impl Replicas {
    /// Notes whether enough confirmed.
    pub(super) fn note(&self, are_short: bool) {
        if self.are_short.swap(are_short, Ordering::Relaxed) != are_short {
            if are_short {
                tracing::warn!("fewer replicas than asked for confirm: nothing more is decided until they do");
            } else {
                tracing::info!("enough replicas confirm again");
            }
        }
    }
}

/// What follows a call whose answer must lie on the replicas. `WAIT` covers what its connection wrote, and a call may have written
/// nothing: so something is written.
pub(super) fn note() -> Call {
    NoteCall { written: keys::key_store_written() }.into()
}

/// What ends a pipeline that waits.
pub(super) fn wait(options: &RedisKeyOptions) -> Cmd {
    let mut wait = redis::cmd("WAIT");
    wait.arg(options.replicas).arg(options.wait_ms);
    wait
}

/// Whether something was written, and enough replicas confirmed it.
pub(super) fn confirmed(answers: &Answers, options: &RedisKeyOptions) -> bool {
    let is_written = matches!(answers.closing, Some(Ok(_)));
    is_written && matches!(answers.tail.last(), Some(Ok(Value::Int(count))) if *count >= i64::from(options.replicas))
}

impl Inner {
    /// Refuses at once while replicas are short, but for one caller at a time who looks whether they still are.
    pub(super) async fn check_replicas(&self) -> Result<(), KeyStoreFailure> {
        if !self.replicas.are_short.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Ok(_looks) = self.replicas.look.try_lock() else { return Err(KeyStoreFailure::Unavailable) };
        let answers =
            self.runner.call_closed(&[], Some(&note()), &[wait(&self.options)]).await.map_err(|failure| match lost("wait", &failure) {
                // Nothing but the look itself was under way.
                KeyStoreFailure::OutcomeUnknown => KeyStoreFailure::Unavailable,
                other => other,
            })?;
        let are_short = !confirmed(&answers, &self.options);
        self.replicas.note(are_short);
        if are_short { Err(KeyStoreFailure::Unavailable) } else { Ok(()) }
    }
}
