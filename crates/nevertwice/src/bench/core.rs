//! `decide` plus `apply`, alone.

use std::time::{Duration, Instant};

use nevertwice_core::{Decision, State};

use super::command::Scale;
use super::figure::Figure;
use super::orders::{QUANTITY_MAX, account, command, instrument, market, opening, order};

const ACCOUNTS: usize = 1_000;
const INSTRUMENTS: usize = 64;
/// Orders of one round.
const ORDERS: u64 = 20_000;

/// Applies the commands that open the market.
pub(super) fn opened(instruments: usize, accounts: usize) -> State {
    let mut state = State::new(market(), 1, (0x5eed, 0x0ded));
    for command in opening(instruments, accounts) {
        accept(&mut state, &command, 1);
    }
    state
}

pub(super) fn accept(state: &mut State, command: &nevertwice_core::Command, at_ms: i64) {
    match state.decide(command, at_ms) {
        Decision::Accepted(entry) => state.apply(&entry).expect("an accepted entry fits"),
        other => panic!("a benchmark's command was not accepted: {other:?}"),
    }
}

/// A market in which the same accounts trade the same quantity over and over.
struct Course {
    state: State,
    quantity: i64,
    number: u64,
    best: Duration,
}

impl Course {
    fn new(quantity: i64) -> Self {
        Self { state: opened(INSTRUMENTS, ACCOUNTS), quantity, number: 0, best: Duration::MAX }
    }

    /// One round; the best of all counts, since whatever disturbs only makes it longer.
    fn round(&mut self) {
        // Each account buys, then sells, on an instrument of its own choice.
        let commands: Vec<_> = (0..ORDERS)
            .map(|at| {
                self.number += 1;
                let who = (at / 2) as usize % ACCOUNTS;
                command(self.number, order(&account(who), &instrument(who % INSTRUMENTS), at, self.quantity))
            })
            .collect();
        let start = Instant::now();
        for command in &commands {
            accept(&mut self.state, command, 2);
        }
        self.best = self.best.min(start.elapsed());
    }

    fn nanoseconds(&self) -> f64 {
        self.best.as_nanos() as f64 / ORDERS as f64
    }
}

pub(super) fn measure(scale: Scale) -> Vec<Figure> {
    let (mut one, mut largest) = (Course::new(1), Course::new(QUANTITY_MAX));
    // In turns, so that whatever disturbs the machine disturbs both.
    for _ in 0..scale.of(20) {
        one.round();
        largest.round();
    }
    let (one, largest) = (one.nanoseconds(), largest.nanoseconds());
    vec![
        Figure::new("core/decide-apply", one, "ns", "an order of one share"),
        Figure::new("core/decide-apply-largest", largest, "ns", "an order of 94,906,265 shares, the largest there is; ratio to one share")
            .ratio(largest / one),
    ]
}
