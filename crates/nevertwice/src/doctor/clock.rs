//! The clock: does something keep it right?

use std::path::Path;
use std::process::Command;

use super::finding::{Finding, Grade};

const SUBJECT: &str = "clock";

/// The file that systemd-timesyncd touches once it has set the clock.
const TIMESYNC: &str = "/run/systemd/timesync/synchronized";

/// Whether the clock is kept, and who says so.
#[derive(Debug, PartialEq)]
enum Kept {
    Yes(String),
    No(String),
    /// By that many seconds it is off, as the one who keeps it says.
    Off(f64),
    Unknown,
}

pub(super) fn look() -> Finding {
    judge(&ask())
}

/// Asks those who keep a clock. Each is only a program that may not be there.
fn ask() -> Kept {
    let told = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let from_chrony = told("chronyc", &["-c", "tracking"]).and_then(|line| read_chrony(&line));
    let from_systemd = || told("timedatectl", &["show", "--property=NTPSynchronized", "--value"]).and_then(|text| read_systemd(&text));
    let from_file = || Path::new(TIMESYNC).exists().then(|| Kept::Yes("systemd-timesyncd".to_owned()));
    from_chrony.or_else(from_systemd).or_else(from_file).unwrap_or(Kept::Unknown)
}

/// One line of values between commas: the fifth is by how many seconds the clock is off, the last whether it is synchronised.
fn read_chrony(line: &str) -> Option<Kept> {
    let values: Vec<&str> = line.trim().split(',').collect();
    let (offset, leap) = (values.get(4)?.parse::<f64>().ok()?, values.last()?);
    Some(match *leap {
        "Not synchronised" => Kept::No("chronyd".to_owned()),
        _ if offset.abs() >= 0.1 => Kept::Off(offset.abs()),
        _ => Kept::Yes("chronyd".to_owned()),
    })
}

fn read_systemd(text: &str) -> Option<Kept> {
    match text.trim() {
        "yes" => Some(Kept::Yes("the kernel, as systemd reads it".to_owned())),
        "no" => Some(Kept::No("the kernel, as systemd reads it".to_owned())),
        _ => None,
    }
}

fn judge(kept: &Kept) -> Finding {
    let means = "Holds, windows of sales and the expiry of intents go by this clock. A step forward ends them early; a step back stops them until the clock has caught up.";
    let advice =
        "run one program that keeps it by slewing, such as chronyd, and watch it (`node_timex_sync_status`, `node_timex_offset_seconds`)";
    match kept {
        Kept::Yes(who) => Finding::fine(SUBJECT, format!("synchronised, says {who}"), "Holds and expiries go by the right time."),
        Kept::No(who) => Finding::new(SUBJECT, Grade::Warning, format!("not synchronised, says {who}"), means, advice),
        Kept::Off(seconds) => Finding::new(SUBJECT, Grade::Warning, format!("off by {seconds:.3} s, says chronyd"), means, advice),
        Kept::Unknown => Finding::new(
            SUBJECT,
            Grade::Note,
            "nobody here tells whether it is synchronised (asked: chronyd, systemd)",
            means,
            "in a container this is the host's matter: look there; elsewhere run one program that keeps it by slewing, such as chronyd",
        ),
    }
}

/// What the journal's last instant says of the clock, both in milliseconds since 1970.
pub(super) fn judge_last(last_at_ms: i64, now_ms: i64) -> Finding {
    let ahead_ms = last_at_ms.saturating_sub(now_ms);
    if ahead_ms <= 0 {
        let found = format!("the last entry was made {} before now", duration(ahead_ms.saturating_neg()));
        return Finding::fine(SUBJECT, found, "The clock has not gone back behind what is recorded.");
    }
    let (grade, means) = if ahead_ms > CLOCK_AHEAD_MS_MAX {
        (Grade::Error, "`serve` would refuse to start (`clock_behind`): every decision would carry that instant.")
    } else {
        (Grade::Warning, "Until the clock has caught up every decision carries that instant, and no hold ends.")
    };
    let found = format!("the last entry carries an instant {} after now", duration(ahead_ms));
    let advice =
        "compare the clock with another; if it is right now, it was ahead when that entry was made: wait until the instant has passed";
    Finding::new(SUBJECT, grade, found, means, advice)
}

/// The most that `serve` takes.
const CLOCK_AHEAD_MS_MAX: i64 = 60_000;

fn duration(ms: i64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{} s", ms / 1_000),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} days", ms / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_keepers_say_is_read() {
        let chrony =
            |offset: &str, leap: &str| read_chrony(&format!("C0A80001,192.168.0.1,3,1700000000.0,{offset},0,0,0,0,0,0,0,64,{leap}\n"));
        assert_eq!(chrony("0.000004", "Normal"), Some(Kept::Yes("chronyd".to_owned())));
        assert_eq!(chrony("-0.250000", "Normal"), Some(Kept::Off(0.25)));
        assert_eq!(chrony("0.0", "Not synchronised"), Some(Kept::No("chronyd".to_owned())));
        assert_eq!(read_chrony("506 Cannot talk to daemon"), None);
        assert!(matches!(read_systemd("yes\n"), Some(Kept::Yes(_))));
        assert!(matches!(read_systemd("no\n"), Some(Kept::No(_))));
        assert_eq!(read_systemd(""), None);
    }

    #[test]
    fn a_clock_that_nobody_keeps_is_told() {
        let grade = |kept| judge(&kept).grade;
        assert_eq!(grade(Kept::Yes("chronyd".to_owned())), Grade::Fine);
        assert_eq!(grade(Kept::No("chronyd".to_owned())), Grade::Warning);
        assert_eq!(grade(Kept::Off(0.3)), Grade::Warning);
        assert_eq!(grade(Kept::Unknown), Grade::Note);
    }

    #[test]
    fn an_instant_that_is_still_to_come_is_judged_as_a_start_would() {
        let grade = |ahead_ms: i64| judge_last(1_790_000_000_000 + ahead_ms, 1_790_000_000_000).grade;
        assert_eq!(grade(0), Grade::Fine);
        assert_eq!(grade(1), Grade::Warning);
        assert_eq!(grade(60_000), Grade::Warning);
        assert_eq!(grade(60_001), Grade::Error);
        assert_eq!(judge_last(i64::MIN, i64::MAX).grade, Grade::Fine);
        assert_eq!(judge_last(i64::MAX, i64::MIN).grade, Grade::Error);
        assert_eq!(nevertwice_local::LocalOptions::default().clock_ahead_ms_max, CLOCK_AHEAD_MS_MAX);
    }
}
