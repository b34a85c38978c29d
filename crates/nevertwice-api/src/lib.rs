//! The contract of nevertwice: what a backend promises, what an answer looks like, how entries lie in bytes, and what can go
//! wrong.
//!
//! Everything that two parts of the house must agree on is here, and nothing that only one of them needs. The crate knows no
//! runtime, no HTTP server, no Redis and no SQL, and does no I/O.
//!
//! - [`Backend`]: how a host submits commands, reads, and waits for a level;
//! - [`EntrySource`]: how a follower reads what is durable;
//! - [`LedgerWatch`]: how a ledger follows;
//! - [`KeyStore`]: how a store keeps the keys of other people's handlers;
//! - [`key_header`]: the value of an `Idempotency-Key` header;
//! - [`Level`], [`Levels`]: when "yes" is said;
//! - [`encoding`]: the one byte layout of entries and state records;
//! - [`fingerprint`]: what makes two requests the same;
//! - [`person`]: keyed digests of what tells people apart;
//! - [`History`]: who did what, and what became of one tap;
//! - [`Networks`]: the addresses that a setting trusts;
//! - [`ErrorCode`]: the catalogue of everything that can go wrong, with a page each;
//! - [`wire`]: the JSON of the HTTP API.
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod backend;
pub mod encoding;
mod entry_source;
mod errors;
pub mod fingerprint;
mod folder_fact;
mod history;
mod key_fact;
pub mod key_header;
mod key_store;
mod ledger_status;
mod level;
mod networks;
mod observer;
pub mod person;
mod principal_shares;
mod status;
pub mod wire;

pub use backend::{Answer, Backend, BoxFuture, Failure, Reading, Request};
pub use entry_source::{EntryReader, EntrySource, SourceEntry, SourceFailure};
pub use errors::{ErrorCode, UnknownErrorCode};
pub use folder_fact::{FOLDER_SHARDS_MAX, Fact, FolderAsker, FolderDeed, FolderFact, FolderPlace};
pub use history::{
    AUDIT_PAGE_MAX, AuditAsk, AuditCursor, AuditPage, FOUND_MAX, Finding, Found, History, HistoryFailure, LATER_MAX, NotACursor, Sought,
};
pub use key_fact::{Foresee, KeyDeed, KeyFact, KeyStanding};
pub use key_store::{AnswerBytes, HeldKey, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Registered, Swept};
pub use ledger_status::{LedgerStatus, LedgerWatch, ShardLag};
pub use level::{Level, Levels};
pub use networks::Networks;
pub use observer::{GroupReport, NoObserver, Observer};
pub use principal_shares::{PrincipalMark, PrincipalShares, ShareBounds};
pub use status::{BackendStatus, Health};
