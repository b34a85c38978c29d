//! The report as one HTML file that needs nothing else: style and charts are inside, and no script.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::text::grouped;
use super::{Job, Report, charts};

const STYLE: &str = include_str!("style.css");

/// Renders the report as a whole page.
pub fn html(report: &Report) -> String {
    let verdict = if report.passes() { "passed" } else { "failed" };
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.title) ": " (verdict) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (verdict_of(report))
                    (findings(report))
                    (figures(report))
                    (picture("Replies over time", "The lines mark when the sale's doors opened and when the server was killed.", charts::rates(report)))
                    (latencies(report))
                    (rejections(report))
                    (levels(report))
                    (picture("Prices of the most traded players", "A step up is a goal: the scorer's base moves.", charts::prices(report)))
                    (input(report))
                    footer { "Made by nevertwice. The same seed repeats the plan: " code { "--seed " (report.seed) } }
                }
            }
        }
    };
    page.into_string()
}

fn verdict_of(report: &Report) -> Markup {
    let (class, word) = if report.passes() { ("good", "Passed") } else { ("bad", "Failed") };
    markup! {
        header class=(class) {
            p.title { (report.title) }
            h1 { (word) }
            p { (format!("{:.1} seconds, seed {}", report.took.as_secs_f64(), report.seed)) }
        }
        div.checks {
            @for check in &report.checks {
                div.check.(if check.holds { "good" } else { "bad" }) title=(check.meaning) {
                    span.found { (check.found) }
                    span.name { (check.name) }
                    span.meaning { (check.meaning) }
                }
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    markup! {
        @if !report.findings.is_empty() {
            section {
                h2 { "What was found" }
                ul.findings {
                    @for finding in &report.findings { li { b { (finding.kind.name()) } " " (finding.detail) } }
                }
            }
        }
    }
}

/// Reads one figure of a job.
type Figure = fn(&Job) -> u64;

fn figures(report: &Report) -> Markup {
    let rows: [(&str, Figure); 6] = [
        ("intents", |job| job.intents),
        ("requests, retries included", |job| job.requests),
        ("replays", |job| job.replays),
        ("replies lost on purpose", |job| job.lost_on_purpose),
        ("… of these retried while the first was under way", |job| job.overlapping),
        ("replies lost otherwise", |job| job.lost_otherwise),
    ];
    markup! {
        section {
            h2 { "What was done" }
            table {
                thead { tr { th {} @for job in &report.jobs { th.figure { (job.name) } } } }
                tbody {
                    tr {
                        td { "accepted" }
                        @for job in &report.jobs { td.figure { (grouped(job.effects)) " " (job.effect) } }
                    }
                    @for (name, figure) in rows {
                        tr { td { (name) } @for job in &report.jobs { td.figure { (grouped(figure(job))) } } }
                    }
                }
            }
            @for job in report.jobs.iter().filter(|job| !job.facts.is_empty()) {
                p { b { (job.name) ": " }
                    @for (index, (name, value)) in job.facts.iter().enumerate() {
                        @if index > 0 { ", " }
                        (name) " " (value)
                    }
                }
            }
        }
    }
}

fn latencies(report: &Report) -> Markup {
    let ms = |us: u64| format!("{:.1}", us as f64 / 1000.0);
    markup! {
        section {
            h2 { "Latency" }
            p { "From sending to the whole reply, in milliseconds. Clients wait for their answers, so this is what they felt, not what the server could do." }
            table {
                thead { tr { th {} @for head in ["replies", "p50", "p90", "p99", "p99.9", "max"] { th.figure { (head) } } } }
                tbody {
                    @for job in &report.jobs {
                        tr {
                            td { (job.name) }
                            td.figure { (grouped(job.latency.count())) }
                            @for percent in [50.0, 90.0, 99.0, 99.9] { td.figure { (ms(job.latency.percentile_us(percent))) } }
                            td.figure { (ms(job.latency.max_us())) }
                        }
                    }
                }
            }
            (svg(charts::latency(&report.jobs)))
        }
    }
}

fn rejections(report: &Report) -> Markup {
    markup! {
        section {
            h2 { "Rejected, by code" }
            p { "A rejection changes nothing and leaves no trace. It is an answer, not a failure." }
            (svg(charts::rejections(report)))
        }
    }
}

fn levels(report: &Report) -> Markup {
    markup! {
        @if !report.levels.is_empty() {
            section {
                h2 { "Bookings per level, against the caps" }
                p { span.key.paid {} " paid " span.key.held {} " held; the line is the cap." }
                (svg(charts::levels(report)))
                table {
                    thead { tr { th { "level" } @for head in ["seats", "paid", "held", "released"] { th.figure { (head) } } } }
                    tbody {
                        @for level in &report.levels {
                            tr {
                                td { (level.level) }
                                @for figure in [level.cap, level.paid, level.held, level.released] { td.figure { (grouped(figure)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn input(report: &Report) -> Markup {
    markup! {
        @if !report.input.is_empty() {
            section {
                h2 { "The input" }
                table.input { tbody { @for line in &report.input { tr { td { (line.kind) } td { (line.line) } } } } }
            }
        }
    }
}

fn picture(title: &str, note: &str, drawing: Option<String>) -> Markup {
    markup! {
        @if let Some(drawing) = drawing {
            section { h2 { (title) } p { (note) } (svg(Some(drawing))) }
        }
    }
}

fn svg(drawing: Option<String>) -> Markup {
    markup! { @if let Some(drawing) = drawing { figure { (PreEscaped(drawing)) } } }
}
