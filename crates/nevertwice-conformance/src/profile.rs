//! Which of the contract's choices a target made.

use std::fmt;

use serde::Deserialize;

use crate::own_endpoint::OwnEndpoint;

/// The profiles that come with the suite, by name.
pub const PRESETS: &[(&str, &str)] = &[
    ("ietf", include_str!("../../../conformance/profiles/ietf.toml")),
    ("stripe", include_str!("../../../conformance/profiles/stripe.toml")),
    ("ucp", include_str!("../../../conformance/profiles/ucp.toml")),
    ("choices", include_str!("../../../conformance/profiles/choices.toml")),
    ("server", include_str!("../../../conformance/profiles/server.toml")),
];

/// Which of the contract's choices a target made. What does not apply by it is not asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name, for the report.
    pub name: String,
    /// The methods at which keys are heeded. Every other one runs each time.
    pub guarded_methods: Vec<String>,
    /// The longest key, in characters.
    pub key_bytes_max: usize,
    /// How the target knows who calls.
    pub caller: Caller,
    /// The statuses of refusals.
    pub statuses: Statuses,
    /// What beside the status is told.
    pub told: Told,
    /// What makes two requests the same.
    pub same: Same,
    /// What becomes of the key.
    pub effects: Effects,
    /// Sizes.
    pub limits: Limits,
    /// Keys and times.
    pub age: Age,
    /// What a replay repeats.
    pub replays: Replays,
    /// The target's own endpoints, in the place of echo endpoints; none where there are echo endpoints.
    #[serde(default)]
    pub endpoints: Vec<OwnEndpoint>,
}

/// How the target knows who calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// The header that says so.
    pub header: String,
    /// Its value for one caller.
    pub first: String,
    /// Its value for another.
    pub second: String,
    /// What happens without it.
    pub nobody: Nobody,
}

/// The statuses of refusals.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statuses {
    /// The key is missing; none where it is optional.
    pub missing: Option<u16>,
    /// What stands in the header is no key.
    pub invalid: u16,
    /// Nobody knows who calls.
    pub nobody: u16,
    /// The key was used for something else.
    pub mismatch: u16,
    /// Somebody works on it.
    pub in_progress: u16,
    /// Somebody did, and nobody knows what became of it.
    pub unknown: u16,
    /// There was an answer, and it was not kept.
    pub not_kept: u16,
    /// The key's own time has run out.
    pub expired: u16,
    /// The request is too large.
    pub too_large: u16,
}

/// What beside the status is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The header that is `true` on a replay, in lower case.
    pub marker: String,
    /// Whether pages in browsers may see it.
    pub marker_exposed: bool,
    /// Whether refusals are problem details (RFC 9457).
    pub problem_details: bool,
    /// Whether who is refused because the first one runs is told how long to wait.
    pub retry_after: bool,
}

/// What makes two requests the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Same {
    /// What names a key, beside who calls and the method.
    pub scope: Scope,
    /// How JSON bodies are compared.
    pub json: Compared,
    /// How forms are compared.
    pub forms: Compared,
    /// How multipart bodies are compared.
    pub multipart: Compared,
}

/// What becomes of the key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// What a duplicate hears while the first one runs.
    pub duplicates: Duplicates,
    /// What 4xx mean that do not free the key by themselves.
    pub client_errors: ClientErrors,
    /// What 5xx mean.
    pub server_errors: ServerErrors,
    /// Whether the handler may say so itself, by `Idempotency-Effect`.
    pub header: bool,
}

/// Sizes, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The largest body of a request.
    pub request_bytes_max: usize,
    /// The largest body of an answer that is kept.
    pub answer_bytes_max: usize,
    /// What becomes of a larger one.
    pub larger_answer: Larger,
    /// Whether streams of events pass while they come.
    pub event_streams: bool,
}

/// Keys and times.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Age {
    /// Whether `Idempotency-Expires` is heeded.
    pub expires_header: bool,
    /// What becomes of keys that carry a time of long ago.
    pub old_keys: OldKeys,
}

/// What a replay repeats.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replays {
    /// Headers that it does not repeat, in lower case.
    pub without: Vec<String>,
}

macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident { $($(#[$choice_meta:meta])* $choice:ident),* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$choice_meta])* $choice),* }
    )*};
}

choices! {
    /// What happens to a caller whom nobody knows.
    Nobody {
        /// It is refused.
        Refused,
        /// It shares one space of keys with the others.
        Shared
    }
    /// What names a key, beside who calls and the method.
    Scope {
        /// Nothing: at another path it is a mismatch.
        Principal,
        /// The path: at another path it is another key.
        Route
    }
    /// How bodies are compared.
    Compared {
        /// By what they mean.
        Canonical,
        /// By their bytes.
        Bytes
    }
    /// What a duplicate hears while the first one runs.
    Duplicates {
        /// That it runs.
        Refused,
        /// The first one's answer, when it comes.
        Wait
    }
    /// What 4xx mean.
    ClientErrors {
        /// They are answers.
        Kept,
        /// Nothing has happened.
        Free
    }
    /// What 5xx mean.
    ServerErrors {
        /// Nobody knows.
        Unknown,
        /// They are answers.
        Kept
    }
    /// What becomes of an answer that is larger than what is kept.
    Larger {
        /// The key stays used, without the answer.
        Tombstone,
        /// It is kept all the same.
        Kept
    }
    /// What becomes of keys that carry a time of long ago.
    OldKeys {
        /// They are keys as all others.
        Taken,
        /// They are refused.
        Refused
    }
}

/// A profile that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// It is not a profile in TOML; the parser's words.
    Malformed(String),
    /// No method is guarded, or one of them is none.
    Methods,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "the profile can't be read: {what}"),
            Self::Methods => f.write_str("the profile guards no method, or `guarded_methods` names what is none"),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// If it is no TOML, lacks a choice, or has one that nobody knows.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(|error| ProfileError::Malformed(error.to_string()))?;
        let is_method = |method: &String| hyper::Method::from_bytes(method.as_bytes()).is_ok();
        if profile.guarded_methods.is_empty() || !profile.guarded_methods.iter().all(is_method) {
            return Err(ProfileError::Methods);
        }
        Ok(profile)
    }

    /// One of [`PRESETS`].
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        Self::read(text).ok()
    }
}
