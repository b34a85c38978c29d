//! Those who take turns. Every step costs the logarithm of their number.

use std::collections::{BTreeMap, HashMap};

/// Those who take turns, by their numbers. Whoever has nothing left is not in it.
pub(super) struct Round<T> {
    turns: u64,
    /// Whose turn it is, in their order.
    order: BTreeMap<u64, u64>,
    /// Each of them, and its turn.
    of: HashMap<u64, (u64, T)>,
}

impl<T> Default for Round<T> {
    fn default() -> Self {
        Self { turns: 0, order: BTreeMap::new(), of: HashMap::new() }
    }
}

impl<T: Default> Round<T> {
    /// The one of that number; a new one comes last.
    pub(super) fn entry(&mut self, number: u64) -> &mut T {
        let (turns, order) = (&mut self.turns, &mut self.order);
        let (_, one) = self.of.entry(number).or_insert_with(|| {
            *turns += 1;
            order.insert(*turns, number);
            (*turns, T::default())
        });
        one
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.of.get(&number).map(|(_, one)| one)
    }

    /// Lets whose turn it is give something, and say whether nothing is left. If something is, it comes last from then on.
    pub(super) fn take_turn<U>(&mut self, take: impl FnOnce(&mut T) -> (Option<U>, bool)) -> Option<U> {
        let (_, number) = self.order.pop_first()?;
        let (turn, one) = self.of.get_mut(&number)?;
        let (taken, is_empty) = take(one);
        if is_empty {
            self.of.remove(&number);
        } else {
            self.turns += 1;
            *turn = self.turns;
            self.order.insert(self.turns, number);
        }
        taken
    }

    /// Changes the one of that number, if it is there; `change` says whether nothing is left.
    pub(super) fn change(&mut self, number: u64, change: impl FnOnce(&mut T) -> bool) {
        if let Some((turn, one)) = self.of.get_mut(&number)
            && change(one)
        {
            self.order.remove(turn);
            self.of.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(round: &mut Round<Vec<u32>>) -> Option<u32> {
        round.take_turn(|one| (one.pop(), one.is_empty()))
    }

    #[test]
    fn everybody_has_a_turn_before_anybody_has_two() {
        let mut round: Round<Vec<u32>> = Round::default();
        for (number, what) in [(1, 11), (1, 12), (1, 13), (2, 21), (3, 31), (3, 32)] {
            round.entry(number).insert(0, what);
        }
        let taken: Vec<_> = std::iter::from_fn(|| take(&mut round)).collect();
        assert_eq!(taken, [11, 21, 31, 12, 32, 13]);
        assert!(round.order.is_empty() && round.of.is_empty());
    }

    #[test]
    fn who_leaves_loses_its_turn_and_comes_last_again() {
        let mut round: Round<Vec<u32>> = Round::default();
        for number in 1..=3 {
            round.entry(number).push(number.try_into().expect("it is small"));
        }
        round.change(1, |one| {
            one.clear();
            true
        });
        round.change(7, |_| panic!("there is none"));
        round.entry(1).push(1);
        let taken: Vec<_> = std::iter::from_fn(|| take(&mut round)).collect();
        assert_eq!(taken, [2, 3, 1]);
        assert!(round.order.is_empty() && round.of.is_empty());
    }
}
