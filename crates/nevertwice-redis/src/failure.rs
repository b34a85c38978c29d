//! What can go wrong between this process and a server, told apart by what may have happened.

use std::fmt;

/// Why a server did not answer at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFailure {
    /// No connection could be made. Nothing was sent.
    Unreachable(String),
    /// The connection broke, or the reply came too late. What was sent may have happened.
    Lost(String),
}

impl fmt::Display for LinkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the server can't be reached: {why}"),
            Self::Lost(why) => write!(f, "the server's reply was lost: {why}"),
        }
    }
}

impl std::error::Error for LinkFailure {}

/// Why a server refused a command. But for [`Self::Failed`], nothing was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRefusal {
    /// Its memory is used up (`maxmemory`), and the script may not write then.
    OutOfMemory,
    /// The user that this process is may not do that (ACL).
    NotPermitted,
    /// It is a replica, or a primary that was demoted.
    ReadOnly,
    /// It is still reading its data.
    Loading,
    /// Somebody's script has been running for too long.
    Busy,
    /// It can't write to its disk, and is configured to refuse writes then.
    DiskFailing,
    /// It is configured to refuse writes without replicas, and has too few.
    TooFewReplicas,
    /// The cluster, or the part of it that holds the key, is down or being moved.
    ClusterDown,
    /// Keys of two slots in one call: a mistake of ours.
    CrossSlot,
    /// It does not know the script, although it has just been loaded.
    NoScript,
    /// Anything else, by the server's words. A script may have failed half way.
    Failed(String),
}

impl ServerRefusal {
    /// What a server's error says.
    #[must_use]
    pub fn of(error: &redis::ServerError) -> Self {
        match error.code() {
            "OOM" => Self::OutOfMemory,
            "NOPERM" | "NOAUTH" | "WRONGPASS" => Self::NotPermitted,
            "READONLY" => Self::ReadOnly,
            "LOADING" => Self::Loading,
            "BUSY" => Self::Busy,
            "MISCONF" => Self::DiskFailing,
            "NOREPLICAS" => Self::TooFewReplicas,
            "CLUSTERDOWN" | "MOVED" | "ASK" | "TRYAGAIN" | "MASTERDOWN" => Self::ClusterDown,
            "CROSSSLOT" => Self::CrossSlot,
            "NOSCRIPT" => Self::NoScript,
            code => Self::Failed(format!("{code} {}", error.details().unwrap_or_default()).trim_end().to_owned()),
        }
    }
}

impl fmt::Display for ServerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfMemory => "the server's memory is used up",
            Self::NotPermitted => "the server does not permit that to this user",
            Self::ReadOnly => "the server is a replica",
            Self::Loading => "the server is still loading its data",
            Self::Busy => "a script has been running on the server for too long",
            Self::DiskFailing => "the server can't write to its disk",
            Self::TooFewReplicas => "the server has too few replicas",
            Self::ClusterDown => "the cluster does not serve the key",
            Self::CrossSlot => "the keys of one call lie in different slots",
            Self::NoScript => "the server forgot a script that it has just loaded",
            Self::Failed(words) => return write!(f, "the server failed: {words}"),
        })
    }
}

impl std::error::Error for ServerRefusal {}
