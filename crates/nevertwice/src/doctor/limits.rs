//! The limits that the system sets.

use std::path::Path;

use nevertwice_server::config::Config;
use nevertwice_server::{Machine as _, ThisMachine};

use super::finding::{Finding, Grade};

const SUBJECT: &str = "open files";

/// What the server has open beside its connections: segments, snapshots, the log, the runtime.
const OWN_FILES: u64 = 100;

pub(super) fn look(config: &Config) -> Finding {
    look_at(&config.data, "connections_max", config.connections_max as u64)
}

/// The same for whoever has that many connections, by a setting of that name.
pub(super) fn look_at(place: &Path, setting: &str, connections_max: u64) -> Finding {
    judge(ThisMachine::new(place).read().open_files_max, setting, connections_max)
}

fn judge(limit: Option<u64>, setting: &str, connections_max: u64) -> Finding {
    let needed = connections_max.saturating_add(OWN_FILES);
    let means =
        "Each connection is an open file. At the limit no connection is accepted, and a new piece of the journal may not be opened.";
    match limit {
        Some(limit) if limit < needed => Finding::new(
            SUBJECT,
            Grade::Warning,
            format!("this shell may have {limit}, and by `{setting}` there may be {connections_max} connections"),
            means,
            format!("grant {needed} or more (`LimitNOFILE=` in the unit, `ulimit -n` in a shell), or lower `{setting}`"),
        ),
        limit => {
            let limit = limit.map_or_else(|| "any number".to_owned(), |limit| limit.to_string());
            let found = format!("this shell may have {limit}, and by `{setting}` there may be {connections_max} connections");
            Finding::fine(SUBJECT, found, "Enough, if the service is granted the same (`LimitNOFILE=` in its unit).")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_needs_a_file_and_the_server_some_of_its_own() {
        let grade = |limit, connections| judge(limit, "connections_max", connections).grade;
        assert_eq!(grade(Some(20_099), 20_000), Grade::Warning);
        assert_eq!(grade(Some(20_100), 20_000), Grade::Fine);
        assert_eq!(grade(None, u64::MAX), Grade::Fine);
    }
}
