//! A black-box suite for the `Idempotency-Key` contract: it knows HTTP and nothing of whom it asks.
//!
//! Whoever implements the contract, in whatever language, offers a few echo endpoints (`conformance/README.md` of the repository
//! has them, exactly), and says in a [`Profile`] which of the contract's choices he made. [`run`] asks, and each rule of the
//! contract comes to one line: passed, failed with what was seen and what was expected and how to repeat it by curl, or not
//! applicable by the profile.
//!
//! Nothing here rests on guessed times: the target's effects are counted by itself, and a running request waits at a gate until
//! the suite opens it. What takes longer than [`ANSWER_TIME`] has failed.
//!
//! The suite imports none of our other crates. It does not test how fast a target is, what it does when its store is down, or
//! what it remembers after a restart; and what needs a lease or a retention to run out it leaves to the tests of the target.
#![forbid(unsafe_code)]

mod control;
mod http;
mod own_endpoint;
mod probe;
mod profile;
mod report;
mod rules;
mod run;

pub use http::{ANSWER_TIME, Base, BaseError};
pub use own_endpoint::{Counted, OwnEndpoint, Prepared, Refused};
pub use profile::{
    Age, Caller, ClientErrors, Compared, Duplicates, Effects, Larger, Limits, Nobody, OldKeys, PRESETS, Profile, ProfileError, Replays,
    Same, Scope, ServerErrors, Statuses, Told,
};
pub use report::{Line, Tally, Verdict};
pub use rules::{Rule, rules};
pub use run::{Asked, run};
