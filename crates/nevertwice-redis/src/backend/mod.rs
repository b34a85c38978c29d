//! The backend: a queue, one task that sends what has arrived in one pipeline, and reads beside it.
//!
//! ```text
//! callers -> queue -> turns -> one pipeline: a script each, then timeline and place -> answers
//!                       |                                 |
//!                       +------ nothing is said if one of the two changed
//! ```
//!
//! What is asked next waits for the replies of the pipeline before it, so a pipeline takes all that has come meanwhile.

mod grouping;
mod open;
mod options;
mod place;
mod redis_backend;
mod turns;
mod views;

pub use open::BackendOpenError;
pub use options::RedisOptions;
pub use redis_backend::RedisBackend;
