//! The bytes of a change: what a batch of the key journal and a snapshot of keys consist of. All have the same length.
//!
//! All integers are little-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | version: 2 where a mark of the principal is there, else 1 |
//! | 1 | 1 | kind: 1 free, 2 in progress, 3 completed, 4 swept |
//! | 2 | 1 | of a completed key: 1 the answer's bytes are kept, 2 they are not; else 0 |
//! | 3 | 1 | zero |
//! | 4 | 4 | of a completed key: the status; else 0 |
//! | 8 | 32 | the key's id |
//! | 40 | 8 | generation |
//! | 48 | 8 | when it was changed; of `swept`: the instant of the sweep |
//! | 56 | 8 | retention |
//! | 64 | 32 | owner |
//! | 96 | 32 | fingerprint; of a free key: zeros |
//! | 128 | 8 | in progress: when the lease ends; completed: bytes of the body; else 0 |
//! | 136 | 4 | completed: bytes of the head; else 0 |
//! | 140 | 4 | the mark of the principal; of nobody, and of `swept`, 0 |
//! | 144 | 32 | completed: SHA-256 of the head; else zeros |
//! | 176 | 32 | completed: SHA-256 of the body; else zeros |
//! | 208 | 8 | where the answer's bytes are kept: number of the file; else 0 |
//! | 216 | 8 | and where in it the head begins, which the body follows; else 0 |

use nevertwice_api::PrincipalMark;
use nevertwice_core::keys::{BodyKept, KeyAnswer, KeyClaim, KeyCompletion, KeyFreedom, KeyId, KeyRecord, KeyState, OwnerId};

/// The length of a change.
#[cfg_attr(not(feature = "fuzzing"), allow(unreachable_pub, reason = "the fuzz targets use it, and nobody else outside"))]
pub const CHANGE_BYTES: usize = 224;

/// The version of the layout. Whatever a later one changes, it keeps the version's place.
pub(crate) const VERSION: u8 = 2;

/// The version of a change without a mark of a principal, as it was before there were any.
const UNMARKED: u8 = 1;

const FREE: u8 = 1;
const IN_PROGRESS: u8 = 2;
const COMPLETED: u8 = 3;
const SWEPT: u8 = 4;

const WHOLE: u8 = 1;
const TOMBSTONE: u8 = 2;

/// Where an answer's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The number of the file, from 1.
    pub(crate) file: u64,
    /// Where in it they begin.
    pub(crate) offset: u64,
}

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) record: KeyRecord,
    /// Of an answer that is kept whole: where its bytes lie.
    pub(crate) place: Option<Place>,
    /// Against whose bound it counts.
    pub(crate) principal: PrincipalMark,
}

impl Kept {
    /// How many bytes of an answer lie at its place.
    pub(crate) fn answer_bytes(&self) -> u64 {
        match &self.record.state {
            KeyState::Completed(completion) if self.place.is_some() => length(&completion.answer),
            _ => 0,
        }
    }

    pub(crate) const fn is_claim(&self) -> bool {
        matches!(self.record.state, KeyState::InProgress(_))
    }
}

/// Bytes of head and body together.
pub(crate) fn length(answer: &KeyAnswer) -> u64 {
    u64::from(answer.head_bytes).saturating_add(answer.body_bytes)
}

/// One change.
#[expect(clippy::large_enum_variant, reason = "nearly all are of the large variant, and none is kept")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// From now on this is kept of the key.
    Key(KeyId, Kept),
    /// Whatever was forgotten by then may be gone from memory, and its answer's bytes from the disk.
    Swept(i64),
}

/// Bytes that are no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadChange {
    /// A later version wrote it.
    TooNew(u8),
    /// Nobody writes such bytes.
    Malformed(&'static str),
}

impl Change {
    pub(crate) fn encode(&self) -> [u8; CHANGE_BYTES] {
        let mut bytes = [0; CHANGE_BYTES];
        bytes[0] = UNMARKED;
        match self {
            Change::Swept(at_ms) => {
                bytes[1] = SWEPT;
                bytes[48..56].copy_from_slice(&at_ms.to_le_bytes());
            }
            Change::Key(id, kept) => put_key(&mut bytes, id, kept),
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; CHANGE_BYTES]) -> Result<Change, BadChange> {
        if bytes[0] > VERSION {
            return Err(BadChange::TooNew(bytes[0]));
        }
        let change =
            if bytes[1] == SWEPT { Change::Swept(signed(bytes, 48)) } else { Change::Key(KeyId(digest(bytes, 8)), take_key(bytes)?) };
        // One value has one form: what is not used is zero, and nothing else counts.
        if change.encode() == *bytes { Ok(change) } else { Err(BadChange::Malformed("a change has bytes that nobody writes")) }
    }
}

fn put_key(bytes: &mut [u8; CHANGE_BYTES], id: &KeyId, kept: &Kept) {
    let Kept { record, place, principal } = kept;
    if *principal != PrincipalMark::NOBODY {
        bytes[0] = VERSION;
        bytes[140..144].copy_from_slice(&principal.0.to_le_bytes());
    }
    bytes[8..40].copy_from_slice(&id.0);
    bytes[40..48].copy_from_slice(&record.generation.to_le_bytes());
    bytes[48..56].copy_from_slice(&record.changed_at.to_le_bytes());
    bytes[56..64].copy_from_slice(&record.retention_ms.to_le_bytes());
    match &record.state {
        KeyState::Free(KeyFreedom { owner }) => {
            bytes[1] = FREE;
            bytes[64..96].copy_from_slice(&owner.0);
        }
        KeyState::InProgress(KeyClaim { fingerprint, owner, lease_expires_at }) => {
            bytes[1] = IN_PROGRESS;
            bytes[64..96].copy_from_slice(&owner.0);
            bytes[96..128].copy_from_slice(fingerprint);
            bytes[128..136].copy_from_slice(&lease_expires_at.to_le_bytes());
        }
        KeyState::Completed(KeyCompletion { fingerprint, owner, answer }) => {
            bytes[1] = COMPLETED;
            bytes[2] = match answer.body {
                BodyKept::Whole => WHOLE,
                BodyKept::Tombstone => TOMBSTONE,
            };
            bytes[4..8].copy_from_slice(&answer.status.to_le_bytes());
            bytes[64..96].copy_from_slice(&owner.0);
            bytes[96..128].copy_from_slice(fingerprint);
            bytes[128..136].copy_from_slice(&answer.body_bytes.to_le_bytes());
            bytes[136..140].copy_from_slice(&answer.head_bytes.to_le_bytes());
            bytes[144..176].copy_from_slice(&answer.head_digest);
            bytes[176..208].copy_from_slice(&answer.body_digest);
        }
    }
    if let Some(place) = place {
        bytes[208..216].copy_from_slice(&place.file.to_le_bytes());
        bytes[216..224].copy_from_slice(&place.offset.to_le_bytes());
    }
}

fn take_key(bytes: &[u8; CHANGE_BYTES]) -> Result<Kept, BadChange> {
    let owner = OwnerId(digest(bytes, 64));
    let fingerprint = digest(bytes, 96);
    let place = Some(Place { file: long(bytes, 208), offset: long(bytes, 216) }).filter(|place| place.file > 0);
    let state = match bytes[1] {
        FREE => KeyState::Free(KeyFreedom { owner }),
        IN_PROGRESS => KeyState::InProgress(KeyClaim { fingerprint, owner, lease_expires_at: signed(bytes, 128) }),
        COMPLETED => {
            let body = match bytes[2] {
                WHOLE => BodyKept::Whole,
                TOMBSTONE => BodyKept::Tombstone,
                _ => return Err(BadChange::Malformed("an answer is neither kept nor a tombstone")),
            };
            let answer = KeyAnswer {
                status: word(bytes, 4),
                head_bytes: word(bytes, 136),
                head_digest: digest(bytes, 144),
                body_bytes: long(bytes, 128),
                body_digest: digest(bytes, 176),
                body,
            };
            KeyState::Completed(KeyCompletion { fingerprint, owner, answer })
        }
        _ => return Err(BadChange::Malformed("a change is of no kind")),
    };
    let is_whole = matches!(&state, KeyState::Completed(completion) if completion.answer.body == BodyKept::Whole);
    if is_whole != place.is_some() {
        return Err(BadChange::Malformed("an answer has no place, or a place has no answer"));
    }
    let record = KeyRecord { generation: long(bytes, 40), changed_at: signed(bytes, 48), retention_ms: signed(bytes, 56), state };
    Ok(Kept { record, place, principal: PrincipalMark(word(bytes, 140)) })
}

fn digest(bytes: &[u8; CHANGE_BYTES], at: usize) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(&bytes[at..at + 32]);
    digest
}

fn word(bytes: &[u8; CHANGE_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8; CHANGE_BYTES], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

fn signed(bytes: &[u8; CHANGE_BYTES], at: usize) -> i64 {
    i64::from_le_bytes(long(bytes, at).to_le_bytes())
}
