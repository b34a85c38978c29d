//! Changes of keys, one of every kind.

use nevertwice_api::PrincipalMark;
use nevertwice_core::keys::{BodyKept, KeyAnswer, KeyClaim, KeyCompletion, KeyFreedom, KeyId, KeyRecord, KeyState, OwnerId};
use nevertwice_local::fuzzing::{write_key_change, write_swept};

use nevertwice_local::storage::Storage as _;

use super::list::Input;
use crate::targets::answers::FOLDER;

/// The file of answers of a folder of keys, whole.
pub(super) fn answers() -> Vec<Input> {
    let (storage, name) = &*FOLDER;
    vec![("whole".to_owned(), storage.read(name).expect("it is listed"))]
}

pub(super) fn changes() -> Vec<Input> {
    let (owner, fingerprint) = (OwnerId([2; 32]), [3; 32]);
    let answer = |body, head_digest, body_digest| {
        let answer = KeyAnswer { status: 201, head_bytes: 40, head_digest, body_bytes: 900, body_digest, body };
        KeyState::Completed(KeyCompletion { fingerprint, owner, answer })
    };
    let states = [
        ("free", KeyState::Free(KeyFreedom { owner }), None),
        ("in-progress", KeyState::InProgress(KeyClaim { fingerprint, owner, lease_expires_at: 1_790_000_060_000 }), None),
        ("whole", answer(BodyKept::Whole, [4; 32], [5; 32]), Some((7, 8_192))),
        ("tombstone", answer(BodyKept::Tombstone, [0; 32], [0; 32]), None),
    ];
    let mut inputs: Vec<Input> = Vec::new();
    for (name, state, place) in states {
        let record = KeyRecord { generation: 1_790_000_000_000, changed_at: 1_790_000_000_500, retention_ms: 86_400_000, state };
        inputs.push((name.to_owned(), write_key_change(PrincipalMark::NOBODY, KeyId([1; 32]), record.clone(), place).to_vec()));
        inputs.push((format!("{name}-marked"), write_key_change(PrincipalMark(9), KeyId([1; 32]), record, place).to_vec()));
    }
    inputs.push(("swept".to_owned(), write_swept(1_790_000_000_500).to_vec()));
    inputs
}
