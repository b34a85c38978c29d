//! Every key that this crate has in Redis, and nowhere else is one spelled.
//!
//! A key begins with [`PREFIX`], which carries the version of the data, and has its shard's hash tag in braces, so that all keys of a
//! shard lie in one slot of a cluster. `lua/README.md` says what lies under each.

use data_encoding::BASE64URL_NOPAD;
use nevertwice_core::keys::KeyId;
use nevertwice_core::{IdempotencyKey, Name, Position, Principal, ShardId, ShardKind};

/// What every key begins with: whose it is, and in which version.
pub const PREFIX: &str = "nvt:v1:";

/// The record of an idempotency key. Its tag is the whole identity: no two records share a slot but by chance.
#[must_use]
pub fn key_record(id: &KeyId) -> Vec<u8> {
    format!("{PREFIX}{{k:{}}}", BASE64URL_NOPAD.encode(&id.0)).into_bytes()
}

/// Which record lies under a key; none if it is not a record's.
#[must_use]
pub fn key_record_id(key: &[u8]) -> Option<KeyId> {
    let text = key.strip_prefix(PREFIX.as_bytes())?.strip_prefix(b"{k:")?.strip_suffix(b"}")?;
    BASE64URL_NOPAD.decode(text).ok()?.try_into().ok().map(KeyId)
}

/// The mark of a store of keys: who finds another, or none, looks at another store than before.
#[must_use]
pub fn key_store_mark() -> Vec<u8> {
    format!("{PREFIX}{{keys}}:mark").into_bytes()
}

/// What tells with which secret the keys of a store were named, without telling the secret.
#[must_use]
pub fn key_store_secret() -> Vec<u8> {
    format!("{PREFIX}{{keys}}:secret").into_bytes()
}

/// What a connection writes at the end of a group, so that `WAIT` covers all that the group has seen.
#[must_use]
pub fn key_store_written() -> Vec<u8> {
    format!("{PREFIX}{{keys}}:written").into_bytes()
}

/// What matches the few keys of a store that are no records.
#[must_use]
pub fn key_store_pattern() -> String {
    format!("{PREFIX}{{keys}}:*")
}

/// What matches the keys of all records, and no other key, as `SCAN` and `ACL SETUSER` take it.
#[must_use]
pub fn key_records_pattern() -> String {
    format!("{PREFIX}{{k:*")
}

/// What tells the keys of a shard: the part in braces is its hash tag. A name has no brace, and nothing that a pattern takes for
/// more than itself.
fn shard_prefix(shard: &ShardId) -> String {
    let kind = match shard.kind {
        ShardKind::Market => 'm',
        ShardKind::Sale => 's',
    };
    format!("{PREFIX}{{{kind}:{}}}:", shard.name)
}

/// Everything of a shard but its entries and the memory of intents: a hash.
#[must_use]
pub fn shard_records(shard: &ShardId) -> Vec<u8> {
    format!("{}records", shard_prefix(shard)).into_bytes()
}

/// The shard's entries: a stream.
#[must_use]
pub fn shard_entries(shard: &ShardId) -> Vec<u8> {
    format!("{}entries", shard_prefix(shard)).into_bytes()
}

/// The seats of a sale that are free again: an ordered set.
#[must_use]
pub fn shard_free(shard: &ShardId) -> Vec<u8> {
    format!("{}free", shard_prefix(shard)).into_bytes()
}

/// The memory of an intent. Neither a principal nor a key has a space.
#[must_use]
pub fn shard_intent(shard: &ShardId, principal: &Principal, key: &IdempotencyKey) -> Vec<u8> {
    format!("{}intent:{principal} {key}", shard_prefix(shard)).into_bytes()
}

/// What matches the memories of all intents of a shard, and no other key.
#[must_use]
pub fn shard_intents_pattern(shard: &ShardId) -> String {
    format!("{}intent:*", shard_prefix(shard))
}

/// The names of all shards that were ever asked to be: a set.
#[must_use]
pub fn shards() -> Vec<u8> {
    format!("{PREFIX}shards").into_bytes()
}

/// In which epoch the server decides, and on which timeline: a hash.
#[must_use]
pub fn place() -> Vec<u8> {
    format!("{PREFIX}place").into_bytes()
}

/// The field of an instrument in a market's state.
#[must_use]
pub fn instrument_field(instrument: &Name) -> Vec<u8> {
    format!("I/{instrument}").into_bytes()
}

/// The field of an account in a market's state.
#[must_use]
pub fn account_field(account: &Name) -> Vec<u8> {
    format!("A/{account}").into_bytes()
}

/// The field of a booking in a sale's state.
#[must_use]
pub fn booking_field(booking: Position) -> Vec<u8> {
    let mut field = b"B/".to_vec();
    field.extend_from_slice(&booking.epoch.to_le_bytes());
    field.extend_from_slice(&booking.seq.to_le_bytes());
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leads_back_to_its_record() {
        let id = KeyId(std::array::from_fn(|index| index as u8 * 8));
        let key = key_record(&id);
        assert_eq!(key, b"nvt:v1:{k:AAgQGCAoMDhASFBYYGhweICIkJigqLC4wMjQ2ODo8Pg}");
        assert_eq!(key_record_id(&key), Some(id));
        for other in [&b"nvt:v1:{k:AAgQ}"[..], b"nvt:v1:{m:1}:head", b"nvt:v2:{k:AAgQ}", b""] {
            assert_eq!(key_record_id(other), None, "{other:?}");
        }
    }
}
