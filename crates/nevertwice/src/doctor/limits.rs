//! The limits that the system sets.

use nevertwice_server::config::Config;
use nevertwice_server::{Machine as _, ThisMachine};

use super::finding::{Finding, Grade};

const SUBJECT: &str = "open files";

/// What the server has open beside its connections: segments, snapshots, the log, the runtime.
const OWN_FILES: u64 = 100;

pub(super) fn look(config: &Config) -> Finding {
    judge(ThisMachine::new(&config.data).read().open_files_max, config.connections_max as u64)
}

fn judge(limit: Option<u64>, connections_max: u64) -> Finding {
    let needed = connections_max.saturating_add(OWN_FILES);
    let means =
        "Each connection is an open file. At the limit no connection is accepted, and a new piece of the journal may not be opened.";
    match limit {
        Some(limit) if limit < needed => Finding::new(
            SUBJECT,
            Grade::Warning,
            format!("this shell may have {limit}, and `connections_max` is {connections_max}"),
            means,
            format!("grant {needed} or more (`LimitNOFILE=` in the unit, `ulimit -n` in a shell), or lower `connections_max`"),
        ),
        limit => {
            let limit = limit.map_or_else(|| "any number".to_owned(), |limit| limit.to_string());
            let found = format!("this shell may have {limit}, and `connections_max` is {connections_max}");
            Finding::fine(SUBJECT, found, "Enough, if the service is granted the same (`LimitNOFILE=` in its unit).")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_needs_a_file_and_the_server_some_of_its_own() {
        assert_eq!(judge(Some(20_099), 20_000).grade, Grade::Warning);
        assert_eq!(judge(Some(20_100), 20_000).grade, Grade::Fine);
        assert_eq!(judge(None, u64::MAX).grade, Grade::Fine);
    }
}
