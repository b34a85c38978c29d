//! Planted bugs, by which the simulator shows that it finds such ones. Compiled only with the feature `mutants`, which nothing that
//! is shipped turns on, and inert until one is planted.

/// A bug that can be planted in a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// One batch in sixteen is not synced.
    SkippedSync,
    /// An accepted command is answered before its entry is safe.
    EarlyAnswer,
    /// A replay or a refusal is answered before what it rests on is safe.
    EarlyReplay,
    /// A command on a key is answered before what it changed is safe.
    EarlyKeyAnswer,
    /// The bytes of an answer are not synced before the change that names them.
    UnsyncedAnswer,
    /// A standby confirms a batch before it has synced it.
    EarlyConfirmation,
    /// A bug in the core.
    Core(nevertwice_core::Mutant),
}

impl Mutant {
    /// All of them, and their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("skipped-sync", Self::SkippedSync),
        ("early-answer", Self::EarlyAnswer),
        ("early-replay", Self::EarlyReplay),
        ("early-key-answer", Self::EarlyKeyAnswer),
        ("unsynced-answer", Self::UnsyncedAnswer),
        ("early-confirmation", Self::EarlyConfirmation),
        ("release-without-owner", Self::Core(nevertwice_core::Mutant::ReleaseWithoutOwner)),
        ("early-purge", Self::Core(nevertwice_core::Mutant::EarlyPurge)),
    ];
}
