//! The report says first whether the run passed, and says it in both shapes.

use std::time::Duration;

use nevertwice_bots::load::Latency;
use nevertwice_bots::record::{Kind, judge};
use nevertwice_bots::report::{Check, InputLine, Job, LevelFill, Mark, PricePath, Rate, Report, html, text};
use nevertwice_bots::seed::Seed;

use crate::world::World;

fn job(name: &str, effect: &str, codes: &[(&str, u64)], seed: &mut Seed) -> Job {
    let mut latency = Latency::new();
    for _ in 0..20_000 {
        let us = 300 + seed.below(1500) * seed.below(1500) / 400;
        latency.record(Duration::from_micros(us));
    }
    Job {
        name: name.into(),
        effect: effect.into(),
        intents: 60_000,
        requests: 66_950,
        effects: 57_311,
        replays: 4_321,
        lost_on_purpose: 6_001,
        overlapping: 3_010,
        lost_otherwise: 148,
        rejections: codes.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect(),
        latency,
        facts: vec![("goals".into(), "294".into())],
    }
}

/// A report like one of a real run, of a world that may have been tampered with.
fn sample(world: &World) -> Report {
    let verdict = judge(&world.record, Some(&world.market), Some(&world.sale));
    let mut checks: Vec<Check> = (&verdict).into();
    checks.push(Check {
        name: "verify".into(),
        found: "clean".into(),
        holds: true,
        meaning: "Every invariant and the hash, recomputed from the journal of the stopped server.".into(),
    });
    let mut seed = Seed::new(3);
    let mut rate = |name: &str, from: usize, to: usize| Rate {
        name: name.into(),
        counts: (0..160).map(|at| if (from..to).contains(&at) && !(78..84).contains(&at) { 900 + seed.below(300) } else { 0 }).collect(),
    };
    let rates = vec![rate("market", 4, 150), rate("sale", 40, 130)];
    let prices = ["ARG-10 Lionel Messi", "FRA-10 Kylian Mbappé", "NOR-9 Erling Haaland", "ESP-19 Lamine Yamal"];
    let prices = prices.map(|name| {
        let mut price = 20.0 + seed.below(20) as f64;
        let points = (0..200).map(|at| {
            price += if seed.chance(30) { 8.0 } else { (seed.below(100) as f64 - 48.0) / 60.0 };
            (f64::from(at) * 0.2, price)
        });
        PricePath { name: name.into(), points: points.collect() }
    });
    let level = |level: &str, cap, paid, held, released| LevelFill { level: level.into(), cap, paid, held, released };
    Report {
        title: "nevertwice demo".into(),
        seed: 2026,
        took: Duration::from_millis(40_123),
        checks,
        findings: verdict.findings,
        jobs: vec![
            job("market", "fills", &[("limit_price_exceeded", 1_201), ("insufficient_balance", 340)], &mut seed),
            job("sale", "bookings", &[("level_full", 14_020), ("already_booked", 1_950), ("unknown_candidate", 812)], &mut seed),
        ],
        input: vec![InputLine { kind: "goals".into(), line: "308: 294 resolved, 14 own goals, 0 unresolved".into(), in_short: true }],
        step: Duration::from_millis(250),
        rates,
        marks: vec![Mark { at: Duration::from_millis(19_600), label: "killed".into() }],
        prices: prices.into(),
        levels: vec![
            level("beginners", 6_900, 3_100, 3_800, 512),
            level("intermediate", 6_900, 3_000, 3_900, 480),
            level("advanced", 6_900, 2_000, 1_210, 90),
        ],
    }
}

#[test]
fn an_honest_run_passes_in_both_shapes() {
    let report = sample(&World::busy());
    assert!(report.passes());
    let lines = text(&report);
    assert!(lines.starts_with("nevertwice demo: PASSED in 40.1 s (seed 2026)"), "{lines}");
    assert!(lines.contains("14,020") && !lines.contains("FAIL"), "{lines}");
    let page = html(&report);
    assert!(page.contains("<h1>Passed</h1>") && page.matches("<svg").count() == 5);
    // Self-contained: nothing is fetched, and nothing runs.
    let fetches = ["<script", "<link", "src=", "url(", "@import"];
    assert!(fetches.iter().all(|fetch| !page.contains(fetch)));
}

#[test]
fn a_planted_loss_and_a_planted_double_fail_in_both_shapes() {
    let mut lost = World::busy();
    let before = lost.market.clone();
    lost.trade("gone", "ann", "X-1", nevertwice_bots::record::Side::Buy, 7);
    lost.market = before;
    let mut doubled = World::busy();
    doubled.trade("once", "ann", "X-1", nevertwice_bots::record::Side::Buy, 77);
    doubled.fill("ann", "X-1", nevertwice_bots::record::Side::Buy, 77);
    for (world, kind, intent) in [(lost, Kind::Lost, "p/gone"), (doubled, Kind::Doubled, "p/once")] {
        let report = sample(&world);
        assert!(!report.passes());
        let check = report.checks.iter().find(|check| check.name == kind.name()).expect("a check for each kind");
        assert!(!check.holds && check.found == "1", "{check:?}");
        let (lines, page) = (text(&report), html(&report));
        assert!(lines.contains("FAILED") && lines.contains(intent), "{lines}");
        assert!(page.contains("<h1>Failed</h1>") && page.contains(intent));
    }
}

#[test]
fn nothing_checked_is_no_pass() {
    let mut report = sample(&World::busy());
    report.checks.clear();
    assert!(!report.passes());
}

#[test]
fn what_comes_from_outside_is_escaped() {
    let mut report = sample(&World::busy());
    report.input.push(InputLine { kind: "unresolved".into(), line: "<b>&\"".into(), in_short: true });
    report.prices[0].name = "<i>&".into();
    let page = html(&report);
    assert!(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&\"") && !page.contains("<i>&"));
}

/// An empty run still renders.
#[test]
fn nothing_to_draw_is_left_out() {
    let mut report = sample(&World::busy());
    report.jobs.clear();
    report.rates.clear();
    report.prices.clear();
    report.levels.clear();
    assert_eq!(html(&report).matches("<svg").count(), 0);
    assert!(text(&report).contains("PASSED"));
}
