//! A journal, as those see it who copy it: a backup, a standby.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a server has of its journal, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalListing {
    /// The journal's number: 16 hexadecimal digits.
    pub journal: String,
    /// The epoch of new entries.
    pub epoch: u32,
    /// The last durable batch.
    pub batch: u64,
    /// The server's clock, in milliseconds since 1970.
    pub now_ms: i64,
    /// The segments that hold anything durable, in order.
    pub segments: Vec<JournalSegment>,
    /// The snapshots, the newest first.
    pub snapshots: Vec<JournalSnapshot>,
    /// Small files that go with a copy.
    pub notes: Vec<JournalNote>,
    /// Who reads the journal under a name.
    pub readers: Vec<JournalReader>,
}

/// A segment, as far as it is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalSegment {
    /// Its number.
    pub segment: u64,
    /// The first batch in it.
    pub first_batch: u64,
    /// The last durable batch in it.
    pub last_batch: u64,
    /// Where that batch ends, in bytes.
    pub bytes: u64,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalSnapshot {
    /// The last batch in it.
    pub batch: u64,
    /// Its length.
    pub bytes: u64,
}

/// A small file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalNote {
    /// Its name.
    pub name: String,
    /// What is in it, in hexadecimal digits.
    pub hex: String,
}

/// Keys, as those see them who copy them: a snapshot that was just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeysSnapshot {
    /// The number of their journal: 16 hexadecimal digits.
    pub journal: String,
    /// After which batch it is.
    pub batch: u64,
    /// The server's clock when it was asked for, in milliseconds since 1970.
    pub at_ms: i64,
    /// The small file that goes with a copy; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<JournalNote>,
}

/// Who reads the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalReader {
    /// Its name.
    pub name: String,
    /// The last batch that it has read.
    pub batch: u64,
    /// The last batch that is durable on its own disk; absent for one that is no replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<u64>,
    /// When it was last heard, in milliseconds since 1970.
    pub heard_at_ms: i64,
    /// Whether it counts as there.
    pub live: bool,
}

/// How a standby is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standby {
    /// `connecting`, `installing`, `following`, `differs`, `failed`, `stopped`, or `promoted`.
    pub phase: String,
    /// What is in the way, for people; absent if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The last batch that is durable here.
    pub batch: u64,
    /// The last batch that is applied here.
    pub applied: u64,
    /// The last batch that was durable at the server that is followed, when it last answered.
    pub source_batch: u64,
    /// How many batches are known of and not here.
    pub lag_batches: u64,
    /// How old what is here may be, in milliseconds; 0 while it follows and has all that it knows of.
    pub lag_ms: u64,
    /// How long the server that is followed has been silent, in milliseconds.
    pub silent_ms: u64,
    /// The shards here, in the order of their names.
    pub shards: Vec<StandbyShard>,
}

/// A shard at a standby.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StandbyShard {
    /// Which, `market/NAME` or `sale/NAME`.
    pub shard: String,
    /// The position of its last entry here.
    pub position: String,
    /// Its state hash there; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_hash: Option<String>,
}

/// Promotes a standby. It has no members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Promote {}

/// What a standby became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Promoted {
    /// The last batch that it had of the server that it followed.
    pub batch: u64,
    /// The epoch of new entries: nobody can have used it.
    pub epoch: u32,
    /// The shards as they were then, in the order of their names.
    pub shards: Vec<StandbyShard>,
    /// Whether it had been promoted before.
    pub replayed: bool,
}
