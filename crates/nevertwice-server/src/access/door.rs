//! The door: finds out who calls, and lets in whom the route's rule and the credential's scope let in.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use nevertwice_api::ErrorCode;
use nevertwice_core::{Principal, ShardId};

use super::caller::{Caller, CredentialName, OPERATOR_PRINCIPAL, another_named, default_principal, principal};
use super::configured::ConfiguredKeys;
use super::identity::Identity;
use super::jwt::{Issuer, looks_like_jwt};
use super::keys::{self, Keys, Presented};
use super::rule::{Access, Role};
use crate::config::Config;
use crate::error::StartError;
use crate::metrics::{Metrics, WatchedFile};
use crate::refusal::Refusal;
use crate::watched::{Reread, Watched};

/// What is known about credentials.
#[derive(Debug)]
pub(crate) struct Door {
    pub(super) configured: ConfiguredKeys,
    pub(super) keys: Option<Arc<Watched<Keys>>>,
    pub(super) issuer: Option<Issuer>,
    /// Without any credentials configured, whoever reaches the server is the operator.
    pub(super) is_open: bool,
}

impl Door {
    /// Reads what the configuration names.
    pub(crate) fn open(config: &Config, metrics: &Arc<Metrics>) -> Result<Self, StartError> {
        let keys = config.keys_file.as_ref().map(|path| {
            let parse = |contents: &[Vec<u8>]| {
                let keys = contents.first().map_or(Ok(Vec::new()), |bytes| keys::read(bytes)).map(Keys::of)?;
                tracing::info!(keys = keys.len(), "the keys file was read");
                Ok(keys)
            };
            Watched::open(WatchedFile::Keys, vec![path.clone()], keys::FILE_BYTES_MAX, Arc::clone(metrics), parse).map(Arc::new)
        });
        Ok(Self {
            configured: ConfiguredKeys::of(config),
            keys: keys.transpose()?,
            issuer: Issuer::open(config, metrics)?,
            is_open: !config.has_credentials(),
        })
    }

    /// The files that it is made from.
    pub(crate) fn files(&self) -> impl Iterator<Item = Arc<dyn Reread>> {
        let keys = self.keys.iter().map(|keys| Arc::clone(keys) as Arc<dyn Reread>);
        keys.chain(self.issuer.iter().map(|issuer| issuer.files() as Arc<dyn Reread>))
    }

    /// Who calls. Nobody is told apart from somebody whose time is over only by who presents a genuine credential.
    pub(crate) fn identify(&self, headers: &HeaderMap, now_ms: i64) -> Result<Identity, Refusal> {
        if self.is_open {
            return Ok(Identity::of(Role::Operator, CredentialName::Local));
        }
        let Some(presented) = bearer(headers) else { return Err(missing("The request carries no credentials")) };
        if let Some(keys) = &self.keys {
            match keys.now().find(presented, now_ms) {
                Presented::Other => {}
                Presented::Unknown => return Err(missing("The request carries a key that the server does not know")),
                Presented::Expired(known) => return Err(expired(&known.id)),
                Presented::Revoked(known) => return Err(revoked(&known.id)),
                Presented::Valid(known) => {
                    let name = CredentialName::Key(Arc::clone(&known.id));
                    return Ok(Identity { role: known.role, name, scope: known.scope.clone(), subject: None });
                }
            }
        }
        match self.configured.role(presented) {
            Role::Operator => Ok(Identity::of(Role::Operator, CredentialName::Operator)),
            Role::Service => Ok(Identity::of(Role::Service, CredentialName::Service)),
            Role::Nobody | Role::Principal | Role::Reader => self.identify_person(presented, now_ms),
        }
    }

    /// Who a person is, by what the issuer signed about them. A JWT makes nobody more than a person.
    fn identify_person(&self, presented: &[u8], now_ms: i64) -> Result<Identity, Refusal> {
        let issuer = self.issuer.as_ref().filter(|_| looks_like_jwt(presented));
        let issuer = issuer.ok_or_else(|| missing("The request carries no credentials that the server knows"))?;
        let subject = issuer.subject(presented, now_ms)?;
        let name = CredentialName::Jwt(issuer.name());
        Ok(Identity { role: Role::Principal, name, scope: issuer.scope(), subject: Some(subject) })
    }

    /// Lets somebody in, if the route lets them. `shard` is the one that the route's path names.
    pub(crate) fn admit(
        &self,
        access: Access,
        shard: Option<&ShardId>,
        identity: Identity,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Result<Caller, Refusal> {
        let Identity { role, name, scope, subject } = identity;
        if !access.admits(role) {
            return Err(insufficient(access, role));
        }
        if access != Access::Anyone && !scope.has(shard) {
            return Err(out_of_scope(shard));
        }
        let principal = match role {
            Role::Nobody => default_principal("anyone")?,
            Role::Service if !access.is_on_behalf() => default_principal("anyone")?,
            Role::Service => principal(headers)?.ok_or_else(nobody_named)?,
            Role::Principal => itself(subject, headers)?,
            Role::Reader => principal(headers)?.map_or_else(|| default_principal("reader"), Ok)?,
            Role::Operator => {
                let default = if self.is_open { "local" } else { OPERATOR_PRINCIPAL };
                principal(headers)?.map_or_else(|| default_principal(default), Ok)?
            }
        };
        let is_on_behalf = access.is_on_behalf() && matches!(role, Role::Service | Role::Principal);
        Ok(Caller { role, principal, is_on_behalf, name, peer })
    }
}

/// The principal that a person is. Who names itself as well says nothing new; who names another is refused.
fn itself(subject: Option<Principal>, headers: &HeaderMap) -> Result<Principal, Refusal> {
    let subject = subject.ok_or_else(|| Refusal::internal("a person without a name"))?;
    match principal(headers)? {
        Some(named) if named != subject => Err(another_named()),
        Some(_) | None => Ok(subject),
    }
}

/// What came as `Authorization: Bearer`, in exactly one header line.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, presented) = line.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(presented)
}

fn missing(wrong: &str) -> Refusal {
    Refusal::new(
        ErrorCode::CredentialsMissing,
        wrong,
        "Send `Authorization: Bearer` and a key that the operator gave you, or a JWT where the server takes them, in one header line",
    )
}

fn expired(id: &str) -> Refusal {
    Refusal::new(
        ErrorCode::CredentialsExpired,
        format!("The key `{id}` is known, and its time is over"),
        "Ask the operator for another, and send the request again with the same idempotency key",
    )
}

fn revoked(id: &str) -> Refusal {
    Refusal::new(
        ErrorCode::CredentialsRevoked,
        format!("The key `{id}` was revoked"),
        "Ask the operator for another, and send the request again with the same idempotency key",
    )
}

fn insufficient(access: Access, role: Role) -> Refusal {
    Refusal::new(
        ErrorCode::RoleInsufficient,
        format!("This is for: {}. The credentials are those of a {}", access.word(), role.word()),
        "Ask somebody in such a role to do it",
    )
    .figure("role", role.word())
}

fn out_of_scope(shard: Option<&ShardId>) -> Refusal {
    let wrong = match shard {
        Some(shard) => format!("The key is for other shards than {shard}"),
        None => "The key is for some shards only, and this names none of them in its path".to_owned(),
    };
    Refusal::new(ErrorCode::ScopeInsufficient, wrong, "Use a key that is for this shard, or for all")
}

fn nobody_named() -> Refusal {
    Refusal::new(
        ErrorCode::PrincipalMissing,
        "A service acts on behalf of somebody, and the request does not say of whom",
        "Send the `Principal` header: 1 to 128 visible ASCII characters, the same in every retry",
    )
}
