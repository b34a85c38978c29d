//! What a server tells of itself in `INFO`, which every hoster permits.

use std::collections::HashMap;

use redis::Value;

/// The lines of `INFO`.
#[derive(Clone, Debug, Default)]
pub(super) struct Info(HashMap<String, String>);

impl Info {
    /// The lines of a reply; none if it is no text.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = match value {
            Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
            Value::VerbatimString { text, .. } => text,
            Value::SimpleString(text) => text,
            _ => return None,
        };
        let lines = text.lines().filter_map(|line| line.trim_end().split_once(':'));
        Some(Self(lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }

    /// A line's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The id of the server's history: another one after a failover, and after a restart.
    pub(super) fn timeline(&self) -> Option<&str> {
        self.get("master_replid").filter(|timeline| !timeline.is_empty())
    }

    /// Whether the server may be written to.
    pub(super) fn is_primary(&self) -> bool {
        self.get("role") == Some("master")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_headings_are_not() {
        let text = "# Replication\r\nrole:master\r\nmaster_replid:8d3f\r\nslave0:ip=127.0.0.1,port=1\r\n\r\n";
        let info = Info::read(&Value::BulkString(text.into())).expect("a text");
        assert_eq!((info.timeline(), info.is_primary()), (Some("8d3f"), true));
        assert_eq!((info.get("slave0"), info.get("# Replication")), (Some("ip=127.0.0.1,port=1"), None));
        assert!(Info::read(&Value::Nil).is_none());
    }
}
