//! Between the wire and the core, in one place for each kind.

mod market;
mod refusal;
mod sale;

use nevertwice_core::Entry;
use serde::Serialize;

pub(crate) use market::{Listed, order, quote};
pub(crate) use refusal::refuse;
pub(crate) use sale::{candidates, code, email, level_caps};

/// What an answer's `result` is made of: the entry alone, so that a replay repeats it member for member.
pub(crate) trait FromEntry: Serialize + Sized {
    /// Renders it; `None` if the entry is of another kind.
    fn from_entry(entry: &Entry) -> Option<Self>;
}
