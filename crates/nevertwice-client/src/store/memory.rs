//! A store that forgets with its process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{IntentStore, Record, StoreError};

/// Keeps records as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<HashMap<String, Record>>,
}

impl MemoryStore {
    fn records(&self) -> MutexGuard<'_, HashMap<String, Record>> {
        // Each change is one step of the map, so a panic elsewhere leaves it whole.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IntentStore for MemoryStore {
    fn get(&self, name: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.records().get(name).cloned())
    }

    fn swap(&self, name: &str, old: Option<&Record>, new: Option<&Record>) -> Result<bool, StoreError> {
        let mut records = self.records();
        if records.get(name) != old {
            return Ok(false);
        }
        match new {
            Some(new) => records.insert(name.to_owned(), new.clone()),
            None => records.remove(name),
        };
        Ok(true)
    }
}
