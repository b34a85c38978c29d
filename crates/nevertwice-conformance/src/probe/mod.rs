//! One rule's view of the target: endpoints of its own, a key of its own, and what it saw.
//!
//! - [`Probe`]: plans an echo endpoint, asks it, and looks at what has happened to it;
//! - [`Failed`]: what was seen in the place of what was expected; the checks make it.

mod asks;
mod checks;
mod failed;
mod observe;

pub(crate) use asks::Probe;
pub(crate) use checks::EXPOSED;
pub(crate) use failed::{Checked, Failed};
