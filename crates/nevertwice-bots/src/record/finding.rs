//! What the judge found.

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// More was given away than there is.
    Oversold,
    /// One intent with two effects, or an effect that nobody asked for.
    Doubled,
    /// Told yes, and the effect is not there.
    Lost,
    /// Answers that contradict each other.
    Changed,
    /// Sums that should be zero and are not.
    NotConserved,
    /// An intent whose fate the clients never learnt.
    Unsettled,
}

impl Kind {
    /// All kinds, in the order of the report.
    pub const ALL: [Self; 6] = [Self::Oversold, Self::Doubled, Self::Lost, Self::Changed, Self::NotConserved, Self::Unsettled];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Oversold => "oversold",
            Self::Doubled => "doubled",
            Self::Lost => "lost",
            Self::Changed => "changed answers",
            Self::NotConserved => "not conserved",
            Self::Unsettled => "unsettled",
        }
    }
}

/// One failure, told so that somebody can look it up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Of which kind.
    pub kind: Kind,
    /// What exactly.
    pub detail: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {}", self.kind.name(), self.detail)
    }
}

/// What the judge found in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Every failure.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many of a kind were found.
    pub fn count(&self, kind: Kind) -> usize {
        self.findings.iter().filter(|finding| finding.kind == kind).count()
    }

    pub(super) fn find(&mut self, kind: Kind, detail: String) {
        self.findings.push(Finding { kind, detail });
    }
}
