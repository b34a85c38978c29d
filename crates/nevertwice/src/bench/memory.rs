//! What remembered keys cost: bytes, and time as they grow to ten million.

use std::time::{Duration, Instant};

use super::command::Scale;
use super::core::{accept, opened};
use super::figure::Figure;
use super::orders::{account, command, instrument, order};

const ACCOUNTS: usize = 1_000;
const INSTRUMENTS: usize = 64;

/// How many decisions one measurement takes the mean of.
const WINDOW: u64 = 10_000;

pub(super) fn measure(scale: Scale) -> Vec<Figure> {
    let keys = scale.of(10_000_000);
    let mut state = opened(INSTRUMENTS, ACCOUNTS);
    let names: Vec<_> = (0..ACCOUNTS).map(account).collect();
    let instruments: Vec<_> = (0..INSTRUMENTS).map(instrument).collect();
    let before = resident_bytes();
    let (mut few, mut many) = (Vec::new(), Vec::new());
    let mut worst = Duration::ZERO;
    let mut number = 0;
    while number < keys {
        let commands: Vec<_> = (number..number + WINDOW)
            .map(|at| {
                let who = (at / 2) as usize % ACCOUNTS;
                command(at, order(&names[who], &instruments[who % INSTRUMENTS], at, 1))
            })
            .collect();
        let start = Instant::now();
        let mut last = start;
        for command in &commands {
            accept(&mut state, command, 2);
            let now = Instant::now();
            worst = worst.max(now - last);
            last = now;
        }
        let mean = (last - start).as_nanos() as f64 / WINDOW as f64;
        number += WINDOW;
        // Up to twenty thousand, and the last two hundred thousand: the medians of their windows.
        if number <= 20_000 {
            few.push(mean);
        }
        if number > keys - 200_000 {
            many.push(mean);
        }
    }
    let bytes = resident_bytes().saturating_sub(before) as f64 / keys as f64;
    let (few, many) = (median(few), median(many));
    assert_eq!(state.intents_held() as u64, keys + 1 + (INSTRUMENTS + ACCOUNTS) as u64, "every key is remembered");
    vec![
        Figure::new("memory/keys-10k", few, "ns", "a decision with ten thousand remembered keys"),
        Figure::new("memory/keys-10m", many, "ns", "a decision with ten million; ratio to ten thousand").ratio(many / few),
        Figure::new("memory/key-bytes", bytes, "bytes", "resident memory for each remembered key"),
        Figure::new("memory/worst-us", worst.as_micros() as f64, "us", "the slowest single decision on the way"),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What the process has in memory, in bytes; 0 where the system doesn't tell (it is Linux's `/proc`).
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
