//! Records of keys: what those get who write a guard of their own, over HTTP.

mod answers;
mod bounds;
mod calls;
mod changing;
mod guard;
mod local;
mod operators;
mod store;
mod sweeps;
