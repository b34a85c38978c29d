//! The client, against a script, on real sockets, and against the layer of keys.

mod folder_store;
mod http;
mod intents;
mod layer;
mod scripted;
mod table;
