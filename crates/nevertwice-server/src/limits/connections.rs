//! How many connections each address has. Only accepting and ending a connection touch it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The connections of all addresses.
pub(crate) struct Connections {
    /// Only addresses with connections are in it, so it is no larger than their number.
    open: Mutex<HashMap<IpAddr, usize>>,
    max: Option<usize>,
}

/// A connection's place among those of its address, until it is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    address: IpAddr,
}

impl Connections {
    /// At most so many for each address; no bound if absent.
    pub(crate) fn new(max: Option<usize>) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), max })
    }

    /// Counts one more, if the address has fewer than may be. A proxy's address is its clients', so it has no bound.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, is_proxy: bool) -> Option<Place> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if !is_proxy && self.max.is_some_and(|max| *count >= max) {
            return None;
        }
        *count += 1;
        Some(Place { connections: Arc::clone(self), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_a_proxy_as_many_as_it_likes() {
        let connections = Connections::new(Some(2));
        let (here, there) = (IpAddr::from([1, 1, 1, 1]), IpAddr::from([2, 2, 2, 2]));
        let first = connections.enter(here, false).expect("there is room");
        let _second = connections.enter(here, false).expect("there is room");
        assert!(connections.enter(here, false).is_none());
        assert!(connections.enter(here, true).is_some() && connections.enter(there, false).is_some());
        drop(first);
        assert!(connections.enter(here, false).is_some());
        assert_eq!(connections.open.lock().expect("nobody panicked").len(), 1);
    }
}
