//! What happened somewhere in the model, so that no property is true of nothing. It is counted beside the states: in them it would
//! make many of each.

use std::sync::atomic::{AtomicU64, Ordering};

use nevertwice_core::keys::{KeyDecision, KeyRejection};

/// How often something happened.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn note(&self, happened: bool) {
        self.0.fetch_add(u64::from(happened), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) taken_over: Count,
    pub(super) resumed: Count,
    pub(super) late_answer_kept: Count,
    pub(super) freed_and_claimed: Count,
    stale_owner_refused: Count,
}

impl Seen {
    pub(super) fn note_stale<R>(&self, told: &KeyDecision<R>) {
        self.stale_owner_refused.note(matches!(told.reply, Err(KeyRejection::StaleOwner { .. })));
    }

    /// What never happened of what has to, or did of what may not.
    pub(super) fn missing(&self, takes_over: bool) -> Vec<&'static str> {
        let wanted = [
            ("a lapsed key is taken over", &self.taken_over, takes_over),
            ("a lost reply is asked for again", &self.resumed, true),
            ("a late answer is kept", &self.late_answer_kept, true),
            ("a key that was given back is claimed again", &self.freed_and_claimed, true),
            ("a stale owner is refused", &self.stale_owner_refused, true),
        ];
        wanted.into_iter().filter(|(_, count, is_wanted)| (count.get() > 0) != *is_wanted).map(|(what, ..)| what).collect()
    }
}
