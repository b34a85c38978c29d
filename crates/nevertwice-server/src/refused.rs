//! Commands of operators that were refused: they change nothing, so no entry tells of them, and the log does.

use std::net::IpAddr;

use axum::http::request::Parts;
use nevertwice_core::IdempotencyKey;

use crate::access::{Access, Caller, CredentialName, Role};
use crate::refusal::Refusal;
use crate::routes::{Method, Route};

/// Who asked for what only operators do, or asked as an operator; for the case that it is refused.
pub(crate) struct Asker {
    command: &'static str,
    path: String,
    credential: String,
    role: &'static str,
    from: IpAddr,
    key: Option<IdempotencyKey>,
}

impl Asker {
    /// Somebody whom the door did not let in; none if the route is not one for operators' commands.
    pub(crate) fn stranger(
        route: &Route,
        parts: &Parts,
        credential: Option<&CredentialName>,
        from: IpAddr,
        key: Option<&IdempotencyKey>,
    ) -> Option<Self> {
        let is_operators = route.method == Method::Post && route.access == Access::Operator;
        let credential = credential.map_or("unknown", CredentialName::as_str);
        is_operators.then(|| Self::new(route, parts, credential, Role::Nobody, from, key))
    }

    /// Somebody who was let in; none if it is no operator's command.
    pub(crate) fn known(route: &Route, parts: &Parts, caller: &Caller, key: Option<&IdempotencyKey>) -> Option<Self> {
        let is_operators = route.method == Method::Post && !route.traffic && caller.role == Role::Operator;
        is_operators.then(|| Self::new(route, parts, caller.name.as_str(), caller.role, caller.peer, key))
    }

    fn new(route: &Route, parts: &Parts, credential: &str, role: Role, from: IpAddr, key: Option<&IdempotencyKey>) -> Self {
        let (path, credential) = (parts.uri.path().to_owned(), credential.to_owned());
        Self { command: route.word, path, credential, role: role.word(), from, key: key.cloned() }
    }

    /// Tells that it was refused.
    pub(crate) fn tell(&self, refusal: &Refusal) {
        let Self { command, path, credential, role, from, key } = self;
        let (key, code) = (key.as_ref().map_or("", IdempotencyKey::as_str), refusal.code());
        tracing::warn!(command, path, who = credential, role, %from, key, %code, "an operator's command was refused");
    }
}
