//! What `ops/` has for those who run the server: each alarm works, says what to do, and looks at figures that there are.

mod alarms;
mod dashboard;
mod promql;
mod repository;
mod scrape;
