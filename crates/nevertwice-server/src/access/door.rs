//! The door: finds out who calls, and lets in whom the route's rule lets in.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};
use nevertwice_api::ErrorCode;

use super::caller::{Caller, CredentialName, OPERATOR_PRINCIPAL, default_principal, principal};
use super::configured::ConfiguredKeys;
use super::rule::{Access, Role};
use crate::config::Config;
use crate::refusal::Refusal;

/// What is known about credentials.
pub(crate) struct Door {
    configured: ConfiguredKeys,
    /// Without any credentials configured, whoever reaches the server is the operator.
    is_open: bool,
}

impl Door {
    pub(crate) fn of(config: &Config) -> Self {
        Self { configured: ConfiguredKeys::of(config), is_open: !config.has_credentials() }
    }

    fn identify(&self, headers: &HeaderMap) -> (Role, CredentialName) {
        if self.is_open {
            return (Role::Operator, CredentialName::Local);
        }
        match bearer(headers).map_or(Role::Nobody, |presented| self.configured.role(presented)) {
            Role::Nobody => (Role::Nobody, CredentialName::Anyone),
            Role::Service => (Role::Service, CredentialName::Service),
            Role::Operator => (Role::Operator, CredentialName::Operator),
        }
    }

    /// Who calls, if the route lets them.
    pub(crate) fn admit(&self, access: Access, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Refusal> {
        if access == Access::Anyone {
            return Ok(Caller { role: Role::Nobody, principal: default_principal("anyone")?, name: CredentialName::Anyone, peer });
        }
        let (role, name) = self.identify(headers);
        let principal = match (access, role) {
            (_, Role::Nobody) => {
                return Err(Refusal::new(
                    ErrorCode::CredentialsMissing,
                    "The request carries no credentials that the server knows",
                    "Send `Authorization: Bearer` with the operator key or the service key",
                ));
            }
            (Access::Operator, Role::Service) => {
                return Err(Refusal::new(
                    ErrorCode::RoleInsufficient,
                    "This takes the operator key, and the request came with the service key",
                    "Ask the operator to do it",
                ));
            }
            (Access::Known, _) => default_principal("anyone")?,
            (_, Role::Service) => principal(headers)?.ok_or_else(|| {
                Refusal::new(
                    ErrorCode::PrincipalMissing,
                    "A service acts on behalf of somebody, and the request does not say of whom",
                    "Send the `Principal` header: 1 to 128 visible ASCII characters, the same in every retry",
                )
            })?,
            (_, Role::Operator) => {
                let default = if self.is_open { "local" } else { OPERATOR_PRINCIPAL };
                principal(headers)?.map_or_else(|| default_principal(default), Ok)?
            }
        };
        Ok(Caller { role, principal, name, peer })
    }
}

/// What came as `Authorization: Bearer`, in exactly one header line.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, presented) = line.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(presented)
}
