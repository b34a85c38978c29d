//! Keys, for those who write a guard of their own. Each call is told apart by key, owner and generation: the same call again changes
//! nothing more, so none of them has an idempotency key of its own.

use nevertwice_api::{ErrorCode, Failure, Health, KeyDeed, KeyReply, fingerprint, wire};
use nevertwice_core::keys::{self as core, KeyRejection, OwnerId};
use nevertwice_core::{IdempotencyKey, Principal};

use super::key_audit::Deed;
use crate::access::Role;
use crate::app::App;
use crate::body;
use crate::call::{Call, invalid_query};
use crate::convert;
use crate::intent;
use crate::key_records::{KeyName, KeyRecords, KeyScope};
use crate::metrics::KeyOutcome;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// What the fingerprint of a registered request begins with.
const OPERATION: &str = "register_key";

pub(crate) async fn register(call: Box<Call>) -> Result<Reply, Refusal> {
    let (asked, levels) = call.fenced::<wire::RegisterKey>(call.app.limits.body_bytes_max).await?;
    let keys = records(&call.app)?;
    let name = name(&call.caller.principal, asked.scope.as_deref(), &asked.key)?;
    let owner = convert::owner(&asked.owner)?;
    let command = core::RegisterKey {
        fingerprint: fingerprint_of(&asked)?,
        owner,
        lease_ms: lease(keys, asked.lease_ms)?,
        retention_ms: keys.bounds.retention_ms,
        expires_at: asked.expires_at,
        lapse: asked.lapse.into(),
    };
    let deed = Deed { call: &call, keys, name: &name, deed: KeyDeed::Registered, generation: None, names_owner: true };
    let told = deed.tell(&command).await?;
    let reply = keys.register(&name, command, levels).await?;
    if reply.reply.is_err() {
        deed.take_back(told).await;
    }
    let at = KeyReply { reply: Ok(()), at_ms: reply.at_ms, levels: reply.levels };
    let answer = match reply.reply {
        Ok(registered) => convert::registered(registered, &owner, asked.lapse.into(), &at),
        Err(rejection) => Err(refuse(keys, &rejection, at.at_ms)),
    };
    let outcome = answer.as_ref().map_or_else(|refusal| refusal.code().into(), |answer| answer.registration.into());
    call.app.metrics.keys.became(outcome);
    if let Some(answer) = answer.as_ref().ok().and_then(|answer| answer.answer.as_ref()) {
        let body_bytes = answer.body_text.as_ref().map(String::len).or_else(|| answer.body_base64.as_ref().map(|text| text.len() / 4 * 3));
        call.app.metrics.keys.replayed_bytes(body_bytes.unwrap_or_default());
    }
    Reply::read(&answer?)
}

pub(crate) async fn complete(call: Box<Call>) -> Result<Reply, Refusal> {
    let (asked, levels) = call.fenced::<wire::CompleteKey>(call.app.limits.answer_call_bytes_max).await?;
    let keys = records(&call.app)?;
    let name = name(&call.caller.principal, asked.scope.as_deref(), &asked.key)?;
    let owner = convert::owner(&asked.owner)?;
    let (answer, bytes) = convert::answer(&asked.answer)?;
    let is_tombstone = answer.body == core::BodyKept::Tombstone;
    let body_bytes = bytes.body.len();
    let command = core::CompleteKey { owner, generation: asked.generation, answer };
    let deed = Deed { call: &call, keys, name: &name, deed: KeyDeed::Completed, generation: Some(asked.generation), names_owner: true };
    let told = deed.tell(&command).await?;
    let reply = keys.complete(&name, command, bytes, levels).await?;
    if reply.reply.is_err() {
        deed.take_back(told).await;
    }
    let completion = judged(&call.app, keys, reply.reply, reply.at_ms, |completion| match completion {
        core::Completion::KeptBefore => KeyOutcome::KeptBefore,
        core::Completion::Kept if is_tombstone => KeyOutcome::Tombstone,
        core::Completion::Kept => KeyOutcome::Kept,
    })?;
    if completion == core::Completion::Kept && !is_tombstone {
        call.app.metrics.keys.kept_bytes(body_bytes);
    }
    Reply::read(&wire::KeyCompleted {
        kept_before: completion == core::Completion::KeptBefore,
        owner: convert::owner_text(&owner),
        generation: asked.generation,
        at_ms: reply.at_ms,
        levels: reply.levels.iter().collect(),
    })
}

pub(crate) async fn renew(call: Box<Call>) -> Result<Reply, Refusal> {
    let (asked, _) = call.fenced::<wire::RenewLease>(call.app.limits.body_bytes_max).await?;
    let keys = records(&call.app)?;
    let name = name(&call.caller.principal, asked.scope.as_deref(), &asked.key)?;
    let lease_ms = lease(keys, asked.lease_ms)?;
    let renewed = async {
        let owner = owner(&call, keys, &name, asked.owner.as_deref(), asked.generation).await?;
        let command = core::RenewLease { owner, generation: asked.generation, lease_ms };
        let (generation, names_owner) = (Some(asked.generation), asked.owner.is_some());
        let deed = Deed { call: &call, keys, name: &name, deed: KeyDeed::Renewed, generation, names_owner };
        let told = deed.tell(&command).await?;
        let reply = keys.renew(&name, command).await?;
        if reply.reply.is_err() {
            deed.take_back(told).await;
        }
        let lease = judged(&call.app, keys, reply.reply, reply.at_ms, |_| KeyOutcome::Renewed)?;
        Ok(wire::LeaseRenewed {
            owner: convert::owner_text(&owner),
            generation: lease.generation,
            lease_expires_at: lease.expires_at,
            at_ms: reply.at_ms,
            levels: reply.levels.iter().collect(),
        })
    };
    let renewed = renewed.await;
    if asked.owner.is_none() {
        tell(&call, "renew", &name, asked.generation, renewed.as_ref().err());
    }
    Reply::read(&renewed?)
}

pub(crate) async fn release(call: Box<Call>) -> Result<Reply, Refusal> {
    let (asked, levels) = call.fenced::<wire::ReleaseKey>(call.app.limits.body_bytes_max).await?;
    let keys = records(&call.app)?;
    let name = name(&call.caller.principal, asked.scope.as_deref(), &asked.key)?;
    let released = async {
        let owner = owner(&call, keys, &name, asked.owner.as_deref(), asked.generation).await?;
        let command = core::ReleaseKey { owner, generation: asked.generation };
        let (generation, names_owner) = (Some(asked.generation), asked.owner.is_some());
        let deed = Deed { call: &call, keys, name: &name, deed: KeyDeed::Released, generation, names_owner };
        let told = deed.tell(&command).await?;
        let reply = keys.release(&name, command, levels).await?;
        if reply.reply.is_err() {
            deed.take_back(told).await;
        }
        judged(&call.app, keys, reply.reply, reply.at_ms, |()| KeyOutcome::Released)?;
        Ok(wire::KeyReleased {
            owner: convert::owner_text(&owner),
            generation: asked.generation,
            at_ms: reply.at_ms,
            levels: reply.levels.iter().collect(),
        })
    };
    let released = released.await;
    if asked.owner.is_none() {
        tell(&call, "release", &name, asked.generation, released.as_ref().err());
    }
    Reply::read(&released?)
}

pub(crate) async fn inspect(call: Box<Call>) -> Result<Reply, Refusal> {
    let parameters = call.parameters(&["scope", "key"])?;
    let keys = records(&call.app)?;
    let scope = parameters.text("scope").map(read_scope_of_query).transpose()?;
    let name = KeyName { principal: call.caller.principal.clone(), scope, key: intent::plain_key(parameters.needed("key")?)? };
    let now_ms = call.app.clock.now_ms();
    let record = keys.inspect(&name).await?.ok_or_else(|| refuse(keys, &KeyRejection::UnknownKey, now_ms))?;
    Reply::read(&convert::key_record(&name, &record, now_ms))
}

/// The scope of a query.
pub(crate) fn read_scope_of_query(text: &str) -> Result<KeyScope, Refusal> {
    KeyScope::new(text).ok_or_else(|| invalid_query("The query parameter `scope` is not 1 to 128 visible ASCII characters"))
}

/// The records, unless this server copies another one: a key that it took for free may be claimed there.
fn records(app: &App) -> Result<&KeyRecords, Refusal> {
    match app.backend.status().health {
        Health::Following => Err(Failure::StandbyFollows.into()),
        _ => Ok(&app.keys),
    }
}

fn name(principal: &Principal, scope: Option<&str>, key: &str) -> Result<KeyName, Refusal> {
    let scope = scope.map(|text| KeyScope::new(text).ok_or_else(|| body::invalid("scope", "it is not 1 to 128 visible ASCII characters")));
    let key = IdempotencyKey::new(key).map_err(|error| body::invalid("key", format_args!("it is no idempotency key: {error}")))?;
    Ok(KeyName { principal: principal.clone(), scope: scope.transpose()?, key })
}

/// What is asked, as the caller digests it, or as the canonical form of its JSON text does.
fn fingerprint_of(asked: &wire::RegisterKey) -> Result<[u8; 32], Refusal> {
    match (&asked.fingerprint, &asked.request) {
        (Some(digest), None) => convert::digest("fingerprint", digest),
        (None, Some(text)) => fingerprint::of_json(&[OPERATION], text.as_bytes())
            .map_err(|error| body::invalid("request", format_args!("it is not one JSON text: {error}; send a `fingerprint` of your own"))),
        _ => Err(body::invalid("fingerprint", "exactly one of `fingerprint` and `request` has to be there")),
    }
}

fn lease(keys: &KeyRecords, asked: Option<i64>) -> Result<i64, Refusal> {
    let (lease_ms, max) = (asked.unwrap_or(keys.bounds.lease_ms), keys.bounds.lease_ms_max);
    if (0..=max).contains(&lease_ms) {
        return Ok(lease_ms);
    }
    let wrong = format!("`lease_ms` must be from 0 to {max}");
    let refusal = Refusal::new(ErrorCode::SettingOutOfRange, wrong, "Correct it, and send the request again");
    Err(refusal.figure("setting", "lease_ms").figure("min", 0).figure("max", max))
}

/// The attempt that is named; or, where an operator names none, the one that has the key in that generation.
async fn owner(call: &Call, keys: &KeyRecords, name: &KeyName, named: Option<&str>, generation: u64) -> Result<OwnerId, Refusal> {
    if let Some(named) = named {
        return convert::owner(named);
    }
    if call.caller.role != Role::Operator {
        return Err(body::invalid("owner", "only an operator need not name it"));
    }
    let now_ms = call.app.clock.now_ms();
    let record = keys.inspect(name).await?.ok_or_else(|| refuse(keys, &KeyRejection::UnknownKey, now_ms))?;
    if record.generation != generation {
        let stale = Err(KeyRejection::StaleOwner { generation: record.generation });
        return judged(&call.app, keys, stale, now_ms, |_| KeyOutcome::Refused);
    }
    Ok(*convert::owner_of(&record))
}

/// Counts what a command came to, and says its no.
fn judged<T>(
    app: &App,
    keys: &KeyRecords,
    reply: Result<T, KeyRejection>,
    at_ms: i64,
    outcome: impl FnOnce(&T) -> KeyOutcome,
) -> Result<T, Refusal> {
    let judged = reply.map_err(|rejection| refuse(keys, &rejection, at_ms));
    app.metrics.keys.became(judged.as_ref().map_or_else(|refusal| refusal.code().into(), outcome));
    judged
}

fn refuse(keys: &KeyRecords, rejection: &KeyRejection, at_ms: i64) -> Refusal {
    convert::refuse_key(rejection, at_ms, keys.bounds.lease_ms)
}

/// What an operator did to a claim of somebody else stands in the log as well, refusals included.
fn tell(call: &Call, command: &str, name: &KeyName, generation: u64, refused: Option<&Refusal>) {
    let KeyName { principal, scope, key } = name;
    let (who, from, scope) = (call.caller.name.as_str(), call.caller.peer, scope.as_ref().map_or("", KeyScope::as_str));
    match refused {
        None => tracing::warn!(command, who, %from, %principal, scope, %key, generation, "an operator changed a key's record"),
        Some(refusal) => {
            let code = refusal.code();
            tracing::warn!(command, who, %from, %principal, scope, %key, generation, %code, "an operator's command on a key's record was refused");
        }
    }
}
