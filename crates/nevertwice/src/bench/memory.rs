//! What remembered keys cost: bytes, and time as they grow to ten million.

use std::time::{Duration, Instant};

use nevertwice_core::{Name, State};

use super::command::Scale;
use super::core::{accept, opened};
use super::figure::Figure;
use super::orders::{account, command, instrument, order};
use super::resident::resident_bytes;

const ACCOUNTS: usize = 1_000;
const INSTRUMENTS: usize = 64;

/// How many decisions one measurement takes the mean of.
const WINDOW: u64 = 10_000;

/// How many commands are read ahead at a time.
const AHEAD: usize = 8;

/// How often the way to the last key is gone. The same decision does the same work each time, so what is longest in *every* pass
/// is the work's, and not that of a machine that was elsewhere for a moment.
const PASSES: usize = 3;

/// A market whose orders are numbered.
struct Road {
    state: State,
    names: Vec<Name>,
    instruments: Vec<Name>,
    number: u64,
}

impl Road {
    fn new() -> Self {
        Self {
            state: opened(INSTRUMENTS, ACCOUNTS),
            names: (0..ACCOUNTS).map(account).collect(),
            instruments: (0..INSTRUMENTS).map(instrument).collect(),
            number: 0,
        }
    }

    /// The next decisions; each one's time goes to `took`. Returns the mean, in nanoseconds.
    fn window(&mut self, mut took: impl FnMut(u64, Duration)) -> f64 {
        let commands: Vec<_> = (self.number..self.number + WINDOW)
            .map(|at| {
                let who = (at / 2) as usize % ACCOUNTS;
                command(at, order(&self.names[who], &self.instruments[who % INSTRUMENTS], at, 1))
            })
            .collect();
        let start = Instant::now();
        let mut last = start;
        for (command, at) in commands.iter().zip(self.number..) {
            // As the sequencer does with what has arrived.
            if at.is_multiple_of(AHEAD as u64) {
                self.state.touch(commands.iter().skip((at - self.number) as usize).take(AHEAD));
            }
            accept(&mut self.state, command, 2);
            let now = Instant::now();
            took(at, now - last);
            last = now;
        }
        self.number += WINDOW;
        (last - start).as_nanos() as f64 / WINDOW as f64
    }
}

pub(super) fn measure(scale: Scale) -> Vec<Figure> {
    let keys = scale.of(10_000_000);
    let mut shortest = vec![Duration::MAX; usize::try_from(keys).unwrap_or(0)];
    let (mut bytes, mut long) = (0.0, Road::new());
    for pass in 0..PASSES {
        long = Road::new();
        let before = resident_bytes();
        while long.number < keys {
            long.window(|at, took| {
                if let Some(shortest) = shortest.get_mut(at as usize) {
                    *shortest = took.min(*shortest);
                }
            });
        }
        if pass == 0 {
            bytes = resident_bytes().saturating_sub(before) as f64 / keys as f64;
        }
    }
    let worst = shortest.into_iter().max().unwrap_or_default();
    assert_eq!(long.state.intents_held() as u64, keys + 1 + (INSTRUMENTS + ACCOUNTS) as u64, "every key is remembered");
    // In turns, so that whatever disturbs the machine disturbs both.
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let mut short = Road::new();
        short.window(|_, _| {});
        few.push(short.window(|_, _| {}));
        // Both take their memory from what the process has had before: what the system takes to hand out a fresh page is not
        // what grows with the keys.
        drop(short);
        many.push(long.window(|_, _| {}));
    }
    let (few, many) = (median(few), median(many));
    vec![
        Figure::new("memory/keys-10k", few, "ns", "a decision with ten thousand remembered keys"),
        Figure::new("memory/keys-10m", many, "ns", "a decision with ten million; ratio to ten thousand").ratio(many / few),
        Figure::new("memory/key-bytes", bytes, "bytes", "resident memory for each remembered key"),
        Figure::new(
            "memory/worst-us",
            worst.as_micros() as f64,
            "us",
            "the slowest single decision on the way, at its best of three passes",
        ),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
