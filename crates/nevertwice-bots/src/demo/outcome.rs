//! From what was told and read to a report.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Options;
use super::ask::{Meter, STEP};
use super::wire::Question;
use crate::record::{Asked, BookingStage, Effect, MarketState, Position, Record, SaleState, judge};
use crate::report::{Check, InputLine, Job, LevelFill, Mark, PricePath, Rate, Report, grouped};
use crate::worldcup::{Matches, Squads, Timeline, Whose};

/// Price paths that are drawn.
const PATHS: usize = 6;
/// Points of one path.
const POINTS: usize = 240;

/// A finished demonstration.
#[derive(Debug, Clone)]
pub struct Demo {
    /// The report. Whoever stops the server and verifies its journal adds that as a [`Check`].
    pub report: Report,
    /// What the clients were told.
    pub record: Record,
    /// The market as it was read in the end.
    pub market: MarketState,
    /// The sale as it was read in the end.
    pub sale: SaleState,
}

/// What all clients were told and counted.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) record: Record,
    pub(super) market: Meter,
    pub(super) sale: Meter,
    pub(super) doubtful: Vec<Question>,
    pub(super) asked_again: usize,
    pub(super) robots_fooled: usize,
    pub(super) doors_open: Duration,
    pub(super) killed_at: Option<Duration>,
    pub(super) restarted_at: Option<Duration>,
    pub(super) under_way: u64,
    pub(super) took: Duration,
}

/// Judges and reports.
pub(super) fn assemble(
    options: &Options,
    squads: &Squads,
    matches: &Matches,
    timeline: &Timeline,
    told: Told,
    market: MarketState,
    sale: SaleState,
) -> Demo {
    let verdict = judge(&told.record, Some(&market), Some(&sale));
    let mut checks: Vec<Check> = (&verdict).into();
    checks.push(kill_check(&told));
    checks.push(goals_check(timeline, matches));
    let mut marks = vec![Mark { at: told.doors_open, label: "doors open".to_owned() }];
    marks.extend(told.killed_at.map(|at| Mark { at, label: "killed".to_owned() }));
    let rate = |name: &str, meter: &Meter| Rate { name: name.to_owned(), counts: meter.rate.clone() };
    let report = Report {
        title: "nevertwice demo".to_owned(),
        seed: options.seed,
        took: told.took,
        checks,
        findings: verdict.findings,
        jobs: vec![market_job(&told, &market, timeline), sale_job(&told, &sale)],
        input: input(timeline, matches),
        step: STEP,
        rates: vec![rate("market", &told.market), rate("sale", &told.sale)],
        marks,
        prices: price_paths(&told.record, squads),
        levels: levels(options, &sale),
    };
    Demo { report, record: told.record, market, sale }
}

fn kill_check(told: &Told) -> Check {
    let (found, holds, away) = match (told.killed_at, told.restarted_at) {
        (Some(killed), Some(restarted)) => {
            let away = format!(" It was away for {:.1} s.", restarted.saturating_sub(killed).as_secs_f64());
            (told.under_way.to_string(), told.under_way > 0, away)
        }
        _ => ("not killed".to_owned(), false, String::new()),
    };
    let meaning = format!("Requests without an answer when the server was killed; with none, the kill would prove nothing.{away}");
    Check { name: "under way at the kill".to_owned(), found, holds, meaning }
}

fn goals_check(timeline: &Timeline, matches: &Matches) -> Check {
    let counts = timeline.counts();
    let all: usize = matches.all().iter().map(|played| played.goals.len()).sum();
    Check {
        name: "goals accounted for".to_owned(),
        found: format!("{} of {all}", counts.total()),
        holds: counts.total() == all,
        meaning: format!(
            "{} scorers resolved by rule, {} own goals, {} unresolved and listed.",
            counts.resolved, counts.own_goals, counts.unresolved
        ),
    }
}

fn job(name: &str, effect: &str, meter: &Meter, intents: u64, effects: u64, facts: Vec<(String, String)>) -> Job {
    Job {
        name: name.to_owned(),
        effect: effect.to_owned(),
        intents,
        requests: meter.requests,
        effects,
        replays: meter.replays,
        lost_on_purpose: meter.lost_on_purpose,
        overlapping: meter.overlapping,
        lost_otherwise: meter.lost_otherwise,
        rejections: meter.rejections.clone(),
        latency: meter.latency.clone(),
        facts,
    }
}

/// A figure by name.
fn fact(name: &str, count: usize) -> (String, String) {
    (name.to_owned(), grouped(count as u64))
}

fn market_job(told: &Told, market: &MarketState, timeline: &Timeline) -> Job {
    let (mut intents, mut fills, mut shares, mut repriced) = (0, 0, 0_i64, 0_usize);
    for (_, notes) in told.record.intents().filter(|(_, notes)| !notes.asked.of_sale()) {
        intents += 1;
        match (&notes.asked, notes.yes()) {
            (Asked::Order { quantity, .. }, Some(_)) => {
                fills += 1;
                shares += quantity;
            }
            (Asked::Reprice { .. }, Some(_)) => repriced += 1,
            _ => {}
        }
    }
    let cents = |amount: i64| format!("{}.{:02}", grouped(amount.unsigned_abs() / 100), amount.unsigned_abs() % 100);
    let facts = vec![
        fact("players listed", market.instruments.len()),
        fact("accounts", market.accounts.len()),
        fact("shares traded", usize::try_from(shares).unwrap_or(0)),
        ("goals that moved a price".to_owned(), format!("{repriced} of {}", timeline.counts().resolved)),
        ("fees".to_owned(), cents(market.fees)),
    ];
    job("market", "fills", &told.market, intents, fills, facts)
}

fn sale_job(told: &Told, sale: &SaleState) -> Job {
    let (mut intents, mut bookings, mut at_page) = (0, 0, 0);
    let mut taps: BTreeMap<&str, u32> = BTreeMap::new();
    for (intent, notes) in told.record.intents().filter(|(_, notes)| notes.asked.of_sale()) {
        intents += 1;
        at_page += usize::from(notes.is_shown());
        if matches!(notes.asked, Asked::Admission { .. }) {
            bookings += u64::from(notes.yes().is_some());
            if intent.key.starts_with("book-1") {
                *taps.entry(&intent.principal).or_default() += 1;
            }
        }
    }
    let staged = |stage| sale.bookings.values().filter(|booking| booking.stage == stage).count();
    let mut seats = BTreeSet::new();
    let again = sale.bookings.values().filter(|booking| !seats.insert(booking.seat)).count();
    let facts = vec![
        fact("paid", staged(BookingStage::Paid)),
        fact("of these at the gateway's page", at_page),
        fact("given back", staged(BookingStage::Released)),
        fact("seats taken again", again),
        fact("candidates who tapped twice", taps.values().filter(|taps| **taps > 1).count()),
        fact("robots that got a look of success and no seat", told.robots_fooled),
        fact("intents asked again in the end", told.asked_again),
    ];
    job("sale", "bookings", &told.sale, intents, bookings, facts)
}

fn input(timeline: &Timeline, matches: &Matches) -> Vec<InputLine> {
    let counts = timeline.counts();
    let mut by_rule: BTreeMap<_, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for event in timeline.events() {
        let played = matches.all().get(event.match_index);
        let teams = played.map_or(String::new(), |played| played.teams.join(" against "));
        let told = format!("{} ({}), minute {}, {teams}", event.scorer, event.team, event.minute);
        match &event.whose {
            Whose::Scorer { rule, .. } => *by_rule.entry(*rule).or_default() += 1,
            Whose::OwnGoal { .. } => lines.push(InputLine { kind: "own goal".to_owned(), line: told, in_short: false }),
            Whose::Unresolved(reason) => {
                lines.push(InputLine { kind: "unresolved".to_owned(), line: format!("{told}: {reason}"), in_short: true });
            }
        }
    }
    let rules: Vec<String> = by_rule.iter().map(|(rule, count)| format!("{count} {}", rule.name())).collect();
    let sum = format!(
        "{} goals in {} matches: {} scorers resolved by rule ({}), {} own goals, {} unresolved",
        counts.total(),
        matches.all().len(),
        counts.resolved,
        rules.join(", "),
        counts.own_goals,
        counts.unresolved
    );
    lines.insert(0, InputLine { kind: "goals".to_owned(), line: sum, in_short: true });
    lines
}

/// The prices of the most traded players, in the order of the positions, by when they were told.
fn price_paths(record: &Record, squads: &Squads) -> Vec<PricePath> {
    let mut told: BTreeMap<&str, BTreeMap<Position, (u64, i64)>> = BTreeMap::new();
    for (_, notes) in record.intents() {
        let Some((position, effect)) = notes.yes() else { continue };
        let (Effect::Filled { price_after, .. } | Effect::Repriced { price_after, .. }) = effect else { continue };
        let (Asked::Order { instrument, .. } | Asked::Reprice { instrument }) = &notes.asked else { continue };
        let told_at_us = notes.attempts.iter().filter(|attempt| attempt.told.yes().is_some());
        let at_us = told_at_us.map(|attempt| attempt.ended_at_us).min().unwrap_or(0);
        told.entry(instrument).or_default().insert(position, (at_us, *price_after));
    }
    let mut most: Vec<_> = told.into_iter().collect();
    most.sort_by_key(|(_, prices)| std::cmp::Reverse(prices.len()));
    most.truncate(PATHS);
    most.into_iter()
        .map(|(instrument, prices)| {
            let name = squads.players().find(|player| player.instrument == instrument);
            let name = name.map_or(instrument.to_owned(), |player| format!("{instrument} {}", player.name));
            let every = prices.len().div_ceil(POINTS).max(1);
            // The order is that of the positions; an answer that came late does not turn it round.
            let mut shown_at_us = 0;
            let point = |(at_us, price): &(u64, i64)| {
                shown_at_us = shown_at_us.max(*at_us);
                (shown_at_us as f64 / 1e6, *price as f64 / 100.0)
            };
            let points = prices.values().step_by(every).map(point).collect();
            PricePath { name, points }
        })
        .collect()
}

fn levels(options: &Options, sale: &SaleState) -> Vec<LevelFill> {
    let mut fills: BTreeMap<&str, LevelFill> = BTreeMap::new();
    for (name, level) in &sale.levels {
        let cap = level.cap.unwrap_or(sale.total_cap);
        let cap = u64::try_from(cap).unwrap_or(0);
        fills.insert(name, LevelFill { level: name.clone(), cap, paid: 0, held: 0, released: 0 });
    }
    for booking in sale.bookings.values() {
        let Some(fill) = fills.get_mut(booking.level.as_str()) else { continue };
        match booking.stage {
            BookingStage::Paid => fill.paid += 1,
            BookingStage::Released => fill.released += 1,
            BookingStage::Admitted | BookingStage::Paying | BookingStage::Closing => fill.held += 1,
        }
    }
    let mut all: Vec<LevelFill> = options.levels.iter().filter_map(|plan| fills.get(plan.level.as_str()).cloned()).collect();
    let sum = |part: fn(&LevelFill) -> u64| all.iter().map(part).sum();
    let total = LevelFill {
        level: "all".to_owned(),
        cap: u64::try_from(sale.total_cap).unwrap_or(0),
        paid: sum(|level| level.paid),
        held: sum(|level| level.held),
        released: sum(|level| level.released),
    };
    all.push(total);
    all
}
