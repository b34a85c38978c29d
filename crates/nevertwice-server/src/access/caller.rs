//! Who calls, once that is known and allowed; on whose behalf; and what is theirs.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use nevertwice_api::ErrorCode;
use nevertwice_core::{BookingView, CallerName, CallerRole, Name, Origin, PeerAddress, Position, Principal, TraceContext};

use super::rule::Role;
use crate::refusal::Refusal;

/// On whose behalf a service acts.
const PRINCIPAL: &str = "principal";

/// The principal of what the server does by itself. Nobody from outside may use it, or they could claim its keys.
pub(crate) const OWN_PRINCIPAL: &str = "nevertwice";

/// Whose intents those are that come with the operator's key and name nobody. A service can't use it, or it could take the
/// operator's keys before the operator does.
pub(super) const OPERATOR_PRINCIPAL: &str = "operator";

/// The longest name that an entry has room for.
const NAME_CHARS_MAX: usize = 64;

/// By which credential somebody is known. It may be shown: it is a name, never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialName {
    /// None; the route asks for none.
    Anyone,
    /// None; the server has none and trusts whoever reaches its loopback address.
    Local,
    /// The configured `operator_key`.
    Operator,
    /// The configured `service_key`.
    Service,
    /// The API key of that id.
    Key(Arc<str>),
    /// A JWT of an issuer: `jwt:` and the issuer, cut where it is too long for an entry. All JWTs of it have one name.
    Jwt(Arc<str>),
}

impl CredentialName {
    /// The name: a word, or the id of an API key.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Anyone => "anyone",
            Self::Local => "local",
            Self::Operator => "operator",
            Self::Service => "service",
            Self::Key(name) | Self::Jwt(name) => name,
        }
    }

    /// The name of all JWTs of an issuer, who is written in visible ASCII characters.
    pub(super) fn of_issuer(issuer: &str) -> Arc<str> {
        format!("jwt:{issuer}").chars().take(NAME_CHARS_MAX).collect::<String>().into()
    }

    /// The name as an entry has it.
    fn shown(&self) -> Option<CallerName> {
        CallerName::new(self.as_str()).ok()
    }
}

impl Role {
    /// The role as an entry has it; none for who can't command anything.
    const fn shown(self) -> Option<CallerRole> {
        match self {
            Self::Nobody | Self::Reader => None,
            Self::Principal => Some(CallerRole::Principal),
            Self::Service => Some(CallerRole::Service),
            Self::Operator => Some(CallerRole::Operator),
        }
    }
}

/// Who calls, once that is known and allowed.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) role: Role,
    pub(crate) principal: Principal,
    /// Whether they act for that principal, or just look on or run the server.
    pub(crate) is_on_behalf: bool,
    /// By which credential they are known.
    pub(crate) name: CredentialName,
    /// From where the request came: the connection's address, or what a trusted proxy says of it.
    pub(crate) peer: IpAddr,
}

impl Caller {
    /// What an entry tells of where its command came from. What an operator commands always tells it; `is_traffic`, the orders and
    /// bookings of people, only what trace it was part of: so it costs nothing where nobody asks, and nobody's address is kept.
    pub(crate) fn origin(&self, trace: Option<TraceContext>, is_traffic: bool) -> Option<Box<Origin>> {
        let is_operators = self.role == Role::Operator && !is_traffic;
        if trace.is_none() && !is_operators {
            return None;
        }
        let address = is_operators.then(|| PeerAddress::new(&self.peer.to_string()).ok()).flatten();
        Some(Box::new(Origin { caller: self.name.shown()?, role: self.role.shown()?, address, trace }))
    }

    /// Refuses a booking that was made on behalf of somebody else, to whoever acts on behalf of one principal.
    pub(crate) fn check_booking(&self, booking: &BookingView, position: Position) -> Result<(), Refusal> {
        let is_theirs = match self.role {
            Role::Operator | Role::Reader => true,
            Role::Service | Role::Principal | Role::Nobody => booking.principal == self.principal,
        };
        if is_theirs {
            return Ok(());
        }
        let next = "Name the principal that booked";
        Err(Refusal::new(ErrorCode::NotOwner, "The booking was made on behalf of another principal", next).at(position))
    }

    /// Refuses an account that is not theirs, to a person: theirs is the one of their own name.
    pub(crate) fn check_account(&self, account: &Name) -> Result<(), Refusal> {
        let is_theirs = match self.role {
            Role::Operator | Role::Reader | Role::Service => true,
            Role::Principal | Role::Nobody => account.as_str() == self.principal.as_str(),
        };
        if is_theirs {
            return Ok(());
        }
        let next = "Name the account that is called as the subject of the JWT; if there is none, the operator opens it";
        Err(Refusal::new(ErrorCode::NotOwner, "The account is another's", next))
    }

    /// The principal of a line of a batch: the one that the line names, or the request's. A person names nobody else.
    pub(crate) fn line_principal(&self, named: Option<&str>) -> Result<Principal, Refusal> {
        let named = named.map_or_else(|| Ok(self.principal.clone()), outside_principal)?;
        match self.role {
            Role::Operator | Role::Service => Ok(named),
            Role::Principal | Role::Reader | Role::Nobody if named == self.principal => Ok(named),
            Role::Principal | Role::Reader | Role::Nobody => Err(another_named()),
        }
    }
}

pub(super) fn default_principal(text: &'static str) -> Result<Principal, Refusal> {
    Principal::new(text).map_err(|_| Refusal::internal("a default principal that is none"))
}

/// The principal that a request names.
pub(super) fn principal(headers: &HeaderMap) -> Result<Option<Principal>, Refusal> {
    let mut lines = headers.get_all(PRINCIPAL).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err(invalid_principal("The Principal header came more than once"));
    }
    let text = line.to_str().map_err(|_| invalid_principal("The Principal header has characters that are not visible ASCII"))?;
    outside_principal(text).map(Some)
}

/// Principals with a meaning of their own: the server's own work, the operator's key, and who names nobody.
pub(super) const RESERVED: &[&str] = &["anyone", "local", OWN_PRINCIPAL, OPERATOR_PRINCIPAL, "reader"];

/// Checks a principal that comes from outside.
pub(crate) fn outside_principal(text: &str) -> Result<Principal, Refusal> {
    if RESERVED.contains(&text) {
        let reserved = RESERVED.join("`, `");
        return Err(invalid_principal(format!("The principals `{reserved}` have a meaning of their own, and nobody acts for them")));
    }
    Principal::new(text).map_err(|error| invalid_principal(format!("The principal is not 1 to 128 visible ASCII characters: {error}")))
}

/// A person acts for itself alone.
pub(super) fn another_named() -> Refusal {
    Refusal::new(
        ErrorCode::RoleInsufficient,
        "A JWT is for its own subject alone, and the request names another principal",
        "Leave the principal out, or name the subject of the JWT",
    )
    .figure("role", Role::Principal.word())
}

fn invalid_principal(wrong: impl AsRef<str>) -> Refusal {
    Refusal::new(ErrorCode::PrincipalInvalid, wrong, "Send one principal of 1 to 128 visible ASCII characters, the same in every retry")
}
