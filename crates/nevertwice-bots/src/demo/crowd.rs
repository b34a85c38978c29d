//! Who comes to the sale, when, in which manner: drawn from the seed before anything is sent.

use std::time::Duration;

use super::Options;
use crate::seed::Seed;

/// In which manner a candidate books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Once.
    Plain,
    /// Twice at the same time, with two keys.
    TapsTwice,
    /// With a code that is not on the list.
    WrongCode,
    /// With another e-mail address than the list has.
    WrongEmail,
    /// For a level that the list does not allow.
    WrongLevel,
    /// A program, which fills in the field that people do not see.
    Robot,
}

/// What a candidate does with a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mind {
    /// Pays at the gateway's page.
    PaysAtPage,
    /// Pays, and the payment is confirmed through the API.
    Pays,
    /// Gives it back.
    GivesBack,
    /// Neither, yet.
    Keeps,
}

/// One visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) after: Duration,
    pub(super) principal: String,
    pub(super) code: String,
    pub(super) email: Option<String>,
    pub(super) level: String,
    pub(super) second_choice: Option<String>,
    pub(super) manner: Manner,
    pub(super) mind: Mind,
}

/// A line of the list of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) code: String,
    pub(super) email: Option<String>,
    /// The only level allowed; none: all.
    pub(super) only: Option<String>,
}

/// Everybody, in the order of arrival, and the list that the sale is given.
pub(super) fn draw(options: &Options, seed: &Seed) -> (Vec<Arrival>, Vec<Listed>) {
    let mut seed = seed.fork("crowd", 0);
    let mut arrivals = Vec::with_capacity(options.candidates);
    let mut list = Vec::with_capacity(options.candidates);
    for number in 0..options.candidates {
        let code = format!("SEAT-{number:05}-{:04}", seed.below(10_000));
        let email = seed.chance(300).then(|| format!("candidate{number}@example.org"));
        let level = choose(options, &mut seed);
        let second_choice = seed.chance(300).then(|| choose(options, &mut seed)).filter(|second| *second != level);
        let manner = match seed.below(1000) {
            0..50 => Manner::TapsTwice,
            50..62 => Manner::WrongCode,
            62..70 => Manner::WrongEmail,
            70..78 => Manner::WrongLevel,
            78..80 => Manner::Robot,
            _ => Manner::Plain,
        };
        let mind = match seed.below(1000) {
            0..260 => Mind::PaysAtPage,
            260..520 => Mind::Pays,
            520..640 => Mind::GivesBack,
            _ => Mind::Keeps,
        };
        let only = match manner {
            Manner::WrongLevel => options.levels.iter().map(|plan| plan.level.clone()).find(|other| *other != level),
            _ => None,
        };
        let listed = match manner {
            Manner::WrongCode => None,
            Manner::WrongEmail => Some(Some(format!("candidate{number}@example.com"))),
            _ => Some(email.clone()),
        };
        if let Some(email) = listed {
            list.push(Listed { code: code.clone(), email, only });
        }
        arrivals.push(Arrival {
            after: arrival(options, &mut seed),
            principal: format!("candidate-{number}"),
            // People type codes as they like.
            code: if seed.chance(50) { format!(" {} ", code.to_ascii_lowercase()) } else { code },
            email,
            level,
            second_choice,
            manner,
            mind,
        });
    }
    arrivals.sort_by_key(|arrival| arrival.after);
    (arrivals, list)
}

/// Seven in ten come in the first quarter, most of them in its first moments; the others when they like.
fn arrival(options: &Options, seed: &mut Seed) -> Duration {
    let within_us = u64::try_from(options.arrivals_within.as_micros()).unwrap_or(0);
    let us = if seed.chance(700) {
        let quarter = within_us / 4;
        seed.below(quarter).min(seed.below(quarter))
    } else {
        seed.below(within_us)
    };
    Duration::from_micros(us)
}

fn choose(options: &Options, seed: &mut Seed) -> String {
    let all: u64 = options.levels.iter().map(|plan| plan.wanted_per_mille).sum();
    let mut drawn = seed.below(all);
    for plan in &options.levels {
        if drawn < plan.wanted_per_mille {
            return plan.level.clone();
        }
        drawn -= plan.wanted_per_mille;
    }
    String::new()
}
