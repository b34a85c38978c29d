//! The suite against targets that keep the contract, and against such as do not.

#[path = "../../../nevertwice-idempotency/examples/echo/endpoints.rs"]
mod endpoints;
#[path = "../../../nevertwice-idempotency/examples/echo/guards.rs"]
mod guards;
mod layer;
mod naive;
mod proof;
mod serve;
mod targets;
