//! What one person meant once.

use crate::fields::fields;
use crate::{IdempotencyKey, Principal};

fields! {
    /// What one person meant once: every retry of a request carries the same intent.
    pub struct Intent {
        /// Who means it.
        pub principal: Principal,
        /// Which of the principal's intents it is.
        pub key: IdempotencyKey,
        /// A digest of what was asked. The same key with another fingerprint is a mistake of the caller, never a replay.
        pub fingerprint: [u8; 32],
        /// From this instant on an unknown key is rejected, so that no late copy can fill what its sender has given up.
        /// At most the shard's retention ahead of the decision: a key must not outlive its memory.
        pub expires_at: Option<i64>,
    }
}
