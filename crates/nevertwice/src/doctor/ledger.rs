//! The ledger: could a start use it?

use nevertwice_server::check_ledger;
use nevertwice_server::config::Config;

use super::finding::{Finding, Grade};

const SUBJECT: &str = "ledger";

pub(super) fn look(config: &Config) -> Option<Finding> {
    Some(match check_ledger(config)? {
        Ok(found) => Finding::fine(SUBJECT, found, "Entries are written to it."),
        Err(error) => {
            let advice = "do what was said there; docs/ledger.md says what the database must be";
            Finding::new(SUBJECT, Grade::Error, format!("{} [{}]", error.detail, error.code), "`serve` would refuse to start.", advice)
        }
    })
}
