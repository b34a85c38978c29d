//! Judges states by their records, and histories by a twin.

mod asked;
mod auditor;
mod books;
mod market;
mod rejections;
mod sale;

pub use auditor::Auditor;
pub use books::{Audited, audit_records};
