//! What was done to a data folder as a whole. It concerns no market and no sale, so no entry tells of it; the audit does.

use nevertwice_core::fields::{Fields, Malformed, Sink, Source};
use nevertwice_core::{Entry, IdempotencyKey, Origin, Position, Principal, ShardId};

use crate::key_fact::KeyFact;

/// How many shards one fact names.
pub const FOLDER_SHARDS_MAX: usize = 256;

/// One thing that the audit tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// An operator's command in a market or a sale.
    Entry(Box<Entry>),
    /// Something that was done to the folder.
    Folder(Box<FolderFact>),
    /// An operator's command on the record of a key.
    Key(Box<KeyFact>),
}

impl Fact {
    /// When it happened, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(&self) -> i64 {
        match self {
            Self::Entry(entry) => entry.at_ms,
            Self::Folder(fact) => fact.at_ms,
            Self::Key(fact) => fact.at_ms,
        }
    }

    /// The entry, if it is one.
    #[must_use]
    pub fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Folder(_) | Self::Key(_) => None,
        }
    }
}

/// What can be done to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderDeed {
    /// It was a standby's, and became one of a server that decides.
    Promoted,
    /// It was made out of a backup.
    Restored,
}

impl FolderDeed {
    /// The word for the command in the API and in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Promoted => "promote_standby",
            Self::Restored => "restore_backup",
        }
    }
}

/// A place in the history of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderPlace {
    /// The journal's number.
    pub journal: u64,
    /// The highest epoch up to there.
    pub epoch: u32,
    /// The last batch.
    pub batch: u64,
}

/// Who asked for something to be done to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderAsker {
    /// Who called, and from where.
    pub origin: Origin,
    /// On whose behalf.
    pub principal: Principal,
    /// With which idempotency key.
    pub key: IdempotencyKey,
}

/// What was done to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFact {
    /// What.
    pub deed: FolderDeed,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who asked for it; none where a program was started on this machine to do it.
    pub asker: Option<FolderAsker>,
    /// The end of the history that it goes on from, in the journal that it was copied from.
    pub before: FolderPlace,
    /// Where it goes on: in its own journal, with entries of a later epoch.
    pub after: FolderPlace,
    /// Where the shards were, in the order of their names; at most [`FOLDER_SHARDS_MAX`].
    pub shards: Vec<(ShardId, Position)>,
    /// How many more there were.
    pub shards_left_out: u64,
}

impl FolderFact {
    /// The same, with as many shards as one fact names.
    #[must_use]
    pub fn with_shards(mut self, shards: impl IntoIterator<Item = (ShardId, Position)>) -> Self {
        let mut shards = shards.into_iter();
        self.shards = shards.by_ref().take(FOLDER_SHARDS_MAX).collect();
        self.shards_left_out = shards.count() as u64;
        self
    }
}

impl Fields for FolderDeed {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.byte(match self {
            Self::Promoted => 1,
            Self::Restored => 2,
        });
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        match source.byte()? {
            1 => Ok(Self::Promoted),
            2 => Ok(Self::Restored),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

impl Fields for FolderPlace {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.long(self.journal);
        sink.word(self.epoch);
        sink.long(self.batch);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(Self { journal: source.long()?, epoch: source.word()?, batch: source.long()? })
    }
}

impl Fields for FolderAsker {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        self.origin.put(sink);
        self.principal.put(sink);
        self.key.put(sink);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(Self { origin: Fields::take(source)?, principal: Fields::take(source)?, key: Fields::take(source)? })
    }
}

impl Fields for FolderFact {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        debug_assert!(self.shards.len() <= FOLDER_SHARDS_MAX);
        self.deed.put(sink);
        sink.signed(self.at_ms);
        self.asker.put(sink);
        self.before.put(sink);
        self.after.put(sink);
        sink.word(self.shards.len() as u32);
        for (shard, position) in &self.shards {
            shard.put(sink);
            position.put(sink);
        }
        sink.long(self.shards_left_out);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        let (deed, at_ms, asker) = (Fields::take(source)?, source.signed()?, Fields::take(source)?);
        let (before, after) = (Fields::take(source)?, Fields::take(source)?);
        let count = source.word()? as usize;
        if count > FOLDER_SHARDS_MAX {
            return Err(Malformed::ListTooLong);
        }
        let mut shards = Vec::new();
        for _ in 0..count {
            shards.push((Fields::take(source)?, Fields::take(source)?));
        }
        Ok(Self { deed, at_ms, asker, before, after, shards, shards_left_out: source.long()? })
    }
}
