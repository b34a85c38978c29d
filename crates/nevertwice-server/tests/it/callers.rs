//! All kinds of callers that there are, with what they present; and what the rule says of each, written a second time.

use std::path::{Path, PathBuf};

use nevertwice_server::config::Secret;
use nevertwice_server::{Access, Config, KeyId, KeyRole, Route, WantedKey, make_key, revoke_key, shard_of};
use serde_json::json;
use tempfile::TempDir;

use crate::client::Ask;
use crate::house::START_MS;
use crate::jwt::issuer::{By, TestIssuer, claims};

pub(crate) const OPERATOR: &str = "operator-key-0123456789";
pub(crate) const SERVICE: &str = "service-key-0123456789";

/// A kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Nobody,
    /// What no key looks like, and is none.
    WrongKey,
    UnknownId,
    /// The id of a key, and the secret of another.
    WrongSecret,
    ExpiredKey,
    RevokedKey,
    Reader,
    ReaderOfThisShard,
    ReaderOfAnotherShard,
    Service,
    ServiceForNobody,
    ServiceOfThisShard,
    /// The names of the path, but of the other kind.
    ServiceOfTheOtherKind,
    ServiceOfAnotherShard,
    Operator,
    OperatorOfThisShard,
    OperatorOfAnotherShard,
    ConfiguredService,
    ConfiguredServiceForNobody,
    ConfiguredOperator,
    /// A JWT; its subject has the name of the account in the table's paths.
    Person,
    PersonNamingItself,
    PersonNamingAnother,
    PersonOfTheIssuersOtherAudience,
    PersonWhoseTimeIsOver,
    PersonOfAStranger,
}

use Who::*;

impl Who {
    pub(crate) const ALL: &'static [Self] = &[
        Nobody,
        WrongKey,
        UnknownId,
        WrongSecret,
        ExpiredKey,
        RevokedKey,
        Reader,
        ReaderOfThisShard,
        ReaderOfAnotherShard,
        Service,
        ServiceForNobody,
        ServiceOfThisShard,
        ServiceOfTheOtherKind,
        ServiceOfAnotherShard,
        Operator,
        OperatorOfThisShard,
        OperatorOfAnotherShard,
        ConfiguredService,
        ConfiguredServiceForNobody,
        ConfiguredOperator,
        Person,
        PersonNamingItself,
        PersonNamingAnother,
        PersonOfTheIssuersOtherAudience,
        PersonWhoseTimeIsOver,
        PersonOfAStranger,
    ];

    /// What the rule says of them at a route: nothing where they are let in, or else status and code.
    pub(crate) fn expected(self, route: &Route) -> Option<(u16, &'static str)> {
        let names_shard = route.path.contains("{market}") || route.path.contains("{sale}");
        let role = Some((403, "role_insufficient"));
        let scope = Some((403, "scope_insufficient"));
        let unless = |is_fine: bool, refused| if is_fine { None } else { refused };
        let reader = match route.access {
            Access::Anyone => return None,
            Access::Known | Access::Reader | Access::Principal => None,
            Access::Service | Access::Operator => role,
        };
        let service = match route.access {
            Access::Anyone | Access::Known | Access::Reader | Access::Principal | Access::Service => None,
            Access::Operator => role,
        };
        let person = match route.access {
            Access::Anyone | Access::Principal | Access::Service => None,
            Access::Known | Access::Reader | Access::Operator => role,
        };
        let for_nobody = match route.access {
            Access::Anyone | Access::Known => None,
            Access::Reader | Access::Principal | Access::Service => Some((400, "principal_missing")),
            Access::Operator => role,
        };
        match self {
            Nobody | WrongKey | UnknownId | WrongSecret => Some((401, "credentials_missing")),
            ExpiredKey => Some((401, "credentials_expired")),
            RevokedKey => Some((401, "credentials_revoked")),
            Reader => reader,
            ReaderOfThisShard => reader.or(unless(names_shard, scope)),
            ReaderOfAnotherShard => reader.or(scope),
            Service | ConfiguredService => service,
            ServiceForNobody | ConfiguredServiceForNobody => for_nobody,
            ServiceOfThisShard => service.or(unless(names_shard, scope)),
            ServiceOfTheOtherKind | ServiceOfAnotherShard => service.or(scope),
            Operator | ConfiguredOperator => None,
            OperatorOfThisShard => unless(names_shard, scope),
            OperatorOfAnotherShard => scope,
            Person | PersonNamingItself => person,
            PersonNamingAnother => role,
            PersonWhoseTimeIsOver => Some((401, "credentials_expired")),
            PersonOfTheIssuersOtherAudience | PersonOfAStranger => Some((401, "credentials_invalid")),
        }
    }
}

/// A keys file with a key for each of them, and an issuer of JWTs.
pub(crate) struct Callers {
    folder: TempDir,
    issuer: TestIssuer,
    stranger: TestIssuer,
    keys: Vec<(Who, Secret)>,
}

/// The keys file of a folder.
pub(crate) fn keys_file(folder: &Path) -> PathBuf {
    folder.join("keys.toml")
}

/// A key that is wanted.
pub(crate) fn wanted(id: &str, role: KeyRole) -> WantedKey {
    WantedKey { id: KeyId::new(id).expect("an id"), role, shards: None, expires_at: None }
}

impl Callers {
    /// `market/market` and `sale/sale` are what the paths of the table name.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder can be made");
        let file = keys_file(folder.path());
        let made_at = START_MS - 60_000;
        let mut keys = Vec::new();
        for (who, id, role, shards) in [
            (WrongSecret, "wrong", KeyRole::Operator, &[][..]),
            (ExpiredKey, "expired", KeyRole::Operator, &[]),
            (RevokedKey, "revoked", KeyRole::Operator, &[]),
            (Reader, "reader", KeyRole::Reader, &[]),
            (ReaderOfThisShard, "reader-here", KeyRole::Reader, &["market/market", "sale/sale"]),
            (ReaderOfAnotherShard, "reader-there", KeyRole::Reader, &["market/other", "sale/other"]),
            (Service, "web", KeyRole::Service, &[]),
            (ServiceOfThisShard, "web-here", KeyRole::Service, &["sale/sale", "market/other", "market/market"]),
            (ServiceOfTheOtherKind, "web-kind", KeyRole::Service, &["sale/market", "market/sale"]),
            (ServiceOfAnotherShard, "web-there", KeyRole::Service, &["market/other", "sale/other"]),
            (Operator, "desk", KeyRole::Operator, &[]),
            (OperatorOfThisShard, "desk-here", KeyRole::Operator, &["market/market", "sale/sale"]),
            (OperatorOfAnotherShard, "desk-there", KeyRole::Operator, &["market/other"]),
        ] {
            let shards: Vec<_> = shards.iter().map(|shard| shard_of(shard).expect("a shard")).collect();
            let expires_at = (who == ExpiredKey).then_some(START_MS);
            let wanted = WantedKey { shards: (!shards.is_empty()).then_some(shards), expires_at, ..wanted(id, role) };
            keys.push((who, make_key(&file, wanted, made_at).expect("a key is made")));
        }
        revoke_key(&file, "revoked", made_at).expect("it is revoked");
        Self { folder, keys, issuer: TestIssuer::new(), stranger: TestIssuer::new() }
    }

    /// What a server needs that knows them.
    pub(crate) fn configure(&self, config: &mut Config) {
        config.operator_key = Some(Secret::new(OPERATOR));
        config.service_key = Some(Secret::new(SERVICE));
        config.keys_file = Some(keys_file(self.folder.path()));
        self.issuer.configure(config);
    }

    fn jwt(&self, who: Who) -> String {
        let mut claims = claims();
        claims["sub"] = json!("account");
        match who {
            PersonOfTheIssuersOtherAudience => claims["aud"] = json!("another-service"),
            PersonWhoseTimeIsOver => claims["exp"] = json!(START_MS / 1_000 - 60),
            _ => {}
        }
        let issuer = if who == PersonOfAStranger { &self.stranger } else { &self.issuer };
        issuer.sign(By::EdDsa, &By::EdDsa.header(), &claims)
    }

    fn key(&self, who: Who) -> &str {
        self.keys.iter().find(|(known, _)| *known == who).expect("there is a key").1.reveal()
    }

    /// A request as they send it.
    pub(crate) fn sign(&self, who: Who, ask: Ask) -> Ask {
        let letters = "a".repeat(52);
        let presented = match who {
            Nobody => return ask,
            WrongKey => "wrong-key-0123456789".to_owned(),
            UnknownId => format!("nevertwice_unknown_{letters}"),
            WrongSecret => format!("nevertwice_wrong_{letters}"),
            ServiceForNobody => self.key(Service).to_owned(),
            ConfiguredService | ConfiguredServiceForNobody => SERVICE.to_owned(),
            ConfiguredOperator => OPERATOR.to_owned(),
            Person
            | PersonNamingItself
            | PersonNamingAnother
            | PersonOfTheIssuersOtherAudience
            | PersonWhoseTimeIsOver
            | PersonOfAStranger => self.jwt(who),
            ExpiredKey
            | RevokedKey
            | Reader
            | ReaderOfThisShard
            | ReaderOfAnotherShard
            | Service
            | ServiceOfThisShard
            | ServiceOfTheOtherKind
            | ServiceOfAnotherShard
            | Operator
            | OperatorOfThisShard
            | OperatorOfAnotherShard => self.key(who).to_owned(),
        };
        let ask = ask.header("authorization", format!("Bearer {presented}"));
        match who {
            Service | ServiceOfThisShard | ServiceOfTheOtherKind | ServiceOfAnotherShard | ConfiguredService => {
                ask.header("principal", "ann")
            }
            PersonNamingItself => ask.header("principal", "account"),
            PersonNamingAnother => ask.header("principal", "ann"),
            _ => ask,
        }
    }
}
