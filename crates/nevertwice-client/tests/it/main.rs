//! The client, against a script and on real sockets.

mod folder_store;
mod http;
mod intents;
mod scripted;
mod stub;
mod table;
