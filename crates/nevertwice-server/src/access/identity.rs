//! Who somebody is, by what they presented, before any route is asked.

use nevertwice_core::Principal;

use super::caller::CredentialName;
use super::rule::Role;
use super::scope::Scope;

/// Who somebody is.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) role: Role,
    pub(crate) name: CredentialName,
    pub(super) scope: Scope,
    /// Who it is itself: a person, whose credential is nobody else's.
    pub(crate) subject: Option<Principal>,
}

impl Identity {
    /// Somebody whose credential is for all shards.
    pub(super) fn of(role: Role, name: CredentialName) -> Self {
        Self { role, name, scope: Scope::default(), subject: None }
    }

    /// Somebody of whom the route asks nothing.
    pub(crate) fn anyone() -> Self {
        Self::of(Role::Nobody, CredentialName::Anyone)
    }
}
