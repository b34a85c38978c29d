//! What became of one tap, on the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Caller, KeyRecord};

/// `GET /v1/explain`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// Whose intent.
    pub principal: String,
    /// Which of the principal's.
    pub key: String,
    /// What it comes to, for people.
    pub says: String,
    /// The attempts that this process saw, the oldest first.
    pub attempts: Attempts,
    /// The entries that the intent made, the oldest first.
    pub found: Vec<Told>,
    /// More entries were found than are shown.
    pub is_cut: bool,
    /// What of the journal was read for it.
    pub journal: JournalRead,
    /// What the store of keys has under this key, in the scope that was asked for; absent where it has nothing, or was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_record: Option<KeyRecord>,
}

/// Attempts that one process saw. They are kept in memory alone, so many at most, and a restart forgets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempts {
    /// The attempts with this key, the oldest first.
    pub seen: Vec<Attempt>,
    /// Since when this process notes attempts, in milliseconds since 1970; absent where no process was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// Whether attempts since then have been forgotten, of any key: then some of this one may be among them.
    pub is_cut: bool,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    /// When it arrived, in milliseconds since 1970.
    pub at_ms: i64,
    /// How it was answered: `accepted`, `replayed`, the code of a refusal, or `feigned` for a program that filled in the hidden field; or
    /// `unfinished`, where the server had a fault or ended before there was an answer. Whether an answer arrived is not known.
    pub outcome: String,
    /// The entry's position, or that as of which it was refused; absent where no shard was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// An entry of the intent, and its later life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Told {
    /// In which market or sale, as `market/NAME` or `sale/NAME`.
    pub shard: String,
    /// The entry's position.
    pub position: String,
    /// When it was accepted, in milliseconds since 1970.
    pub at_ms: i64,
    /// Which command.
    pub command: String,
    /// From when on the intent was to be given up, in milliseconds since 1970; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Who called; absent where it was not kept, or where the journal has not got the entry any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Caller>,
    /// Whether a retry now is answered with it.
    pub is_remembered: bool,
    /// Whether the journal still has it.
    pub is_in_journal: bool,
    /// The `result` of a replay, member for member; null for what the server does by itself, which nobody asks for.
    #[schema(value_type = Object)]
    pub result: Value,
    /// Later entries about the same booking or the same holding, the newest last.
    pub later: Vec<Later>,
    /// How many earlier ones of them are not shown.
    pub later_left_out: u64,
}

/// A later entry about the same booking or holding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Later {
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Which command.
    pub command: String,
    /// Whose intent it was.
    pub principal: String,
    /// With which key.
    pub key: String,
    /// What it did to that booking or holding.
    #[schema(value_type = Object)]
    pub result: Value,
}

/// What of the journal was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalRead {
    /// The first batch that the journal still has; 1: the first there was.
    pub first_batch: u64,
    /// The last batch that was read.
    pub read_to: u64,
    /// Whether it was read to its end. False: time ran out, or something behind it can't be read.
    pub is_read_to_end: bool,
}
