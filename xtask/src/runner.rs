//! Runs steps in order and says where it is.

use std::time::{Duration, Instant};

use crate::step::Step;
use crate::workspace::Workspace;

/// True if every step passed. After the first failure the rest is skipped, unless `keep_going`.
pub(crate) fn run(workspace: &Workspace, steps: &[Step], keep_going: bool) -> bool {
    let started = Instant::now();
    let mut failed = Vec::new();
    let mut closing = None;
    for (index, step) in steps.iter().enumerate() {
        let place = format!("[{}/{}] {}", index + 1, steps.len(), step.name());
        println!("{place} ({} so far)", seconds(started.elapsed()));
        let step_started = Instant::now();
        let report = step.run(workspace);
        closing = report.closing.or(closing);
        match report.verdict {
            Ok(seen) => println!("{place}: ok in {}: {seen}\n", seconds(step_started.elapsed())),
            Err(failure) => {
                println!("{place}: FAILED after {}\n{failure}", seconds(step_started.elapsed()));
                println!("  to repeat it alone: cargo xtask {}\n", step.name());
                failed.push(step.name());
                if !keep_going {
                    break;
                }
            }
        }
    }
    if steps.len() > 1 {
        let total = seconds(started.elapsed());
        if failed.is_empty() {
            println!("all {} steps passed in {total}", steps.len());
        } else {
            println!("failed after {total}: {}", failed.join(", "));
        }
    }
    if let Some(line) = closing {
        println!("{line}");
    }
    failed.is_empty()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
