//! Between the wire and the core, in one place for each kind.

mod key;
mod market;
mod refusal;
mod render;
mod sale;

pub(crate) use key::{answer, digest, key_record, owner, owner_of, owner_text, refuse_key, refuse_key_store, registered};
pub(crate) use market::{Listed, order, quote};
pub(crate) use refusal::{refuse, smaller};
pub(crate) use render::FromEntry;
pub(crate) use sale::{candidates, code, email, level_caps};
