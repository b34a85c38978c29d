//! The state machine of a key under a model checker (stateright), walked to the end of its state space.
//!
//! Two or three contenders want one key. Their steps interleave in every order; between any two of them time may pass, so leases
//! lapse and owners find themselves replaced; answers of the store get lost; contenders die. What the store decides is decided by
//! the commands of `nevertwice_core::keys` themselves: there is no second version of them here.
//!
//! - `world`: what a state of the model is;
//! - `steps`: what may happen next;
//! - `seen`: what happened at all;
//! - `store`: the store between a contender and the core, right or with a planted bug, and the judge of every change;
//! - `properties`: what must hold in every state, and the tests.

mod properties;
mod seen;
mod steps;
mod store;
mod world;
