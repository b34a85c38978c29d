//! The server, over HTTP and on the local backend.

mod access_table;
mod api_keys;
mod bad_input;
mod callers;
mod client;
mod configuration;
mod copies;
mod documents;
mod edges;
mod fair_turns;
mod faults;
mod figures;
mod heads;
mod history;
mod house;
mod jwt;
mod key_records;
mod keys;
#[cfg(feature = "ledger")]
mod ledger;
mod limits;
mod markets;
mod ops;
mod outcomes;
mod payments;
mod planted;
mod rare;
mod replicated;
mod roles;
mod sales;
mod secrets;
mod standby;
mod steward;
mod telemetry;
mod tls;
mod upgrade;
