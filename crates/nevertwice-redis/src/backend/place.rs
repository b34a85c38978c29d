//! In which epoch, and on which timeline, a server decides.
//!
//! The server keeps both under one key. A timeline that it does not know there raises the epoch: a failover, and a restart, begin a
//! new one. Without a ledger this is all that an adoption is, and it does not protect what a failover has lost.

use nevertwice_api::Failure;
use redis::{Cmd, Value};

use super::redis_backend::{failure_of_link, failure_of_server, unexpected};
use crate::script::Call;
use crate::server_facts::ServerFacts;
use crate::shard::{self, ADOPT_PLACE};
use crate::{Runner, keys};

/// Where this process decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) epoch: u32,
    pub(super) timeline: String,
}

/// What follows the scripts in each pipeline: if it does not say what it said when the place was adopted, no answer is given.
pub(super) fn questions() -> Vec<Cmd> {
    let mut info = redis::cmd("INFO");
    info.arg("replication");
    let mut epoch = redis::cmd("HGET");
    epoch.arg(keys::place()).arg("epoch");
    vec![info, epoch]
}

/// What a pipeline's end says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The place is the one that was adopted.
    Same,
    /// The server is on another timeline, or another process has adopted it since.
    Other,
    /// The server knows nothing of having been adopted: its data is gone.
    Gone,
}

impl Place {
    /// What the replies to [`questions`] say.
    pub(super) fn standing(&self, replies: &[crate::link::Reply]) -> Standing {
        let [Ok(info), Ok(epoch)] = replies else { return Standing::Other };
        let facts = facts(info);
        if facts.as_ref().and_then(timeline) != Some(self.timeline.as_str()) {
            return Standing::Other;
        }
        match epoch {
            Value::Nil => Standing::Gone,
            Value::BulkString(epoch) if *epoch == self.epoch.to_string().into_bytes() => Standing::Same,
            _ => Standing::Other,
        }
    }
}

/// Adopts the server as it is now; tells whether that raised the epoch for a new timeline.
pub(super) async fn adopt(runner: &Runner, timeline: &str) -> Result<(Place, bool), Failure> {
    let call = Call { script: &ADOPT_PLACE, keys: vec![keys::place()], args: vec![timeline.into()] };
    let reply = runner.call(call).await.map_err(|failure| failure_of_link(&failure))?;
    let value = reply.map_err(|error| failure_of_server(&error))?;
    let (epoch, raised) = shard::place(&value).map_err(|odd| unexpected(&odd))?;
    Ok((Place { epoch, timeline: timeline.to_owned() }, raised))
}

/// The id of the history that a primary writes: another one after a failover, and after a restart.
pub(super) fn timeline(facts: &ServerFacts) -> Option<&str> {
    facts.field("master_replid").filter(|timeline| !timeline.is_empty() && facts.field("role") == Some("master"))
}

fn facts(info: &Value) -> Option<ServerFacts> {
    match info {
        Value::BulkString(bytes) => Some(ServerFacts::of(&String::from_utf8_lossy(bytes))),
        Value::VerbatimString { text, .. } => Some(ServerFacts::of(text)),
        _ => None,
    }
}
