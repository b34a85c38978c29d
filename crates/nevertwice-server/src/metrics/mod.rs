//! What the server tells of its work, for Prometheus.
//!
//! Everything that a request touches is an atomic that stood there before the request came; names and labels are put together
//! when somebody scrapes.

mod backend;
mod copies;
mod histogram;
mod keys;
mod ledger;
mod machine;
mod registry;
mod requests;
mod scrape;
mod stripes;
mod sweeps;
mod watched;

pub(crate) use copies::Copies;
pub use keys::KEY_OUTCOMES;
pub(crate) use keys::{KeyOperation, KeyOutcome};
pub use registry::Metrics;
pub(crate) use requests::RouteNumber;
pub(crate) use scrape::{LiveOn, Scraped, ShardAt};
pub(crate) use sweeps::Overdue;
pub(crate) use watched::WatchedFile;
