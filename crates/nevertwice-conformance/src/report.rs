//! What is said of each rule.

use std::fmt;

use serde::Serialize;

use crate::probe::Failed;
use crate::rules::Rule;

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It holds.
    #[serde(rename = "pass")]
    Pass,
    /// It does not.
    #[serde(rename = "fail")]
    Fail,
    /// By its profile the target is not held to it.
    #[serde(rename = "n/a")]
    NotApplicable,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The rule's id.
    pub rule: &'static str,
    /// The target's own endpoint that was asked; none where it was an echo endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// What the rule says.
    pub words: &'static str,
    /// Why it is not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What was seen where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// What was expected in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Commands that ask the same, in their order. Where several are sent at once, each stands there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeat: Vec<String>,
}

impl Line {
    fn new(rule: &Rule, verdict: Verdict) -> Self {
        let (endpoint, reason, seen, expected) = (None, None, None, None);
        Self { rule: rule.id, endpoint, verdict, words: rule.words, reason, seen, expected, repeat: Vec::new() }
    }

    pub(crate) fn passed(rule: &Rule) -> Self {
        Self::new(rule, Verdict::Pass)
    }

    pub(crate) fn not_applicable(rule: &Rule, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(rule, Verdict::NotApplicable) }
    }

    /// Of that endpoint.
    pub(crate) fn of(self, endpoint: &str) -> Self {
        Self { endpoint: Some(endpoint.to_owned()), ..self }
    }

    pub(crate) fn failed(rule: &Rule, failed: Failed, repeat: Vec<String>) -> Self {
        Self { seen: Some(failed.seen), expected: Some(failed.expected), repeat, ..Self::new(rule, Verdict::Fail) }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::NotApplicable => "n/a ",
        };
        let id = self.endpoint.as_ref().map_or_else(|| self.rule.to_owned(), |endpoint| format!("{endpoint}/{}", self.rule));
        write!(f, "{verdict} {id:<22} {}", self.words)?;
        if let Some(reason) = self.reason {
            write!(f, " ({reason})")?;
        }
        if let (Some(seen), Some(expected)) = (&self.seen, &self.expected) {
            write!(f, "\n       seen:     {seen}\n       expected: {expected}\n       repeat:")?;
            self.repeat.iter().try_for_each(|command| write!(f, "\n         {command}"))?;
        }
        Ok(())
    }
}

/// How many rules came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Those that hold.
    pub passed: u64,
    /// Those that do not.
    pub failed: u64,
    /// Those that are not asked by the profile.
    pub not_applicable: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed += 1,
            Verdict::NotApplicable => self.not_applicable += 1,
        }
    }

    /// Whether something was asked, and everything that was asked holds.
    #[must_use]
    pub fn is_conformant(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} not applicable", self.passed, self.failed, self.not_applicable)
    }
}
