//! The server, over HTTP and on the local backend.

mod bad_input;
mod client;
mod configuration;
mod documents;
mod edges;
mod faults;
mod heads;
mod history;
mod house;
mod keys;
mod markets;
mod payments;
mod roles;
mod sales;
mod secrets;
mod steward;
