//! What an operator did to the record of a key: it stands in no shard's history, and the audit tells it all the same.

use nevertwice_core::fields::{Fields, Malformed, Sink, Source};
use nevertwice_core::keys::{BodyKept, CompleteKey, KeyRecord, KeyState, RegisterKey, ReleaseKey, RenewLease};
use nevertwice_core::{IdempotencyKey, Origin, Principal};

/// What can be done to the record of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDeed {
    /// It was claimed.
    Registered,
    /// It got its answer.
    Completed,
    /// Its lease was renewed, or ended.
    Renewed,
    /// It was given back.
    Released,
}

impl KeyDeed {
    /// The word for the command in the API and in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Registered => "register_key",
            Self::Completed => "complete_key",
            Self::Renewed => "renew_lease",
            Self::Released => "release_key",
        }
    }
}

/// How the record of a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStanding {
    /// There is none.
    Absent,
    /// Whoever claimed it gave it back.
    Free,
    /// Somebody has claimed it, for so many milliseconds from the fact's instant on; below 0: until so long before it.
    InProgress {
        /// What is left of the lease.
        lease_ms: i64,
    },
    /// It has an answer.
    Completed {
        /// The answer's status.
        status: u32,
        /// The length of its body.
        body_bytes: u64,
        /// Whether only that is kept of it.
        is_tombstone: bool,
    },
    /// As before: somebody else had changed it meanwhile, and the command was refused.
    Refused,
}

impl KeyStanding {
    /// How a record stands at an instant.
    #[must_use]
    pub fn of(record: Option<&KeyRecord>, at_ms: i64) -> Self {
        match record.map(|record| &record.state) {
            None => Self::Absent,
            Some(KeyState::Free(_)) => Self::Free,
            Some(KeyState::InProgress(claim)) => Self::InProgress { lease_ms: claim.lease_expires_at.saturating_sub(at_ms) },
            Some(KeyState::Completed(completion)) => {
                let answer = &completion.answer;
                let is_tombstone = answer.body == BodyKept::Tombstone;
                Self::Completed { status: answer.status, body_bytes: answer.body_bytes, is_tombstone }
            }
        }
    }
}

/// What a command would make of the record of a key, if nobody changes it meanwhile. It is for telling: what is done, and what is
/// answered, the store alone decides.
pub trait Foresee {
    /// How the record would stand; none where nothing would change.
    fn foresee(&self, record: Option<&KeyRecord>, at_ms: i64) -> Option<KeyStanding>;
}

macro_rules! foresee {
    ($($command:ty),*) => {
        $(impl Foresee for $command {
            fn foresee(&self, record: Option<&KeyRecord>, at_ms: i64) -> Option<KeyStanding> {
                self.decide(record, at_ms).change.map(|record| KeyStanding::of(Some(&record), at_ms))
            }
        })*
    };
}

foresee!(RegisterKey, CompleteKey, RenewLease, ReleaseKey);

/// What an operator did to the record of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFact {
    /// What.
    pub deed: KeyDeed,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who called, and from where.
    pub origin: Origin,
    /// Whose key.
    pub principal: Principal,
    /// Where the key counts; empty where nobody said. At most [`KeyFact::SCOPE_BYTES_MAX`] visible ASCII characters.
    pub scope: String,
    /// Which key.
    pub key: IdempotencyKey,
    /// The claim that was named; none where it was made.
    pub generation: Option<u64>,
    /// How the record stood.
    pub before: KeyStanding,
    /// How it stands.
    pub after: KeyStanding,
    /// The batch of the journal that tells it; 0 within that batch.
    pub batch: u64,
}

impl KeyFact {
    /// The longest scope.
    pub const SCOPE_BYTES_MAX: usize = 128;
}

impl Fields for KeyDeed {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.byte(match self {
            Self::Registered => 1,
            Self::Completed => 2,
            Self::Renewed => 3,
            Self::Released => 4,
        });
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        match source.byte()? {
            1 => Ok(Self::Registered),
            2 => Ok(Self::Completed),
            3 => Ok(Self::Renewed),
            4 => Ok(Self::Released),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

impl Fields for KeyStanding {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        match self {
            Self::Absent => sink.byte(1),
            Self::Free => sink.byte(2),
            Self::InProgress { lease_ms } => {
                sink.byte(3);
                sink.signed(*lease_ms);
            }
            Self::Completed { status, body_bytes, is_tombstone } => {
                sink.byte(if *is_tombstone { 5 } else { 4 });
                sink.word(*status);
                sink.long(*body_bytes);
            }
            Self::Refused => sink.byte(6),
        }
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(match source.byte()? {
            1 => Self::Absent,
            2 => Self::Free,
            3 => Self::InProgress { lease_ms: source.signed()? },
            tag @ (4 | 5) => Self::Completed { status: source.word()?, body_bytes: source.long()?, is_tombstone: tag == 5 },
            6 => Self::Refused,
            other => return Err(Malformed::UnknownTag(other)),
        })
    }
}

impl Fields for KeyFact {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        self.deed.put(sink);
        sink.signed(self.at_ms);
        self.origin.put(sink);
        self.principal.put(sink);
        sink.text(&self.scope);
        self.key.put(sink);
        self.generation.put(sink);
        self.before.put(sink);
        self.after.put(sink);
        sink.long(self.batch);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        let (deed, at_ms, origin, principal) = (Fields::take(source)?, source.signed()?, Fields::take(source)?, Fields::take(source)?);
        let scope = source.text(Self::SCOPE_BYTES_MAX)?;
        if !scope.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Malformed::Text);
        }
        let scope = scope.to_owned();
        let (key, generation) = (Fields::take(source)?, Fields::take(source)?);
        let (before, after) = (Fields::take(source)?, Fields::take(source)?);
        Ok(Self { deed, at_ms, origin, principal, scope, key, generation, before, after, batch: source.long()? })
    }
}
