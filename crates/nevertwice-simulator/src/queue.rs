//! What happens when: one queue of events in virtual time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events in the order of their instants; those of one instant in the order in which they were put.
pub(crate) struct Queue<E> {
    heap: BinaryHeap<Planned<E>>,
    number: u64,
}

struct Planned<E> {
    at_us: u64,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), number: 0 }
    }

    /// Plans an event.
    pub(crate) fn put(&mut self, at_us: u64, event: E) {
        self.heap.push(Planned { at_us, number: self.number, event });
        self.number += 1;
    }

    /// The next event and its instant.
    pub(crate) fn next(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|planned| (planned.at_us, planned.event))
    }
}

impl<E> Ord for Planned<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives the largest first.
        (other.at_us, other.number).cmp(&(self.at_us, self.number))
    }
}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Planned<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_instants_and_then_as_they_were_put() {
        let mut queue = Queue::new();
        for (at_us, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
            queue.put(at_us, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(order, [(1, 'a'), (3, 'b'), (5, 'c'), (5, 'd')]);
    }
}
