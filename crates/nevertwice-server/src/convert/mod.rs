//! Between the wire and the core, in one place for each kind.

mod market;
mod refusal;
mod render;
mod sale;

pub(crate) use market::{Listed, order, quote};
pub(crate) use refusal::{refuse, smaller};
pub(crate) use render::FromEntry;
pub(crate) use sale::{candidates, code, email, level_caps};
