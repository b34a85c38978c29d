//! The matches and their goals, with the instants at which they fell.

use serde::Deserialize;

use super::DataError;

/// The side of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The team that the file names first.
    First,
    /// The team that it names second.
    Second,
}

/// A minute of play: `90+4` is the fourth minute added to the ninetieth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute {
    /// The minute on the clock.
    pub clock: u32,
    /// Minutes of added time.
    pub added: u32,
}

impl Minute {
    /// Reads `67` or `90+4`.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let unreadable = || DataError::Instant { text: text.to_owned() };
        let number = |part: &str| -> Result<u32, DataError> {
            let plain = !part.is_empty() && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
            if plain { part.parse().map_err(|_| unreadable()) } else { Err(unreadable()) }
        };
        match text.split_once('+') {
            None => Ok(Self { clock: number(text)?, added: 0 }),
            Some((clock, added)) => Ok(Self { clock: number(clock)?, added: number(added)? }),
        }
    }

    /// Minutes from kick-off on an ordinary watch: a break of 15 minutes after the 45th minute, of 5 after the 90th.
    pub fn since_kick_off(self) -> u32 {
        let breaks = match self.clock {
            0..=45 => 0,
            46..=90 => 15,
            _ => 20,
        };
        self.clock + self.added + breaks
    }
}

impl std::fmt::Display for Minute {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.added == 0 { write!(out, "{}", self.clock) } else { write!(out, "{}+{}", self.clock, self.added) }
    }
}

/// One goal as the file tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// The side that it counts for (an own goal's scorer plays for the other).
    pub counts_for: Side,
    /// The scorer, spelled as in the file.
    pub scorer: String,
    /// When it fell.
    pub minute: Minute,
    /// Whether the scorer shot it into his own goal.
    pub own_goal: bool,
    /// Whether it was a penalty.
    pub penalty: bool,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The round, such as `Matchday 1` or `Round of 16`.
    pub round: String,
    /// The two teams, spelled as in the file.
    pub teams: [String; 2],
    /// Where it was played.
    pub ground: String,
    /// Kick-off, in minutes since 1970-01-01 00:00 UTC.
    pub kick_off: i64,
    /// Its goals, those of the first side first.
    pub goals: Vec<Goal>,
}

impl Match {
    /// The name of a side's team, as the file spells it.
    pub fn team(&self, side: Side) -> &str {
        match side {
            Side::First => &self.teams[0],
            Side::Second => &self.teams[1],
        }
    }
}

/// All matches, by kick-off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    all: Vec<Match>,
}

impl Matches {
    /// The matches of 2026, as they are embedded in the program.
    pub fn embedded() -> Result<Self, DataError> {
        Self::parse(include_str!("../../../../data/worldcup2026/matches.json"))
    }

    /// Reads matches from the text of a `matches.json`.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let file: File = serde_json::from_str(text).map_err(|error| DataError::Json { file: "matches.json", detail: error.to_string() })?;
        let mut all = file.matches.into_iter().map(MatchFile::read).collect::<Result<Vec<_>, _>>()?;
        all.sort_by(|left, right| (left.kick_off, &left.teams).cmp(&(right.kick_off, &right.teams)));
        Ok(Self { all })
    }

    /// The matches, by kick-off.
    pub fn all(&self) -> &[Match] {
        &self.all
    }
}

/// Minutes since 1970-01-01 00:00 UTC of a date `2026-06-11` and a time `13:00 UTC-6`.
fn instant(date: &str, time: &str) -> Result<i64, DataError> {
    let unreadable = || DataError::Instant { text: format!("{date} {time}") };
    let number = |part: Option<&str>| -> Result<i64, DataError> {
        let part = part.filter(|part| !part.is_empty() && part.len() <= 4).ok_or_else(unreadable)?;
        part.parse::<u16>().map(i64::from).map_err(|_| unreadable())
    };
    let mut parts = date.split('-');
    let (year, month, day) = (number(parts.next())?, number(parts.next())?, number(parts.next())?);
    let (clock, offset) = time.split_once(" UTC").ok_or_else(unreadable)?;
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next())?, number(parts.next())?);
    let offset: i64 = if offset.is_empty() { 0 } else { offset.parse::<i8>().map_err(|_| unreadable())?.into() };
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && offset.abs() <= 14;
    if !fits {
        return Err(unreadable());
    }
    Ok((days_since_1970(year, month, day) * 24 + hour - offset) * 60 + minute)
}

/// Days since 1970-01-01 in the Gregorian calendar, by counting from 1 March so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[derive(Deserialize)]
struct File {
    matches: Vec<MatchFile>,
}

#[derive(Deserialize)]
struct MatchFile {
    round: String,
    date: String,
    time: String,
    team1: String,
    team2: String,
    #[serde(default)]
    goals1: Vec<GoalFile>,
    #[serde(default)]
    goals2: Vec<GoalFile>,
    ground: String,
}

#[derive(Deserialize)]
struct GoalFile {
    name: String,
    minute: String,
    #[serde(default)]
    owngoal: bool,
    #[serde(default)]
    penalty: bool,
}

impl MatchFile {
    fn read(self) -> Result<Match, DataError> {
        let kick_off = instant(&self.date, &self.time)?;
        let sides = [(Side::First, self.goals1), (Side::Second, self.goals2)];
        let mut goals = Vec::new();
        for (counts_for, files) in sides {
            for file in files {
                goals.push(Goal {
                    counts_for,
                    scorer: file.name,
                    minute: Minute::parse(&file.minute)?,
                    own_goal: file.owngoal,
                    penalty: file.penalty,
                });
            }
        }
        Ok(Match { round: self.round, teams: [self.team1, self.team2], ground: self.ground, kick_off, goals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc() {
        assert_eq!(instant("1970-01-01", "00:00 UTC").unwrap(), 0);
        assert_eq!(instant("2026-06-11", "13:00 UTC-6").unwrap(), instant("2026-06-11", "19:00 UTC+0").unwrap());
        assert_eq!(instant("2026-06-30", "22:00 UTC-6").unwrap(), instant("2026-07-01", "04:00 UTC").unwrap());
        assert_eq!(instant("2000-03-01", "00:00 UTC").unwrap() - instant("2000-02-28", "00:00 UTC").unwrap(), 2 * 1440);
        assert_eq!(instant("2026-06-11", "19:00 UTC").unwrap(), 1_781_204_400 / 60);
        for (date, time) in [("2026-13-01", "13:00 UTC"), ("2026-06-11", "13:00"), ("x", "13:00 UTC"), ("2026-06", "1:0 UTC")] {
            assert!(instant(date, time).is_err(), "{date} {time}");
        }
    }

    #[test]
    fn minutes_read_and_order() {
        let minute = |text| Minute::parse(text).unwrap();
        assert_eq!(minute("90+4").to_string(), "90+4");
        assert!(minute("45+6") < minute("46"));
        assert!(minute("45+6").since_kick_off() < minute("46").since_kick_off());
        for text in ["", "+", "90+", "-3", "9a", "1234", "90+4+1"] {
            assert!(Minute::parse(text).is_err(), "{text}");
        }
    }
}
