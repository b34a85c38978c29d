//! Endpoints of a target that has no echo endpoints: its own ones, described in the profile.

use serde::Deserialize;

/// One guarded endpoint with an effect that can be counted. In paths and bodies `{name}` stands for a name that no other rule uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnEndpoint {
    /// What it is called in the report.
    pub name: String,
    /// The method by which it is asked.
    pub method: String,
    /// Its path.
    pub path: String,
    /// A body, in JSON, that is carried out.
    pub body: String,
    /// The same, spelled in other ways.
    pub same_bodies: Vec<String>,
    /// Bodies that mean something else and would be carried out under another key.
    pub other_bodies: Vec<String>,
    /// A body that the handler refuses without an effect, with its status.
    pub refused: Option<Refused>,
    /// The status of the first answer.
    pub status: u16,
    /// The status of a replay.
    pub replay_status: u16,
    /// What a replay repeats: JSON pointers (RFC 6901) into the answer.
    pub repeats: Vec<String>,
    /// The requests that make the place, in their order.
    pub setup: Vec<Prepared>,
    /// Where the effects are counted.
    pub effects: Counted,
}

/// A body that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The body.
    pub body: String,
    /// The status with which it is refused.
    pub status: u16,
}

/// A request that comes before: a POST with a key of its own, answered by any 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// Its path.
    pub path: String,
    /// Its body.
    pub body: String,
}

/// Where effects are counted: by GET, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The path.
    pub path: String,
    /// The JSON pointer to the number.
    pub pointer: String,
}
