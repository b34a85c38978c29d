//! Who calls, and what they may do.

use axum::http::{HeaderMap, header};
use nevertwice_api::ErrorCode;
use nevertwice_core::Principal;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::config::Secret;
use crate::refusal::Refusal;

/// On whose behalf a service acts.
const PRINCIPAL: &str = "principal";

/// The principal of what the server does by itself. Nobody from outside may use it, or they could claim its keys.
pub(crate) const OWN_PRINCIPAL: &str = "nevertwice";

/// Whose intents those are that come with the operator's key and name nobody. A service can't use it, or it could take the
/// operator's keys before the operator does.
const OPERATOR_PRINCIPAL: &str = "operator";

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Anyone,
    /// Either key; on nobody's behalf.
    Known,
    /// The service key on behalf of a principal, or the operator key.
    Service,
    /// The operator key.
    Operator,
}

impl Access {
    /// The word for it in the docs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Known => "service or operator",
            Self::Service => "service for a principal, or operator",
            Self::Operator => "operator",
        }
    }
}

/// Whose key came with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Nobody,
    Service,
    Operator,
}

/// Who calls, once that is known and allowed.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) role: Role,
    pub(crate) principal: Principal,
}

/// The keys that are known, as digests: comparing digests in constant time tells nothing about a key.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    operator: Option<[u8; 32]>,
    service: Option<[u8; 32]>,
}

impl Credentials {
    pub(crate) fn new(operator: Option<&Secret>, service: Option<&Secret>) -> Self {
        let digest_of = |secret: &Secret| digest(secret.reveal().as_bytes());
        Self { operator: operator.map(digest_of), service: service.map(digest_of) }
    }

    const fn are_configured(&self) -> bool {
        self.operator.is_some() || self.service.is_some()
    }

    fn role(&self, headers: &HeaderMap) -> Role {
        if !self.are_configured() {
            return Role::Operator;
        }
        let mut lines = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return Role::Nobody };
        let line = line.as_bytes();
        let Some((scheme, token)) = line.split_at_checked(7) else { return Role::Nobody };
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return Role::Nobody;
        }
        let presented = digest(token);
        // Both are compared, whichever matches.
        let is = |known: &Option<[u8; 32]>| known.as_ref().map_or(Choice::from(0), |known| known.ct_eq(&presented));
        let (operator, service) = (is(&self.operator), is(&self.service));
        if bool::from(operator) {
            Role::Operator
        } else if bool::from(service) {
            Role::Service
        } else {
            Role::Nobody
        }
    }

    /// Who calls, if the route lets them.
    pub(crate) fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, Refusal> {
        if access == Access::Anyone {
            return Ok(Caller { role: Role::Nobody, principal: default_principal("anyone")? });
        }
        let role = self.role(headers);
        match (access, role) {
            (_, Role::Nobody) => Err(Refusal::new(
                ErrorCode::CredentialsMissing,
                "The request carries no credentials that the server knows",
                "Send `Authorization: Bearer` with the operator key or the service key",
            )),
            (Access::Operator, Role::Service) => Err(Refusal::new(
                ErrorCode::RoleInsufficient,
                "This takes the operator key, and the request came with the service key",
                "Ask the operator to do it",
            )),
            (Access::Known, role) => Ok(Caller { role, principal: default_principal("anyone")? }),
            (_, Role::Service) => match principal(headers)? {
                Some(principal) => Ok(Caller { role, principal }),
                None => Err(Refusal::new(
                    ErrorCode::PrincipalMissing,
                    "A service acts on behalf of somebody, and the request does not say of whom",
                    "Send the `Principal` header: 1 to 128 visible ASCII characters, the same in every retry",
                )),
            },
            (_, Role::Operator) => {
                let default = if self.are_configured() { OPERATOR_PRINCIPAL } else { "local" };
                Ok(Caller { role, principal: principal(headers)?.map_or_else(|| default_principal(default), Ok)? })
            }
        }
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn default_principal(text: &'static str) -> Result<Principal, Refusal> {
    Principal::new(text).map_err(|_| Refusal::internal("a default principal that is none"))
}

fn principal(headers: &HeaderMap) -> Result<Option<Principal>, Refusal> {
    let mut lines = headers.get_all(PRINCIPAL).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err(invalid_principal("The Principal header came more than once"));
    }
    let text = line.to_str().map_err(|_| invalid_principal("The Principal header has characters that are not visible ASCII"))?;
    outside_principal(text).map(Some)
}

/// Checks a principal that comes from outside.
pub(crate) fn outside_principal(text: &str) -> Result<Principal, Refusal> {
    if text == OWN_PRINCIPAL || text == OPERATOR_PRINCIPAL {
        return Err(invalid_principal(
            "The principals `nevertwice` and `operator` belong to the server's own work and to the operator's key",
        ));
    }
    Principal::new(text).map_err(|error| invalid_principal(format!("The principal is not 1 to 128 visible ASCII characters: {error}")))
}

fn invalid_principal(wrong: impl AsRef<str>) -> Refusal {
    Refusal::new(ErrorCode::PrincipalInvalid, wrong, "Send one principal of 1 to 128 visible ASCII characters, the same in every retry")
}
