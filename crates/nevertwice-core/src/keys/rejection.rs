//! Every *no* to a command on a key, in the order in which the checks are made.

macro_rules! rejections {
    ($($(#[$meta:meta])* $name:ident $({ $($(#[$field_meta:meta])* $field:ident: $ty:ty),* $(,)? })? = $code:literal),* $(,)?) => {
        /// Why a command on a key was refused; nothing was changed by it.
        ///
        /// The order of declaration is the order of the checks: where several would refuse, the first one answers. The set is
        /// closed, and the codes are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KeyRejection { $($(#[$meta])* $name $({ $($(#[$field_meta])* $field: $ty),* })?),* }

        impl KeyRejection {
            /// All codes, in the order of the checks.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// The stable code, as the API and the metrics show it.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                match self { $(Self::$name { .. } => $code),* }
            }
        }
    };
}

rejections! {
    /// The clock shows an instant that the core doesn't accept.
    InstantOutOfRange = "instant_out_of_range",
    /// A setting is outside its range.
    SettingOutOfRange {
        /// Which one.
        setting: &'static str,
    } = "setting_out_of_range",

    // -- complete, renew, release: who asks --------------------------------------------------------------------------------
    /// Nothing is known of the key, or no longer.
    UnknownKey = "unknown_key",
    /// Another attempt owns the key, or this one never did.
    StaleOwner {
        /// The generation that is in force.
        generation: u64,
    } = "stale_owner",
    /// The owner has answered already, and the answer stands.
    KeyCompleted = "key_completed",
    /// The owner has given the key back already.
    KeyReleased = "key_released",

    // -- register ----------------------------------------------------------------------------------------------------------
    /// The key was used for something else. Said before anything about who works on it.
    FingerprintMismatch {
        /// The generation of that use.
        generation: u64,
    } = "fingerprint_mismatch",
    /// Somebody works on it.
    KeyInProgress {
        /// The generation of the claim.
        generation: u64,
        /// When its lease ends, if it is not renewed.
        lease_expires_at: i64,
    } = "key_in_progress",
    /// Whoever worked on it let the lease end, and what became of it is not known. The policy forbids to run it again.
    KeyLapsed {
        /// The generation of the claim.
        generation: u64,
        /// When its lease ended.
        lease_expired_at: i64,
    } = "outcome_unknown",
    /// The key's own time has run out, and nothing is known of it.
    IntentExpired {
        /// When it ran out.
        expires_at: i64,
    } = "intent_expired",
    /// The key would outlive its memory.
    IntentExpiryTooFar {
        /// The latest instant that would do.
        expires_at_max: i64,
    } = "intent_expiry_too_far",
    /// The key was claimed as often as can be counted.
    GenerationsExhausted = "generations_exhausted",
}
