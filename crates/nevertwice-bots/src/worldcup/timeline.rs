//! The goals in the order in which they fell, each with whom it concerns.

use super::{DataError, Matches, Minute, Rule, Side, Squads, Unresolved, resolve};

/// Whom a goal concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The scorer is known: his price moves up.
    Scorer {
        /// His instrument.
        instrument: String,
        /// The step of the rule that found him.
        rule: Rule,
    },
    /// An own goal: nobody's price moves.
    OwnGoal {
        /// The instrument of the unlucky one, where the rule finds him; for the list only.
        instrument: Option<String>,
    },
    /// The rule does not find the scorer: listed, and nobody's price moves.
    Unresolved(Unresolved),
}

/// One goal of the tournament.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalEvent {
    /// Which match, counted from 0 by kick-off: an index into [`Matches::all`].
    pub match_index: usize,
    /// When it fell, in minutes since 1970-01-01 00:00 UTC.
    pub at: i64,
    /// The minute of play.
    pub minute: Minute,
    /// The side that it counts for.
    pub counts_for: Side,
    /// The scorer's team, spelled as in the matches.
    pub team: String,
    /// The scorer, spelled as in the matches.
    pub scorer: String,
    /// Whether it was a penalty.
    pub penalty: bool,
    /// Whom it concerns.
    pub whose: Whose,
}

/// How many goals there are of each kind. The three add up to all goals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Goals whose scorer is known.
    pub resolved: usize,
    /// Own goals.
    pub own_goals: usize,
    /// Goals whose scorer the rule does not find.
    pub unresolved: usize,
}

impl Counts {
    /// All goals.
    pub fn total(self) -> usize {
        self.resolved + self.own_goals + self.unresolved
    }
}

/// All goals in the order in which they fell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    events: Vec<GoalEvent>,
}

impl Timeline {
    /// The tournament of 2026.
    pub fn embedded() -> Result<Self, DataError> {
        Ok(Self::new(&Matches::embedded()?, &Squads::embedded()?))
    }

    /// Orders the goals of `matches` and looks their scorers up in `squads`. Every goal becomes one event.
    pub fn new(matches: &Matches, squads: &Squads) -> Self {
        let mut events = Vec::new();
        for (match_index, played) in matches.all().iter().enumerate() {
            let mut goals: Vec<_> = played.goals.iter().collect();
            goals.sort_by_key(|goal| goal.minute);
            let mut at = played.kick_off;
            for goal in goals {
                // Breaks are only roughly known, so a goal never falls before one of an earlier minute of its match.
                at = at.max(played.kick_off + i64::from(goal.minute.since_kick_off()));
                let plays_for = match (goal.counts_for, goal.own_goal) {
                    (side, false) => side,
                    (Side::First, true) => Side::Second,
                    (Side::Second, true) => Side::First,
                };
                let team = played.team(plays_for);
                let found = squads.of_team(team).ok_or(Unresolved::UnknownTeam).and_then(|squad| resolve(squad, &goal.scorer));
                let whose = match (goal.own_goal, found) {
                    (true, found) => Whose::OwnGoal { instrument: found.ok().map(|found| found.player.instrument.clone()) },
                    (false, Ok(found)) => Whose::Scorer { instrument: found.player.instrument.clone(), rule: found.rule },
                    (false, Err(reason)) => Whose::Unresolved(reason),
                };
                events.push(GoalEvent {
                    match_index,
                    at,
                    minute: goal.minute,
                    counts_for: goal.counts_for,
                    team: team.to_owned(),
                    scorer: goal.scorer.clone(),
                    penalty: goal.penalty,
                    whose,
                });
            }
        }
        events.sort_by_key(|event| (event.at, event.match_index, event.minute));
        Self { events }
    }

    /// The goals, oldest first.
    pub fn events(&self) -> &[GoalEvent] {
        &self.events
    }

    /// How many goals there are of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for event in &self.events {
            match event.whose {
                Whose::Scorer { .. } => counts.resolved += 1,
                Whose::OwnGoal { .. } => counts.own_goals += 1,
                Whose::Unresolved(_) => counts.unresolved += 1,
            }
        }
        counts
    }

    /// The goals whose scorer the rule does not find, with the reasons.
    pub fn unresolved(&self) -> impl Iterator<Item = (&GoalEvent, &Unresolved)> {
        self.events.iter().filter_map(|event| match &event.whose {
            Whose::Unresolved(reason) => Some((event, reason)),
            _ => None,
        })
    }
}
