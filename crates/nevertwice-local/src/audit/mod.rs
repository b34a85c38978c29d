//! The audit: what operators did, kept for longer than the journal is.
//!
//! The journal is the truth, and its segments go once two snapshots hold what is in them. So the entries of operators are copied
//! into files of their own before that, as they are: a follower with a cursor (the last batch that is in them), for which
//! pruning waits.
//!
//! - `facts`: entries on their way into a frame.
//! - `frame`: the bytes of a frame: some batches' entries of operators, self-verifying.
//! - `chain`: what the files of a folder hold together.
//! - `trail`: what is in the files and what is still to be written, for who reads and who writes.
//! - `writer`: frames on their way into files.
//! - `stream`: frames as they go over a network.
//! - `copy`: what operators did up to a batch, written again as the audit of a copy.
//! - `page`: a page of it.
//!
//! Copying is lazy, because nothing is lost meanwhile: what is durable in the journal waits in memory until there is enough for
//! a frame, or a snapshot lets segments go, or the server stops. A start finds what was not copied in the journal. The byte layout
//! and its reasons are in `docs/journal-format.md`.

mod chain;
mod copy;
mod facts;
mod frame;
mod page;
mod stream;
mod trail;
mod writer;

pub use chain::is_audit;
pub(crate) use chain::{file_name as audit_name, file_number as audit_number};
pub use copy::CopiedAudit;
pub(crate) use copy::{AuditCopier, fetch_audit};
pub(crate) use facts::Facts;
pub(crate) use stream::{AuditFrame, AuditStream};
pub(crate) use trail::{Trail, TrailFault};
pub(crate) use writer::FrameWriter;
