//! The report as lines for a terminal.

use std::fmt::Write as _;

use super::Report;

/// Findings shown on the terminal; the HTML file has all.
const FINDINGS_MAX: usize = 20;

/// Renders the report: the verdict, the checks, then the figures.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _infallible = write_all(&mut out, report);
    out
}

fn write_all(out: &mut String, report: &Report) -> std::fmt::Result {
    let verdict = if report.passes() { "PASSED" } else { "FAILED" };
    writeln!(out, "{}: {verdict} in {:.1} s (seed {})\n", report.title, report.took.as_secs_f64(), report.seed)?;
    let rows = report
        .checks
        .iter()
        .map(|check| [if check.holds { "ok" } else { "FAIL" }.into(), check.name.clone(), check.found.clone(), check.meaning.clone()]);
    table(out, &["", "check", "found", "meaning"], "llll", &rows.collect::<Vec<_>>())?;
    for finding in report.findings.iter().take(FINDINGS_MAX) {
        writeln!(out, "  ! {finding}")?;
    }
    if report.findings.len() > FINDINGS_MAX {
        writeln!(out, "  ! and {} more", report.findings.len() - FINDINGS_MAX)?;
    }
    writeln!(out)?;
    figures(out, report)?;
    rejections(out, report)?;
    latencies(out, report)?;
    levels(out, report)?;
    for line in report.input.iter().filter(|line| line.in_short) {
        writeln!(out, "  {}: {}", line.kind, line.line)?;
    }
    Ok(())
}

fn figures(out: &mut String, report: &Report) -> std::fmt::Result {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for job in &report.jobs {
        let mut row = |name: &str, value: String| rows.push([job.name.clone(), name.to_owned(), value]);
        row("intents", grouped(job.intents));
        row("requests", grouped(job.requests));
        row(&job.effect, grouped(job.effects));
        row("replays", grouped(job.replays));
        row("replies lost on purpose", grouped(job.lost_on_purpose));
        row("  retried while under way", grouped(job.overlapping));
        row("replies lost otherwise", grouped(job.lost_otherwise));
        for (name, value) in &job.facts {
            row(name, value.clone());
        }
    }
    // The job's name stands once, at its first row.
    let mut last = String::new();
    for row in &mut rows {
        if row[0] == last {
            row[0].clear();
        } else {
            last.clone_from(&row[0]);
        }
    }
    table(out, &["job", "figure", "value"], "llr", &rows)?;
    writeln!(out)
}

fn rejections(out: &mut String, report: &Report) -> std::fmt::Result {
    let rows: Vec<[String; 3]> = report
        .jobs
        .iter()
        .flat_map(|job| job.rejections.iter().map(|(code, count)| [job.name.clone(), code.clone(), grouped(*count)]))
        .collect();
    table(out, &["job", "rejected with", "answers"], "llr", &rows)?;
    writeln!(out)
}

fn latencies(out: &mut String, report: &Report) -> std::fmt::Result {
    let ms = |us: u64| format!("{}.{:01}", us / 1000, us % 1000 / 100);
    let rows: Vec<[String; 7]> = report
        .jobs
        .iter()
        .map(|job| {
            let at = |percent| ms(job.latency.percentile_us(percent));
            let count = grouped(job.latency.count());
            [job.name.clone(), count, at(50.0), at(90.0), at(99.0), at(99.9), ms(job.latency.max_us())]
        })
        .collect();
    table(out, &["latency, ms", "replies", "p50", "p90", "p99", "p99.9", "max"], "lrrrrrr", &rows)?;
    writeln!(out)
}

fn levels(out: &mut String, report: &Report) -> std::fmt::Result {
    let rows: Vec<[String; 5]> = report
        .levels
        .iter()
        .map(|level| {
            let [cap, paid, held, released] = [level.cap, level.paid, level.held, level.released].map(grouped);
            [level.level.clone(), cap, paid, held, released]
        })
        .collect();
    table(out, &["level", "seats", "paid", "held", "released"], "lrrrr", &rows)?;
    writeln!(out)
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Plain aligned columns; `sides` has an `l` or an `r` for each. The last column is never padded.
fn table<const N: usize>(out: &mut String, head: &[&str; N], sides: &str, rows: &[[String; N]]) -> std::fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut line = |cells: [&str; N]| {
        let mut text = String::from(" ");
        for ((cell, width), side) in cells.iter().zip(widths).zip(sides.chars()) {
            let gap = " ".repeat(width - cell.chars().count());
            let (left, right) = if side == 'r' { (gap.as_str(), "") } else { ("", gap.as_str()) };
            text.push_str(&format!(" {left}{cell}{right} "));
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(*head)?;
    for row in rows {
        line(std::array::from_fn(|column| row[column].as_str()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (20_700, "20,700"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
