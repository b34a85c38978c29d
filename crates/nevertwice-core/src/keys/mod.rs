//! Keys: the records behind other people's `Idempotency-Key`, as a pure state machine.
//!
//! A record is `free`, `in_progress` or `completed`. Each of the four commands looks at a record (or at none), an instant and
//! its own figures, and returns a [`KeyDecision`]: what to reply, and the record that replaces the old one, if anything
//! changes. A store does no more than keep the record, under one atomic step a command.
//!
//! Unlike a market or a sale, a key has no entries: its generation stands for the `seq`, and its record is all there is. The core
//! holds the length and the digest of an answer; the bytes are the store's.
//!
//! What holds, in every store:
//! - a record keeps for its retention, counted from its last change, whatever its state; the end of a lease never makes it absent;
//! - the generation only rises: a release keeps it, and a key that was forgotten begins above where it was;
//! - who completes, renews or releases names owner and generation; whoever was replaced can change nothing;
//! - an answer, once kept, is never replaced.

mod complete_key;
mod decision;
mod identity;
mod record;
mod register_key;
mod rejection;
mod release_key;
mod renew_lease;
mod table;

pub use complete_key::{CompleteKey, Completion};
pub use decision::KeyDecision;
pub use identity::{KeyId, OwnerId};
pub use record::{BodyKept, KeyAnswer, KeyClaim, KeyCompletion, KeyFreedom, KeyRecord, KeyState};
pub use register_key::{LapsePolicy, Lease, RegisterKey, Registration};
pub use rejection::KeyRejection;
pub use release_key::ReleaseKey;
pub use renew_lease::RenewLease;
pub use table::KeyTable;
