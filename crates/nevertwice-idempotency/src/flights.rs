//! Calls of this process that are under way, so that duplicates can wait for one of them instead of asking the store again and again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nevertwice_core::keys::KeyId;
use tokio::sync::watch;

#[derive(Clone, Default)]
pub(crate) struct Flights(Arc<Mutex<HashMap<KeyId, watch::Receiver<()>>>>);

/// What a call finds when it comes.
pub(crate) enum Entry {
    /// It is the first. Whoever comes later waits until this is dropped.
    First(Flight),
    /// Another is under way; the receiver hears its end.
    Follows(watch::Receiver<()>),
}

pub(crate) struct Flight {
    flights: Flights,
    id: KeyId,
    _ends: watch::Sender<()>,
}

impl Flights {
    fn map(&self) -> MutexGuard<'_, HashMap<KeyId, watch::Receiver<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, id: KeyId) -> Entry {
        let mut map = self.map();
        if let Some(receiver) = map.get(&id) {
            return Entry::Follows(receiver.clone());
        }
        let (sender, receiver) = watch::channel(());
        map.insert(id, receiver);
        Entry::First(Flight { flights: self.clone(), id, _ends: sender })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // Before the sender goes: whoever wakes finds the place free.
        self.flights.map().remove(&self.id);
    }
}
