//! The readers of what comes from outside, open to the fuzz targets (feature `fuzzing`). Each is what the server itself calls:
//! nothing here reads on its own.

#![allow(clippy::result_large_err, clippy::type_complexity, reason = "what the targets compare is what a client would be shown")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use nevertwice_api::wire::Problem;
use nevertwice_api::{Level, Levels, Request};
use nevertwice_core::{IdempotencyKey, Name, Position, Principal, ShardId, TraceContext};
use serde::de::DeserializeOwned;

use crate::access::{self, Caller, CredentialName, Door, Files, KeyRecord, Role, outside_principal};
use crate::call::{Parameters, read_name, read_position};
use crate::config::{Config, Sources};
use crate::endpoints::batch;
use crate::error::StartError;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::trace::Steps;
use crate::{body, config, intent, person_secret};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Header lines as they came; `None` where no HTTP server lets them through.
#[derive(Debug)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Takes the lines, name and value.
    #[must_use]
    pub fn new<'a>(lines: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Option<Self> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.try_append(HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?).ok()?;
        }
        Some(Self(headers))
    }

    /// `Idempotency-Key`.
    pub fn idempotency_key(&self) -> Result<IdempotencyKey, Problem> {
        intent::idempotency_key(&self.0).map_err(Refusal::into_problem)
    }

    /// `Idempotency-Expires`.
    pub fn expires_at(&self) -> Result<Option<i64>, Problem> {
        intent::expires_at(&self.0).map_err(Refusal::into_problem)
    }

    /// `Ack-Level`.
    pub fn ack_levels(&self) -> Result<Levels, Problem> {
        intent::ack_levels(&self.0).map_err(Refusal::into_problem)
    }

    /// From where a request came that these networks' proxies have passed on; `None` if they are no networks.
    #[must_use]
    pub fn peer(&self, connected: IpAddr, trusted: &str) -> Option<IpAddr> {
        Some(Peer::of(connected, &self.0, &trusted.parse().ok()?).0)
    }

    /// The trace that a request is part of, and what names the server's step in the answer.
    #[must_use]
    pub fn trace(&self) -> Option<(TraceContext, String)> {
        let traced = Steps::new().trace(&self.0)?;
        let mut answer = HeaderMap::new();
        traced.answer(&mut answer);
        let step = answer.get("traceresponse").and_then(|value| value.to_str().ok()).unwrap_or_default();
        Some((traced.caller, step.to_owned()))
    }

    /// `Content-Type`.
    pub fn media_type(&self) -> Result<(), Problem> {
        body::check_media_type(&self.0, &["application/json"]).map_err(Refusal::into_problem)
    }
}

/// A body, by the names of its members.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    body::parse(bytes).map_err(Refusal::into_problem)
}

/// A batch of orders, line by line, as the principal `fuzz` sends it.
pub fn batch(
    market: &Name,
    bytes: &[u8],
    lines_max: usize,
    line_bytes_max: usize,
) -> Result<Vec<(Option<IdempotencyKey>, Result<Request, Problem>)>, Problem> {
    let principal = Principal::new("fuzz").expect("four letters are a principal");
    let caller = Caller { role: Role::Service, principal, name: CredentialName::Service, peer: LOOPBACK, is_on_behalf: true };
    let market = ShardId::market(market.clone());
    let lines = batch::lines(bytes, lines_max).map_err(Refusal::into_problem)?;
    let read = lines.into_iter().map(|line| {
        let (key, request) = batch::read_line(&caller, &market, Levels::NONE, line, line_bytes_max);
        (key, request.map_err(Refusal::into_problem))
    });
    Ok(read.collect())
}

/// A query string of which only these parameters are known: their texts in that order, then `from` as a number and `level`.
pub fn query(text: &str, known: &'static [&'static str]) -> Result<(Vec<Option<String>>, Option<u64>, Option<Level>), Problem> {
    let read = || {
        let parameters = Parameters::read(Some(text), known)?;
        let texts = known.iter().map(|name| parameters.text(name).map(str::to_owned)).collect();
        Ok((texts, parameters.number("from")?, parameters.level()?))
    };
    read().map_err(Refusal::into_problem)
}

/// A position of a path.
pub fn position(text: &str) -> Result<Position, Problem> {
    read_position(text).map_err(Refusal::into_problem)
}

/// A name of a path or a body.
pub fn name(text: &str) -> Result<Name, Problem> {
    read_name("name", text).map_err(Refusal::into_problem)
}

/// A principal.
pub fn principal(text: &str) -> Result<Principal, Problem> {
    outside_principal(text).map_err(Refusal::into_problem)
}

/// A configuration whose file has that text.
pub fn configuration(toml: &str, sources: &Sources) -> Result<Config, StartError> {
    config::load_from(Some(("nevertwice.toml", toml)), sources)
}

/// A note that tells with which secret data were made: whether that is this one. An error where nobody can have noted it.
pub fn note(bytes: &[u8], secret: &[u8; 32]) -> Result<bool, StartError> {
    let (path, data) = (Path::new("secret"), Path::new("data"));
    let known = person_secret::FILE.read_note(path, data, bytes)?;
    Ok(person_secret::FILE.compare(path, "data", secret, &known).is_ok())
}

/// The note of a secret.
#[must_use]
pub fn write_note(secret: &[u8; 32]) -> String {
    person_secret::FILE.noted(secret)
}

/// The keys file.
pub fn keys_file(bytes: &[u8]) -> Result<Vec<KeyRecord>, String> {
    access::read_keys(bytes)
}

/// The text of a keys file.
pub fn keys_file_text(records: &[KeyRecord]) -> Result<String, String> {
    access::write_keys(records)
}

/// The ids and algorithms of the usable keys of a JWKS file.
pub fn jwks(bytes: &[u8]) -> Result<Vec<(Option<String>, &'static str)>, String> {
    access::jwks(bytes)
}

/// Who somebody is, by what they presented.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// What they are to the server.
    pub role: Role,
    /// By which credential they are known.
    pub name: String,
    /// Who they are themselves, where they are a person.
    pub subject: Option<Principal>,
}

/// The door of a server that knows some credentials.
#[derive(Debug)]
pub struct Doorway(Door);

impl Doorway {
    /// The door that the configuration describes, with the texts of the keys file, the JWKS file and the file of secrets.
    pub fn new(config: &Config, keys: &[u8], jwks: &[u8], secrets: &[u8]) -> Result<Self, String> {
        Door::holding(config, &Files { keys, jwks, secrets }).map(Self)
    }

    /// Who comes with that value of `Authorization`; `None` where no HTTP server lets it through.
    pub fn identify(&self, authorization: &[u8], now_ms: i64) -> Option<Result<Known, Problem>> {
        let headers = Headers::new([(&b"authorization"[..], authorization)])?;
        let identified = self.0.identify(&headers.0, now_ms).map_err(Refusal::into_problem);
        Some(identified.map(|who| Known { role: who.role, name: who.name.as_str().to_owned(), subject: who.subject }))
    }
}
