//! Who calls, and what they may do.
//!
//! [`Door`] is the one place that every request passes: it finds out who calls (`configured.rs`), asks the rule of the route
//! (`rule.rs`) and hands on the [`Caller`]. Nothing else in the server decides what somebody may do by looking at credentials.

mod caller;
mod configured;
mod door;
mod rule;

pub(crate) use caller::{Caller, OWN_PRINCIPAL, outside_principal};
pub(crate) use door::Door;
pub use rule::{Access, Role};
