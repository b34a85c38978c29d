//! What operators do to keys is told to the audit before it is done: nothing that they change can be missing there.
//!
//! The record is looked at, and what the command would make of it is told, if it would change anything. The store decides: where somebody
//! else changed the record meanwhile it refuses the command, and the audit is told that as well. A guard that sends its ordinary calls,
//! each with its owner, to a server without credentials is no operator: everybody there is one.

use nevertwice_api::{Foresee, KeyDeed, KeyFact, KeyStanding};

use crate::access::{CredentialName, Role};
use crate::call::Call;
use crate::key_records::{KeyName, KeyRecords, KeyScope};
use crate::refusal::Refusal;

/// One command on a key.
pub(super) struct Deed<'a> {
    pub(super) call: &'a Call,
    pub(super) keys: &'a KeyRecords,
    pub(super) name: &'a KeyName,
    pub(super) deed: KeyDeed,
    /// The claim that it names; none where it makes one.
    pub(super) generation: Option<u64>,
    /// Whether it names the attempt that has the key, as every guard does.
    pub(super) names_owner: bool,
}

impl Deed<'_> {
    /// Tells the audit what is about to be done, if an operator does it and it would change the record. What was told.
    pub(super) async fn tell(&self, command: &impl Foresee) -> Result<Option<KeyFact>, Refusal> {
        let caller = &self.call.caller;
        let is_ordinary = self.names_owner && matches!(caller.name, CredentialName::Local);
        let trace = self.call.origin.as_ref().and_then(|origin| origin.trace);
        let origin = if caller.role == Role::Operator && !is_ordinary { caller.origin(trace, false) } else { None };
        let Some(origin) = origin else { return Ok(None) };
        let at_ms = self.call.app.clock.now_ms();
        let before = self.keys.inspect(self.name).await?;
        let Some(after) = command.foresee(before.as_ref(), at_ms) else { return Ok(None) };
        let fact = KeyFact {
            deed: self.deed,
            at_ms,
            origin: *origin,
            principal: self.name.principal.clone(),
            scope: self.name.scope.as_ref().map_or("", KeyScope::as_str).to_owned(),
            key: self.name.key.clone(),
            generation: self.generation,
            before: KeyStanding::of(before.as_ref(), at_ms),
            after,
            batch: 0,
        };
        self.record(fact.clone()).await?;
        Ok(Some(fact))
    }

    /// Tells the audit that what it was told was refused after all.
    pub(super) async fn take_back(&self, told: Option<KeyFact>) {
        let Some(told) = told else { return };
        let fact = KeyFact { at_ms: self.call.app.clock.now_ms(), after: KeyStanding::Refused, ..told };
        if let Err(refusal) = self.record(fact).await {
            let code = refusal.code();
            tracing::warn!(%code, command = self.deed.word(), "that an operator's command on a key was refused could not be told to the audit");
        }
    }

    async fn record(&self, fact: KeyFact) -> Result<(), Refusal> {
        let app = &self.call.app;
        app.within_deadline(app.backend.record_key(fact)).await.map(drop)
    }
}
