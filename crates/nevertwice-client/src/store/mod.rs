//! Where intents are kept, so that a retry after a restart is still the same intent.

mod folder;
mod memory;
mod record;

pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use record::{IntentState, IntentStore, Record, StoreError};
