//! What the client keeps of an intent, as steps that hold while others keep of the same.

use crate::{Client, ClientError, Intent, IntentState, Record};

impl<T, C> Client<T, C> {
    /// The record that is kept under the name: the fresh one, if there is none that still counts.
    pub(crate) fn kept(&self, name: &str, fresh: &Record, now_ms: u64) -> Result<Record, ClientError> {
        loop {
            let kept = self.store.get(name)?;
            // What is known to have happened, or not to have, is kept until its expiry and no longer.
            if let Some(record) = &kept
                && (record.state == IntentState::Sent || record.expires_at > now_ms)
            {
                return Ok(record.clone());
            }
            if self.store.swap(name, kept.as_ref(), Some(fresh))? {
                return Ok(fresh.clone());
            }
        }
    }

    /// Takes in what another process has kept.
    pub(crate) fn read_again(&self, intent: &mut Intent) -> Result<(), ClientError> {
        if let Some(name) = &intent.name
            && let Some(record) = self.store.get(name)?
            && record.key == intent.record.key
        {
            intent.record = record;
        }
        Ok(())
    }

    /// Keeps that it is sent, before it is, and says whether that is new.
    pub(crate) fn note_sent(&self, intent: &mut Intent) -> Result<bool, ClientError> {
        self.note(intent, IntentState::Sent)
    }

    /// Keeps what is known now.
    ///
    /// An outcome that can't be kept is told all the same: the store then still says `sent`, and whoever sends it again gets the same answer.
    pub(crate) fn note_known(&self, intent: &mut Intent, state: IntentState) {
        if self.note(intent, state).is_err() {
            intent.record.state = state;
        }
    }

    /// Forgets an intent, unless its name stands for another by now.
    pub(crate) fn forget(&self, intent: &Intent, although_unknown: bool) -> Result<(), ClientError> {
        loop {
            let kept = match &intent.name {
                Some(name) => self.store.get(name)?,
                None => Some(intent.record.clone()),
            };
            let Some(kept) = kept.filter(|kept| kept.key == intent.record.key) else { return Ok(()) };
            if kept.state == IntentState::Sent && !although_unknown {
                return Err(ClientError::StillUnknown);
            }
            match &intent.name {
                Some(name) if !self.store.swap(name, Some(&kept), None)? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Keeps a state, and says whether it is new. What has happened stays so, whatever an attempt was told.
    fn note(&self, intent: &mut Intent, state: IntentState) -> Result<bool, ClientError> {
        loop {
            let kept = match &intent.name {
                Some(name) => self.store.get(name)?,
                None => Some(intent.record.clone()),
            };
            let Some(kept) = kept.filter(|kept| kept.key == intent.record.key) else { return Err(ClientError::KeyConflict) };
            if kept.state == state || kept.state == IntentState::Done {
                intent.record = kept;
                return Ok(false);
            }
            let next = Record { state, ..kept.clone() };
            match &intent.name {
                Some(name) if !self.store.swap(name, Some(&kept), Some(&next))? => {}
                _ => {
                    intent.record = next;
                    return Ok(true);
                }
            }
        }
    }
}
