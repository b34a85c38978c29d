//! The keys file: TOML, one `[[key]]` for each, with the key's digest and never the key.

use std::collections::HashSet;

use data_encoding::HEXLOWER;
use nevertwice_core::ShardId;
use serde::{Deserialize, Serialize};
use toml::value::Datetime;

use super::text::KeyId;
use crate::access::Role;
use crate::access::scope::{SHARDS_MAX, shard_of};
use crate::calendar;

/// The largest keys file that is read.
pub(crate) const FILE_BYTES_MAX: u64 = 8 << 20;

/// The most keys in it.
const KEYS_MAX: usize = 10_000;

/// The version that is written.
const VERSION: u32 = 1;

const BEGINNING: &str = "# API keys of nevertwice, as digests. Made and revoked by `nevertwice key`, which writes this file anew and keeps no\n\
                         # comments. A running server reads it again when it changes.\n\n";

/// What is known of a key; never the key itself.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// By which it is known.
    pub id: KeyId,
    /// What it may do.
    pub role: KeyRole,
    /// For which shards it is; all if absent.
    pub shards: Option<Vec<ShardId>>,
    /// When it was made; milliseconds since 1970.
    pub created_at: i64,
    /// From when on it is not taken any more; milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// When it was revoked; milliseconds since 1970.
    pub revoked_at: Option<i64>,
    pub(super) digest: [u8; 32],
}

impl std::fmt::Debug for KeyRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRecord").field("id", &self.id).field("role", &self.role).finish_non_exhaustive()
    }
}

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    /// Everything.
    Operator,
    /// Acts for any principal.
    Service,
    /// Reads, on nobody's behalf, and changes nothing.
    Reader,
}

impl KeyRole {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Operator, Self::Service, Self::Reader];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Service => "service",
            Self::Reader => "reader",
        }
    }

    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Operator => Role::Operator,
            Self::Service => Role::Service,
            Self::Reader => Role::Reader,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    version: u32,
    #[serde(default, rename = "key")]
    keys: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    role: KeyRole,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<Vec<String>>,
    digest: String,
    created_at: Datetime,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Datetime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Datetime>,
}

/// Reads the file's text. What is wrong is said in words; the digests are not.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<KeyRecord>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    // The message alone: the whole error shows the line, and what stands there may be a key that somebody pasted.
    let whole: Whole = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
        format!("line {line} is not as it should be: {}", reason(&error))
    })?;
    if whole.version != VERSION {
        return Err(format!("its version is {}, and this program reads version {VERSION}", whole.version));
    }
    if whole.keys.len() > KEYS_MAX {
        return Err(format!("it has {} keys, more than {KEYS_MAX}", whole.keys.len()));
    }
    let mut ids = HashSet::new();
    whole
        .keys
        .into_iter()
        .enumerate()
        .map(|(index, row)| {
            let number = index + 1;
            // What stands there is not shown: it may be a key that somebody pasted.
            if let Ok(small) = KeyId::new(&row.id.to_ascii_lowercase())
                && small.as_str() != row.id
            {
                let double = if ids.contains(&small) { "; with those it is the id of a key before it" } else { "" };
                return Err(format!("key number {number} is wrong: its id has capitals, and ids have small letters alone{double}"));
            }
            let record = record(row).map_err(|wrong| format!("key number {number} is wrong: {wrong}"))?;
            if ids.insert(record.id.clone()) { Ok(record) } else { Err(format!("the id `{}` is there twice", record.id)) }
        })
        .collect()
}

/// What is wrong, without what stood there: unknown names and values are quoted by the parser.
fn reason(error: &toml::de::Error) -> &'static str {
    let message = error.message();
    if message.contains("unknown field") {
        "it has a member that is none of id, role, shards, digest, created_at, expires_at and revoked_at"
    } else if message.contains("unknown variant") {
        "the role is none of operator, service and reader"
    } else if message.contains("missing field") {
        "a member is missing: id, role, digest and created_at are needed, and `version` at the beginning"
    } else if message.contains("invalid type") {
        "a value is of another type than it should be"
    } else {
        "it is not TOML"
    }
}

fn record(row: Row) -> Result<KeyRecord, &'static str> {
    let instant =
        |read: &Datetime| calendar::at_ms(read).ok_or("an instant is a date and a time with its offset, such as 2027-01-01T00:00:00Z");
    let shards = match row.shards {
        None => None,
        Some(shards) if shards.is_empty() => return Err("`shards` is empty: name shards, or leave it out for all"),
        Some(shards) if shards.len() > SHARDS_MAX => return Err("it names more than 1000 shards"),
        Some(shards) => {
            let shards = shards.iter().map(|shard| shard_of(shard).ok_or("a shard is written market/NAME or sale/NAME"));
            Some(shards.collect::<Result<Vec<_>, _>>()?)
        }
    };
    let digest = row.digest.strip_prefix("sha256:").and_then(|digits| HEXLOWER.decode(digits.as_bytes()).ok());
    Ok(KeyRecord {
        id: KeyId::new(&row.id)?,
        role: row.role,
        shards,
        created_at: instant(&row.created_at)?,
        expires_at: row.expires_at.as_ref().map(instant).transpose()?,
        revoked_at: row.revoked_at.as_ref().map(instant).transpose()?,
        digest: digest.and_then(|digest| digest.try_into().ok()).ok_or("a digest is written sha256: and 64 hexadecimal digits")?,
    })
}

/// The file's text.
pub(crate) fn write(records: &[KeyRecord]) -> Result<String, String> {
    let row = |record: &KeyRecord| {
        let instant = |at_ms: i64| calendar::datetime(at_ms).ok_or_else(|| "an instant lies outside the years 1970 to 9999".to_owned());
        Ok(Row {
            id: record.id.to_string(),
            role: record.role,
            shards: record.shards.as_ref().map(|shards| shards.iter().map(ToString::to_string).collect()),
            digest: format!("sha256:{}", HEXLOWER.encode(&record.digest)),
            created_at: instant(record.created_at)?,
            expires_at: record.expires_at.map(instant).transpose()?,
            revoked_at: record.revoked_at.map(instant).transpose()?,
        })
    };
    let whole = Whole { version: VERSION, keys: records.iter().map(row).collect::<Result<_, String>>()? };
    toml::to_string(&whole).map(|text| format!("{BEGINNING}{text}")).map_err(|error| error.to_string())
}
