//! The guarded routes of a proxy, as a file has them: the choices have the names of `docs/keys.md`.

use http::{HeaderName, Method};
use nevertwice_api::{Level, Levels};
use nevertwice_core::keys::LapsePolicy;
use serde::Deserialize;

use super::error::ProxyError;
use crate::{FingerprintRules, Oversize, Policy, Query, Routes, Scope, StoreDown, Trailers};

/// The contract that a route starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// That of the IETF's draft.
    #[default]
    Ietf,
    /// As Stripe documents it.
    Stripe,
    /// As the Universal Commerce Protocol has it.
    Ucp,
}

impl Preset {
    fn policy(self) -> Policy {
        // A proxy can't know how long answers are: they go on as they come.
        let policy = match self {
            Self::Ietf => Policy::ietf(),
            Self::Stripe => Policy::stripe(),
            Self::Ucp => Policy::ucp(),
        };
        Policy { streams: true, ..policy }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Ietf => "ietf",
            Self::Stripe => "stripe",
            Self::Ucp => "ucp",
        }
    }
}

/// What names a key, beside who calls and the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeChoice {
    /// Nothing.
    Principal,
    /// The path and the chosen query.
    Route,
}

/// What becomes of an answer with trailers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrailersChoice {
    /// It leaves a tombstone.
    Tombstone,
    /// They are kept and repeated.
    Keep,
}

/// What of the query counts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryChoice {
    /// All fields.
    All,
    /// None.
    Nothing,
    /// The fields of these names.
    Named(Vec<String>),
}

/// What happens to a key whose lease has ended. To ask takes code, so a proxy can't.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LapseChoice {
    /// Retries hear that the outcome is unknown.
    Refuse,
    /// The next caller runs it again.
    Rerun,
}

/// What becomes of an answer that is too large to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OversizeChoice {
    /// The key is used, without the answer.
    Tombstone,
    /// Up to so many bytes are kept all the same.
    Spill(usize),
}

/// What happens when the store can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreDownChoice {
    /// The request is refused.
    Closed,
    /// It runs unguarded.
    Open,
}

/// A level that a claim and an answer must have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelChoice {
    /// The deciding memory holds it.
    Decided,
    /// Replicas confirmed it.
    Replicated,
    /// It is fsynced on the deciding node.
    Journaled,
}

/// What of a request's body and headers counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FingerprintChoice {
    /// JSON pointers that count.
    pub json_include: Vec<String>,
    /// JSON pointers that don't.
    pub json_exclude: Vec<String>,
    /// Headers that count.
    pub headers: Vec<String>,
}

/// One guarded route. What is absent is as the preset has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouteConfig {
    /// The methods.
    pub methods: Vec<String>,
    /// The pattern of paths.
    pub path: String,
    /// The contract to start from.
    pub preset: Preset,
    /// See [`Policy::required`].
    pub required: Option<bool>,
    /// See [`Policy::scope`].
    pub scope: Option<ScopeChoice>,
    /// See [`Policy::query`].
    pub query: Option<QueryChoice>,
    /// See [`Policy::fingerprint`].
    pub fingerprint: Option<FingerprintChoice>,
    /// See [`Policy::anonymous_shares`].
    pub anonymous_shares: Option<bool>,
    /// See [`Policy::request_bytes_max`].
    pub request_bytes_max: Option<usize>,
    /// See [`Policy::request_ms_max`].
    pub request_ms_max: Option<u64>,
    /// See [`Policy::missing_status`].
    pub missing_status: Option<u16>,
    /// See [`Policy::mismatch_status`].
    pub mismatch_status: Option<u16>,
    /// See [`Policy::in_progress_status`].
    pub in_progress_status: Option<u16>,
    /// See [`Policy::marker`].
    pub marker: Option<String>,
    /// See [`Policy::wait_ms`].
    pub wait_ms: Option<u64>,
    /// See [`Policy::lease_ms`].
    pub lease_ms: Option<i64>,
    /// See [`Policy::heartbeat_ms_max`].
    pub heartbeat_ms_max: Option<u64>,
    /// See [`Policy::retention_ms`].
    pub retention_ms: Option<i64>,
    /// See [`Policy::lapse`].
    pub lapse: Option<LapseChoice>,
    /// See [`Policy::client_errors_free`].
    pub client_errors_free: Option<bool>,
    /// See [`Policy::store_5xx`].
    pub store_5xx: Option<bool>,
    /// See [`Policy::stored_bytes_max`].
    pub stored_bytes_max: Option<usize>,
    /// See [`Policy::oversize`].
    pub oversize: Option<OversizeChoice>,
    /// See [`Policy::trailers`].
    pub trailers: Option<TrailersChoice>,
    /// See [`Policy::streams`].
    pub streams: Option<bool>,
    /// Headers that are not replayed, beside those that never are.
    pub not_replayed: Vec<String>,
    /// See [`Policy::store_down`].
    pub store_down: Option<StoreDownChoice>,
    /// See [`Policy::levels`].
    pub levels: Vec<LevelChoice>,
    /// See [`Policy::refuse_old_keys`].
    pub refuse_old_keys: Option<bool>,
    /// See [`Policy::retry_budget_ms`].
    pub retry_budget_ms: Option<i64>,
}

fn set<T>(place: &mut T, choice: Option<T>) {
    if let Some(choice) = choice {
        *place = choice;
    }
}

fn header(name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("`{name}` is no name of a header"))
}

impl RouteConfig {
    fn methods(&self) -> Result<Vec<Method>, String> {
        let read = |name: &String| match name.parse::<Method>() {
            Ok(method) if *name == name.to_ascii_uppercase() => Ok(method),
            _ => Err(format!("`{name}` is no method: write it in capitals, such as POST")),
        };
        if self.methods.is_empty() {
            return Err("it has no `methods`".to_owned());
        }
        self.methods.iter().map(read).collect()
    }

    fn check_path(&self) -> Result<(), String> {
        let segments: Vec<&str> = self.path.split('/').collect();
        let is_rest = |segment: &&str| segment.starts_with("{*");
        if !self.path.starts_with('/') || self.path.contains(['?', '#', ' ']) {
            return Err("its `path` does not begin with a slash, or has a query".to_owned());
        }
        if segments.iter().rev().skip(1).any(is_rest) {
            return Err("its `path` goes on after `{*rest}`, which takes everything".to_owned());
        }
        let is_well_formed = |segment: &&str| segment.starts_with('{') == segment.ends_with('}');
        if !segments.iter().all(is_well_formed) {
            return Err("a segment of its `path` has a brace at one end only".to_owned());
        }
        Ok(())
    }

    fn policy(&self) -> Result<Policy, String> {
        let mut policy = self.preset.policy();
        set(&mut policy.required, self.required);
        set(
            &mut policy.scope,
            self.scope.map(|scope| match scope {
                ScopeChoice::Principal => Scope::Principal,
                ScopeChoice::Route => Scope::Route,
            }),
        );
        set(
            &mut policy.query,
            self.query.clone().map(|query| match query {
                QueryChoice::All => Query::All,
                QueryChoice::Nothing => Query::Nothing,
                QueryChoice::Named(names) => Query::Named(names),
            }),
        );
        if let Some(FingerprintChoice { json_include, json_exclude, headers }) = self.fingerprint.clone() {
            if let Some(pointer) = json_include.iter().chain(&json_exclude).find(|pointer| !pointer.starts_with('/')) {
                return Err(format!("`{pointer}` is no JSON pointer to a member: it begins with a slash"));
            }
            let headers = headers.iter().map(|name| header(name)).collect::<Result<_, _>>()?;
            policy.fingerprint = FingerprintRules { json_include, json_exclude, headers };
        }
        set(&mut policy.anonymous_shares, self.anonymous_shares);
        set(&mut policy.request_bytes_max, self.request_bytes_max);
        set(&mut policy.request_ms_max, self.request_ms_max);
        set(&mut policy.missing_status, self.missing_status);
        set(&mut policy.mismatch_status, self.mismatch_status);
        set(&mut policy.in_progress_status, self.in_progress_status);
        set(&mut policy.marker, self.marker.as_deref().map(header).transpose()?);
        set(&mut policy.wait_ms, self.wait_ms);
        set(&mut policy.lease_ms, self.lease_ms);
        set(&mut policy.heartbeat_ms_max, self.heartbeat_ms_max);
        set(&mut policy.retention_ms, self.retention_ms);
        set(
            &mut policy.lapse,
            self.lapse.map(|lapse| match lapse {
                LapseChoice::Refuse => LapsePolicy::Refuse,
                LapseChoice::Rerun => LapsePolicy::Rerun,
            }),
        );
        set(&mut policy.client_errors_free, self.client_errors_free);
        set(&mut policy.store_5xx, self.store_5xx);
        set(&mut policy.stored_bytes_max, self.stored_bytes_max);
        set(
            &mut policy.oversize,
            self.oversize.map(|oversize| match oversize {
                OversizeChoice::Tombstone => Oversize::Tombstone,
                OversizeChoice::Spill(bytes_max) => Oversize::Spill { bytes_max },
            }),
        );
        set(
            &mut policy.trailers,
            self.trailers.map(|trailers| match trailers {
                TrailersChoice::Tombstone => Trailers::Tombstone,
                TrailersChoice::Keep => Trailers::Keep,
            }),
        );
        set(&mut policy.streams, self.streams);
        for name in &self.not_replayed {
            policy.not_replayed.push(header(name)?);
        }
        set(
            &mut policy.store_down,
            self.store_down.map(|choice| match choice {
                StoreDownChoice::Closed => StoreDown::Closed,
                StoreDownChoice::Open => StoreDown::Open,
            }),
        );
        policy.levels = self.levels.iter().fold(Levels::NONE, |levels, level| {
            levels.and(Levels::reached(match level {
                LevelChoice::Decided => Level::Decided,
                LevelChoice::Replicated => Level::Replicated,
                LevelChoice::Journaled => Level::Journaled,
            }))
        });
        set(&mut policy.refuse_old_keys, self.refuse_old_keys);
        policy.retry_budget_ms = self.retry_budget_ms;
        Ok(policy)
    }
}

/// What is guarded where no route is named.
pub(super) const EVERYTHING: &str = "/{*rest}";

/// The routes, and a line for people about each.
pub(super) fn routes(configs: &[RouteConfig]) -> Result<(Routes, Vec<String>), ProxyError> {
    let everything =
        RouteConfig { methods: ["POST", "PATCH"].map(str::to_owned).to_vec(), path: EVERYTHING.to_owned(), ..RouteConfig::default() };
    let configs = if configs.is_empty() { std::slice::from_ref(&everything) } else { configs };
    let (mut routes, mut lines) = (Routes::new(), Vec::new());
    for config in configs {
        let made = config.check_path().and_then(|()| Ok((config.methods()?, config.policy()?)));
        let (methods, policy) =
            made.map_err(|wrong| ProxyError::configuration(format!("The route {} {}: {wrong}", config.methods.join(","), config.path)))?;
        let key = if policy.required { "demanded" } else { "optional" };
        let lapse = if policy.lapse == LapsePolicy::Rerun { "run again" } else { "refused" };
        lines.push(format!(
            "guarded: {} {} ({}; a key is {key}; lease {} ms; kept {} ms; an unknown outcome is {lapse})",
            config.methods.join(","),
            config.path,
            config.preset.word(),
            policy.lease_ms,
            policy.retention_ms
        ));
        routes = routes.guard(&methods, &config.path, policy);
    }
    Ok((routes, lines))
}
