//! `decide` plus `apply`, alone.

use std::time::{Duration, Instant};

use nevertwice_core::{Decision, State};

use super::command::Scale;
use super::figure::Figure;
use super::orders::{QUANTITY_MAX, account, command, instrument, market, opening, order};

const ACCOUNTS: usize = 1_000;
const INSTRUMENTS: usize = 64;

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

/// Nanoseconds for one decision with its application, the best of several rounds: what disturbs only makes it longer.
fn nanoseconds(rounds: u64, orders: u64, quantity: i64) -> f64 {
    let mut state = opened(INSTRUMENTS, ACCOUNTS);
    let names: Vec<_> = (0..ACCOUNTS).map(account).collect();
    let instruments: Vec<_> = (0..INSTRUMENTS).map(instrument).collect();
    let mut best = Duration::MAX;
    let mut number = 0;
    for _ in 0..rounds {
        // Each account buys, then sells, on an instrument of its own choice.
        let commands: Vec<_> = (0..orders)
            .map(|at| {
                number += 1;
                let who = (at / 2) as usize % ACCOUNTS;
                command(number, order(&names[who], &instruments[who % INSTRUMENTS], at, quantity))
            })
            .collect();
        let start = Instant::now();
        for command in &commands {
            accept(&mut state, command, 2);
        }
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / orders as f64
}

pub(super) fn measure(scale: Scale) -> Vec<Figure> {
    let rounds = scale.of(20);
    let one = nanoseconds(rounds, 20_000, 1);
    let largest = nanoseconds(rounds, 20_000, QUANTITY_MAX);
    vec![
        Figure::new("core/decide-apply", one, "ns", "an order of one share"),
        Figure::new("core/decide-apply-largest", largest, "ns", "an order of a hundred thousand shares; ratio to one share")
            .ratio(largest / one),
    ]
}
