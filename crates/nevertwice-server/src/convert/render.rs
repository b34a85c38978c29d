//! From entries to results.

use nevertwice_core::Entry;
use serde::Serialize;

/// What an answer's `result` is made of: the entry alone, so that a replay repeats it member for member.
pub(crate) trait FromEntry: Serialize + Sized {
    /// Renders it; `None` if the entry is of another kind.
    fn from_entry(entry: &Entry) -> Option<Self>;
}
