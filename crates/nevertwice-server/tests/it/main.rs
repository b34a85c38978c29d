//! The server, over HTTP and on the local backend.

mod access_table;
mod api_keys;
mod bad_input;
mod callers;
mod client;
mod configuration;
mod documents;
mod edges;
mod faults;
mod figures;
mod heads;
mod house;
mod keys;
mod markets;
mod ops;
mod payments;
mod roles;
mod sales;
mod secrets;
mod steward;
