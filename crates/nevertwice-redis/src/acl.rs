//! The least that a server has to let a process do, as `ACL SETUSER` takes it.

use crate::keys;

/// Commands that a store of keys sends, and those that its scripts call.
const KEY_STORE_COMMANDS: &[&str] =
    &["del", "evalsha", "get", "hdel", "hmget", "hset", "info", "pexpire", "scan", "script|load", "set", "time", "wait"];

/// The rules of a user who keeps keys: to be put after `ACL SETUSER name on >password`.
#[must_use]
pub fn key_store_rules() -> String {
    let commands: Vec<String> = KEY_STORE_COMMANDS.iter().map(|command| format!("+{command}")).collect();
    let (records, own) = (keys::key_records_pattern(), keys::key_store_pattern());
    format!("resetkeys ~{records} ~{own} resetchannels -@all {}", commands.join(" "))
}
