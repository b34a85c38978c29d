//! The scripts of keys, and what they take, in the order of their headers.

use crate::script::{Script, script};

/// All of them.
pub(crate) static ALL: &[&Script] = &[&REGISTER_KEY, &LOOK_UP_KEY, &COMPLETE_KEY, &RENEW_LEASE, &RELEASE_KEY, &FORGET_KEY, &NOTE_WRITE];

script! {
    /// Claims a key for one attempt, or tells what is known of it.
    pub(super) struct RegisterCall, static REGISTER_KEY = "register_key";
    keys { record }
    args {
        at_ms: i64,
        skew_ms_max: i64,
        fingerprint: [u8; 32],
        owner: [u8; 32],
        lease_ms: i64,
        retention_ms: i64,
        expires_at: Option<i64>,
        lapse: &'static str,
        has_room: bool,
        keep_ms: i64,
    }
}

script! {
    /// Tells what is known of a key where the server has no memory left for a claim.
    pub(super) struct LookUpCall, static LOOK_UP_KEY = "look_up_key";
    keys { record }
    args {
        at_ms: i64,
        skew_ms_max: i64,
        fingerprint: [u8; 32],
        owner: [u8; 32],
        lease_ms: i64,
        retention_ms: i64,
        expires_at: Option<i64>,
        lapse: &'static str,
    }
}

script! {
    /// Answers a claimed key.
    pub(super) struct CompleteCall, static COMPLETE_KEY = "complete_key";
    keys { record }
    args {
        at_ms: i64,
        skew_ms_max: i64,
        owner: [u8; 32],
        generation: u64,
        status: u32,
        head_bytes: u32,
        head_digest: [u8; 32],
        body_bytes: u64,
        body_digest: [u8; 32],
        kept: &'static str,
        headers: Vec<u8>,
        body: Vec<u8>,
        has_room: bool,
        keep_ms: i64,
    }
}

script! {
    /// Moves the end of a lease.
    pub(super) struct RenewCall, static RENEW_LEASE = "renew_lease";
    keys { record }
    args { at_ms: i64, skew_ms_max: i64, owner: [u8; 32], generation: u64, lease_ms: i64, keep_ms: i64 }
}

script! {
    /// Gives a claimed key back.
    pub(super) struct ReleaseCall, static RELEASE_KEY = "release_key";
    keys { record }
    args { at_ms: i64, skew_ms_max: i64, owner: [u8; 32], generation: u64, keep_ms: i64 }
}

script! {
    /// Frees the memory of a record whose retention is over.
    pub(super) struct ForgetCall, static FORGET_KEY = "forget_key";
    keys { record }
    args { at_ms: i64, skew_ms_max: i64, keep_ms: i64 }
}

script! {
    /// Writes something at the end of a group, so that `WAIT` covers all that the group has seen.
    pub(super) struct NoteCall, static NOTE_WRITE = "note_write";
    keys { written }
    args {}
}
