//! The proxy between real sockets: a client that writes bytes, and upstreams that count what they do.

mod bounds;
mod contract;
mod failures;
mod heads;
mod house;
mod passing;
mod settings;
mod tls;
mod upstream;
mod wire;
