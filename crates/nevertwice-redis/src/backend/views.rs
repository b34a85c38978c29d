//! What is read beside the queue.

use nevertwice_api::Failure;
use nevertwice_core::{Position, Query, ShardId, StateHash};
use redis::{Cmd, Value};

use super::place::{self, Standing};
use super::redis_backend::{Shared, failure_of_link, failure_of_server, unexpected};
use crate::keys;
use crate::shard::{self, Adoptions, Asking, Dump, Odd, Read};

/// How often a dump is begun again because the shard went on meanwhile.
const DUMPS_MAX: usize = 8;

/// How many items one piece of a scan is asked for.
const SCAN_COUNT: usize = 1_000;

/// Reads as of one position.
pub(super) async fn read(shared: &Shared, shard: &ShardId, query: &Query) -> Result<Read, Failure> {
    let value = match shard::ask(shard, query) {
        Asking::Fields(command) => send(shared, command).await?,
        Asking::Script(call) => {
            let reply = shared.runner.call(call).await.map_err(|failure| failure_of_link(&failure))?;
            reply.map_err(|error| failure_of_server(&error))?
        }
    };
    let read = shard::read(shard, query, &value).map_err(|odd| unexpected(&odd))?;
    match &read.head {
        // Nothing is known of a shard after another process has taken it into a higher epoch.
        Some(head) if head.adopted > shared.place().epoch => Err(Failure::BackendUnavailable),
        Some(_) => Ok(read),
        // A shard that is not there may be one that the server has lost.
        None => adopted(shared).await.map(|()| read),
    }
}

/// Whether the server still knows that it was adopted.
async fn adopted(shared: &Shared) -> Result<(), Failure> {
    let replies = shared.runner.link().send(&place::questions()).await.map_err(|failure| failure_of_link(&failure))?;
    match shared.place().standing(&replies) {
        Standing::Same => Ok(()),
        Standing::Other | Standing::Gone => Err(Failure::BackendUnavailable),
    }
}

/// Whether the position is one of the shard's history.
pub(super) async fn contains(shared: &Shared, shard: &ShardId, position: Position) -> Result<bool, Failure> {
    let mut command = redis::cmd("HMGET");
    command.arg(keys::shard_records(shard)).arg("head").arg("adoptions");
    let value = send(shared, command).await?;
    let [head, adoptions] = bulks(value)?.try_into().map_err(|_| shapeless())?;
    let Some(head) = shard::head(&head).map_err(|odd| unexpected(&odd))? else { return Ok(false) };
    let adoptions = Adoptions::read(&adoptions).map_err(|error| unexpected(&error.into()))?;
    Ok(adoptions.contains(position, head.position))
}

/// The shards that are open, of those whose names were ever asked to be.
pub(super) async fn shards(shared: &Shared) -> Result<Vec<ShardId>, Failure> {
    let mut members = redis::cmd("SMEMBERS");
    members.arg(keys::shards());
    let names = bulks(send(shared, members).await?)?;
    let name = |name: Vec<u8>| String::from_utf8(name).ok().and_then(|name| name.parse::<ShardId>().ok());
    let mut shards: Vec<ShardId> = names.into_iter().filter_map(name).collect();
    let head = |shard: &ShardId| {
        let mut command = redis::cmd("HEXISTS");
        command.arg(keys::shard_records(shard)).arg("head");
        command
    };
    let commands: Vec<Cmd> = shards.iter().map(head).collect();
    let replies = shared.runner.link().send(&commands).await.map_err(|failure| failure_of_link(&failure))?;
    let mut open = replies.into_iter().map(|reply| matches!(reply, Ok(Value::Int(1))));
    shards.retain(|_| open.next().unwrap_or(false));
    shards.sort_unstable();
    Ok(shards)
}

/// The hash of a dump that was not disturbed.
pub(super) async fn state_hash(shared: &Shared, shard: &ShardId) -> Result<(Position, StateHash), Failure> {
    for _ in 0..DUMPS_MAX {
        let dump = dump(shared, shard).await?;
        let mut head = redis::cmd("HGET");
        head.arg(keys::shard_records(shard)).arg("head");
        let after = match send(shared, head).await? {
            Value::BulkString(head) => shard::head(&head).map_err(|odd| unexpected(&odd))?,
            _ => None,
        };
        let before = dump.head().map_err(|odd| unexpected(&odd))?;
        if before.map(|head| head.position) == after.map(|head| head.position) {
            return dump.hash(shard).map_err(|odd| unexpected(&odd));
        }
    }
    Err(Failure::Overloaded)
}

/// The state comes first, its head before all else: whatever else is newer was written after it, and the head tells.
async fn dump(shared: &Shared, shard: &ShardId) -> Result<Dump, Failure> {
    let mut dump = Dump::default();
    let state = keys::shard_records(shard);
    let mut head = redis::cmd("HGET");
    head.arg(&state).arg("head");
    if let Value::BulkString(head) = send(shared, head).await? {
        dump.first_head(head);
    }
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("HSCAN");
        scan.arg(&state).arg(cursor).arg("COUNT").arg(SCAN_COUNT);
        let (next, items) = piece(send(shared, scan).await?)?;
        let mut items = items.into_iter();
        while let (Some(field), Some(value)) = (items.next(), items.next()) {
            dump.field(field, value);
        }
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(keys::shard_intents_pattern(shard)).arg("COUNT").arg(SCAN_COUNT);
        let (next, found) = piece(send(shared, scan).await?)?;
        if !found.is_empty() {
            let mut get = redis::cmd("MGET");
            get.arg(&found);
            for (key, record) in found.into_iter().zip(bulks(send(shared, get).await?)?) {
                if !record.is_empty() {
                    dump.intent(key, record);
                }
            }
        }
        cursor = next;
        if cursor == 0 {
            return Ok(dump);
        }
    }
}

async fn send(shared: &Shared, command: Cmd) -> Result<Value, Failure> {
    let reply = shared.runner.link().send_one(command).await.map_err(|failure| failure_of_link(&failure))?;
    reply.map_err(|error| failure_of_server(&error))
}

fn shapeless() -> Failure {
    unexpected(&Odd::Shape("a reply of another shape than the command's".into()))
}

/// The texts of a list; what is not there is empty.
fn bulks(value: Value) -> Result<Vec<Vec<u8>>, Failure> {
    let (Value::Array(items) | Value::Set(items)) = value else { return Err(shapeless()) };
    let bulk = |item| match item {
        Value::BulkString(bytes) => Ok(bytes),
        Value::Nil => Ok(Vec::new()),
        _ => Err(shapeless()),
    };
    items.into_iter().map(bulk).collect()
}

/// Where a scan goes on, and what it showed.
fn piece(value: Value) -> Result<(u64, Vec<Vec<u8>>), Failure> {
    let Value::Array(parts) = value else { return Err(shapeless()) };
    let [Value::BulkString(cursor), items] = <[Value; 2]>::try_from(parts).map_err(|_| shapeless())? else { return Err(shapeless()) };
    let cursor = std::str::from_utf8(&cursor).ok().and_then(|cursor| cursor.parse().ok()).ok_or_else(shapeless)?;
    Ok((cursor, bulks(items)?))
}
