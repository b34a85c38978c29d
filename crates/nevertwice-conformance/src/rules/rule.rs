//! One rule.

use crate::probe::{Checked, Probe};
use crate::profile::Profile;

/// One rule of the contract.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name: stable, so that a report can be compared with another.
    pub id: &'static str,
    /// What holds, as a sentence without its full stop.
    pub words: &'static str,
    pub(super) applies: fn(&Profile) -> bool,
    pub(crate) check: for<'a> fn(&'a Probe) -> Checked<'a>,
}

impl Rule {
    /// Whether a target with that profile is held to it.
    #[must_use]
    pub fn applies(&self, profile: &Profile) -> bool {
        (self.applies)(profile)
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}
