//! Keys: wire to core, core to wire, and what the store's noes say to people.

use axum::http::HeaderName;
use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use nevertwice_api::encoding::{LINES_MAX, decode_lines, encode_lines};
use nevertwice_api::{AnswerBytes, ErrorCode, KeyReply, KeyStoreFailure, Registered, wire};
use nevertwice_core::keys::{BodyKept, KeyAnswer, KeyRecord, KeyRejection, KeyState, LapsePolicy, OwnerId, Registration};

use crate::body::invalid;
use crate::key_records::{KeyName, KeyScope};
use crate::refusal::Refusal;

/// Reads an attempt.
pub(crate) fn owner(text: &str) -> Result<OwnerId, Refusal> {
    digest("owner", text).map(OwnerId)
}

/// The attempt as the wire shows it.
pub(crate) fn owner_text(owner: &OwnerId) -> String {
    HEXLOWER.encode(&owner.0)
}

/// Reads 32 bytes in hexadecimal digits.
pub(crate) fn digest(member: &str, text: &str) -> Result<[u8; 32], Refusal> {
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| invalid(member, "it is not 64 hexadecimal digits"))
}

/// Reads an answer: what the core knows of it, and its bytes.
pub(crate) fn answer(answer: &wire::KeptAnswer) -> Result<(KeyAnswer, AnswerBytes), Refusal> {
    let wire::KeptAnswer { status, headers, body_text, body_base64, tombstone_bytes } = answer;
    if !(100..=599).contains(status) {
        return Err(invalid("answer.status", "it is not a status from 100 to 599"));
    }
    let body = match (body_text, body_base64, tombstone_bytes) {
        (None, None, Some(_)) if !headers.is_empty() => {
            return Err(invalid("answer.headers", "an answer that is not kept has no header lines"));
        }
        (None, None, Some(bytes)) => return Ok((AnswerBytes::tombstone(*status, *bytes), AnswerBytes::default())),
        (Some(text), None, None) => Bytes::from(text.clone().into_bytes()),
        (None, Some(text), None) => BASE64
            .decode(text.as_bytes())
            .map_err(|error| invalid("answer.body_base64", format_args!("it is not base 64 with padding: {error}")))?
            .into(),
        (None, None, None) => Bytes::new(),
        _ => return Err(invalid("answer", "at most one of `body_text`, `body_base64` and `tombstone_bytes` can be there")),
    };
    let bytes = AnswerBytes { head: head(headers)?, body };
    Ok((bytes.describe(*status), bytes))
}

fn head(lines: &[wire::HeaderLine]) -> Result<Bytes, Refusal> {
    let mut read = Vec::with_capacity(lines.len().min(LINES_MAX));
    for (number, wire::HeaderLine { name, value }) in lines.iter().enumerate() {
        let wrong = |part: &str, what: &str| invalid(&format!("answer.headers[{number}].{part}"), what);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name", "it is not the name of a header"))?;
        let is_value = value.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'));
        if !is_value || value.trim_matches([' ', '\t']) != value {
            return Err(wrong("value", "it is not visible ASCII with blanks and tabs between"));
        }
        read.push((name, value));
    }
    let encoded = encode_lines(read.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())));
    encoded.map(Bytes::from).ok_or_else(|| invalid("answer.headers", format_args!("they are more than {LINES_MAX} lines, or too long")))
}

/// An answer that is repeated; none if its bytes are not kept, or not those that were.
pub(crate) fn kept_answer(answer: &KeyAnswer, bytes: AnswerBytes) -> Option<wire::KeptAnswer> {
    if answer.body == BodyKept::Tombstone || !bytes.fit(answer) {
        return None;
    }
    let line = |(name, value): (&[u8], &[u8])| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(wire::HeaderLine { name: text(name)?, value: text(value)? })
    };
    let headers = decode_lines(&bytes.head).ok()?.into_iter().map(line).collect::<Option<_>>()?;
    let (body_text, body_base64) = match String::from_utf8(bytes.body.into()) {
        Ok(text) => (Some(text), None),
        Err(other) => (None, Some(BASE64.encode(other.as_bytes()))),
    };
    Some(wire::KeptAnswer { status: u16::try_from(answer.status).ok()?, headers, body_text, body_base64, tombstone_bytes: None })
}

/// What was decided about a registration by that attempt, which came with that policy.
pub(crate) fn registered(
    registered: Registered,
    owner: &OwnerId,
    lapse: LapsePolicy,
    reply: &KeyReply<()>,
) -> Result<wire::KeyRegistered, Refusal> {
    let claimed = |registration, taken_over, lease: nevertwice_core::keys::Lease| wire::KeyRegistered {
        registration,
        owner: Some(owner_text(owner)),
        generation: lease.generation,
        lease_expires_at: Some(lease.expires_at),
        answer: None,
        taken_over: Some(taken_over),
        at_ms: reply.at_ms,
        levels: reply.levels.iter().collect(),
    };
    match registered.registration {
        Registration::Fresh(lease) => Ok(claimed(wire::Registration::Fresh, false, lease)),
        Registration::TakenOver(lease) => Ok(claimed(wire::Registration::TakenOver, true, lease)),
        Registration::Resumed(lease) => Ok(claimed(wire::Registration::Resumed, lapse != LapsePolicy::Refuse, lease)),
        Registration::Replay { generation, answer } => match kept_answer(&answer, registered.bytes) {
            Some(kept) => Ok(wire::KeyRegistered {
                registration: wire::Registration::Replay,
                owner: None,
                generation,
                lease_expires_at: None,
                answer: Some(kept),
                taken_over: None,
                at_ms: reply.at_ms,
                levels: reply.levels.iter().collect(),
            }),
            None => Err(not_kept(generation, &answer)),
        },
    }
}

fn not_kept(generation: u64, answer: &KeyAnswer) -> Refusal {
    Refusal::new(
        ErrorCode::AnswerNotKept,
        format!("The request with this key was carried out with status {}, and its answer was not kept", answer.status),
        "Do not run it again; read the result where your service shows it",
    )
    .figure("status", answer.status)
    .figure("body_bytes", answer.body_bytes)
    .figure("generation", generation)
}

/// A record as the wire shows it, as of an instant.
pub(crate) fn key_record(name: &KeyName, record: &KeyRecord, at_ms: i64) -> wire::KeyRecord {
    let answer = match &record.state {
        KeyState::Completed(completion) => Some(&completion.answer),
        KeyState::Free(_) | KeyState::InProgress(_) => None,
    };
    let (state, lease_expires_at) = match &record.state {
        KeyState::Free(_) => (wire::KeyState::Free, None),
        KeyState::InProgress(claim) => (wire::KeyState::InProgress, Some(claim.lease_expires_at)),
        KeyState::Completed(_) => (wire::KeyState::Completed, None),
    };
    wire::KeyRecord {
        principal: name.principal.to_string(),
        scope: name.scope.as_ref().map(|scope| KeyScope::as_str(scope).to_owned()),
        key: name.key.to_string(),
        state,
        is_lapsed: record.is_lapsed(at_ms),
        owner: owner_text(owner_of(record)),
        generation: record.generation,
        changed_at: record.changed_at,
        forgotten_at: record.forgotten_at(),
        lease_expires_at,
        status: answer.and_then(|answer| u16::try_from(answer.status).ok()),
        body_bytes: answer.map(|answer| answer.body_bytes),
        is_kept: answer.map(|answer| answer.body == BodyKept::Whole),
        at_ms,
    }
}

/// The attempt that has a key, or had it last.
pub(crate) const fn owner_of(record: &KeyRecord) -> &OwnerId {
    match &record.state {
        KeyState::Free(freedom) => &freedom.owner,
        KeyState::InProgress(claim) => &claim.owner,
        KeyState::Completed(completion) => &completion.owner,
    }
}

/// A rejection as the wire shows it. `lease_ms` is how long a claim is, for those of whose work nobody knows anything.
pub(crate) fn refuse_key(rejection: &KeyRejection, at_ms: i64, lease_ms: i64) -> Refusal {
    use KeyRejection as R;
    let code = ErrorCode::from(rejection);
    let new = |wrong: &str, next: &str| Refusal::new(code, wrong, next);
    match rejection {
        R::InstantOutOfRange => {
            new("The store's clock shows an instant outside the range that it accepts", "Tell the operator to set the clock")
        }
        R::SettingOutOfRange { setting } => {
            new(&format!("`{setting}` is outside its range"), "Correct it, and send the request again").figure("setting", setting)
        }
        R::UnknownKey => new("Nothing is known of the key, or no longer", "Check principal, scope and key; to claim it, register it"),
        R::StaleOwner { generation } => new(
            &format!("Another attempt owns the key, in generation {generation}"),
            "Stop working; compare what you did with what the present owner does",
        )
        .figure("generation", generation),
        R::KeyCompleted => new("The key has its answer already", "Register it to read the answer"),
        R::KeyReleased => new("The key was given back already", "Register it again before working on it"),
        R::FingerprintMismatch { generation } => {
            new("The key was used for something else", "Draw a new key for what you mean now, or send again exactly what you sent first")
                .figure("generation", generation)
        }
        R::KeyInProgress { generation, lease_expires_at } => {
            new("The same request is being worked on", "Wait until its lease ends, as Retry-After says, and register the same key again")
                .figure("generation", generation)
                .figure("lease_expires_at", lease_expires_at)
                .retry_after(seconds(lease_expires_at.saturating_sub(at_ms)))
        }
        R::KeyLapsed { generation, lease_expired_at } => new(
            "An attempt with this key began, its lease ended, and nobody knows what became of it",
            "Find out; if nothing has happened, an operator or its owner gives the key back; or register with another `lapse`",
        )
        .figure("generation", generation)
        .figure("lease_expired_at", lease_expired_at)
        .retry_after(seconds(lease_ms)),
        R::IntentExpired { expires_at } => new(
            "The key's own time has run out, and nothing is known of it",
            "It never happened and never will; to mean it again, draw a new key",
        )
        .figure("expires_at", expires_at),
        R::IntentExpiryTooFar { expires_at_max } => {
            new("The key would outlive its memory", "Send an earlier `expires_at`, at most `expires_at_max`, or none")
                .figure("expires_at_max", expires_at_max)
        }
        R::GenerationsExhausted => new("The key was claimed as often as can be counted", "Draw a new key"),
    }
}

/// Whole seconds, never less than that.
fn seconds(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).div_ceil(1_000)
}

/// What a store without an answer says to people.
pub(crate) fn refuse_key_store(failure: &KeyStoreFailure) -> Refusal {
    let code = failure.code();
    match failure {
        KeyStoreFailure::Unavailable => {
            Refusal::new(code, "The store of keys can't be used now", "Run nothing, and send the same request again")
        }
        KeyStoreFailure::TooNew => Refusal::new(
            code,
            "A newer version of the server wrote the record of this key",
            "Run nothing, and tell the operator to start the newer version",
        ),
        KeyStoreFailure::OutcomeUnknown => Refusal::outcome_unknown(),
        KeyStoreFailure::Full => Refusal::new(
            code,
            "The store holds as many keys, or bytes of answers, as it may, and forgets none that is still remembered",
            "Run nothing, and send the same request again later; to complete a key all the same, send `tombstone_bytes` instead of the answer",
        ),
        KeyStoreFailure::PrincipalFull => Refusal::new(
            code,
            "This principal holds as many keys, or bytes of answers, as one may",
            "Run nothing, and send the same request again when earlier keys are forgotten; to complete a key all the same, send `tombstone_bytes` instead of the answer",
        ),
        KeyStoreFailure::BytesRefused => Refusal::new(
            code,
            "The answer has more bytes than the store keeps of one",
            "Complete the key with `tombstone_bytes` instead of header lines and a body",
        ),
        KeyStoreFailure::LevelUnavailable => {
            Refusal::new(code, "The store of keys does not offer that level", "Ask for a level that it offers")
        }
    }
}
