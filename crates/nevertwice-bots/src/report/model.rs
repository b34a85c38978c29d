//! What a report says, before it has a shape.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::load::Latency;
use crate::record::{Finding, Kind, Verdict};

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, such as `oversold`.
    pub name: String,
    /// What was found.
    pub found: String,
    /// Whether that is as it must be.
    pub holds: bool,
    /// What it means, in one sentence.
    pub meaning: String,
}

/// One job of the run: the market or the sale.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What an accepted intent is called here, such as `fills`.
    pub effect: String,
    /// Intents of all kinds.
    pub intents: u64,
    /// Requests sent, retries included.
    pub requests: u64,
    /// Intents that were told yes, by kind of effect.
    pub effects: u64,
    /// Answers that were repetitions of an earlier yes.
    pub replays: u64,
    /// Replies lost on purpose: sent whole, closed before reading.
    pub lost_on_purpose: u64,
    /// Of their retries, those sent while the first was still under way.
    pub overlapping: u64,
    /// Replies lost otherwise: to the kill, or late.
    pub lost_otherwise: u64,
    /// Refusals by code.
    pub rejections: BTreeMap<String, u64>,
    /// Latency of the whole replies.
    pub latency: Latency,
    /// Further facts, each a name and a figure.
    pub facts: Vec<(String, String)>,
}

/// Requests over time: one count per step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// Whose requests.
    pub name: String,
    /// Replies per step.
    pub counts: Vec<u64>,
}

/// An instant worth marking on the charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When, from the beginning of the run.
    pub at: Duration,
    /// What happened.
    pub label: String,
}

/// The price of one instrument over time.
#[derive(Debug, Clone, PartialEq)]
pub struct PricePath {
    /// The instrument and whom it stands for.
    pub name: String,
    /// Prices in whole currency units by seconds from the beginning.
    pub points: Vec<(f64, f64)>,
}

/// How full a level is in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelFill {
    /// The level.
    pub level: String,
    /// Its cap; the sale's total where it has none.
    pub cap: u64,
    /// Live bookings that are paid.
    pub paid: u64,
    /// Live bookings that are not.
    pub held: u64,
    /// Bookings that were released.
    pub released: u64,
}

/// A line about the input that a reader should see: an own goal, a scorer that nobody could be found for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputLine {
    /// What is listed, such as `unresolved`.
    pub kind: String,
    /// The line.
    pub line: String,
    /// Whether it also belongs into the short report on the terminal.
    pub in_short: bool,
}

/// A whole report.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was run.
    pub title: String,
    /// The seed that repeats its plan.
    pub seed: u64,
    /// How long it took.
    pub took: Duration,
    /// What must hold, the most important first.
    pub checks: Vec<Check>,
    /// Everything that the judge found.
    pub findings: Vec<Finding>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// The input in one sentence each.
    pub input: Vec<InputLine>,
    /// How long a step of the rates is.
    pub step: Duration,
    /// Replies over time.
    pub rates: Vec<Rate>,
    /// What happened when.
    pub marks: Vec<Mark>,
    /// Prices of the most traded instruments.
    pub prices: Vec<PricePath>,
    /// The levels of the sale.
    pub levels: Vec<LevelFill>,
}

impl Report {
    /// Whether every check holds, and there was one.
    pub fn passes(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.holds)
    }
}

/// The judge's verdict as checks, one for each kind of failure.
impl From<&Verdict> for Vec<Check> {
    fn from(verdict: &Verdict) -> Self {
        let check = |kind: Kind| {
            let count = verdict.count(kind);
            let found = match (kind, count) {
                (Kind::NotConserved, 0) => "exact".to_owned(),
                (_, count) => count.to_string(),
            };
            Check { name: name_of(kind).to_owned(), found, holds: count == 0, meaning: meaning_of(kind).to_owned() }
        };
        Kind::ALL.into_iter().map(check).collect()
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::NotConserved => "conservation",
        other => other.name(),
    }
}

fn meaning_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Oversold => "More live bookings than seats, or one seat in two bookings.",
        Kind::Doubled => "One intent with two effects, or an effect that nobody asked for.",
        Kind::Lost => "Somebody was told yes, and the effect is not there.",
        Kind::Changed => "An intent was given two answers, or the figures told do not follow one another.",
        Kind::NotConserved => "All money sums to zero, and the shares held are those that the house has sold.",
        Kind::Unsettled => "Intents whose fate the clients could not learn by asking again.",
    }
}
