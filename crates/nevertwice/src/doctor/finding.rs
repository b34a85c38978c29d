//! What was found, and how it is told.

use std::io::Write;

use serde::Serialize;

/// How bad a finding is. The worst one of all is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grade {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing has to be done.
    Note,
    /// It works, and something about it will hurt one day.
    Warning,
    /// The server would not start, or a promise would not hold.
    Error,
}

impl Grade {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// 0: nothing has to be done; 1: warnings; 2: errors.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Fine | Self::Note => 0,
            Self::Warning => 1,
            Self::Error => 2,
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) subject: &'static str,
    pub(crate) grade: Grade,
    /// What was found, with its figures.
    pub(crate) found: String,
    /// What that means.
    pub(crate) means: String,
    /// What to do, where something should be done.
    pub(crate) advice: Option<String>,
}

impl Finding {
    pub(crate) fn fine(subject: &'static str, found: impl Into<String>, means: impl Into<String>) -> Self {
        Self { subject, grade: Grade::Fine, found: found.into(), means: means.into(), advice: None }
    }

    pub(crate) fn new(
        subject: &'static str,
        grade: Grade,
        found: impl Into<String>,
        means: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { subject, grade, found: found.into(), means: means.into(), advice: Some(advice.into()) }
    }
}

/// All findings.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) worst: Grade,
    pub(crate) findings: Vec<Finding>,
}

impl Diagnosis {
    /// The worst ones come last: that is where one reads on a terminal.
    pub(crate) fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.grade);
        Self { worst: findings.last().map_or(Grade::Fine, |finding| finding.grade), findings }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for Finding { subject, grade, found, means, advice } in &self.findings {
            writeln!(out, "{:<8} {subject}: {found}", grade.word())?;
            writeln!(out, "         {means}")?;
            if let Some(advice) = advice {
                writeln!(out, "         What to do: {advice}")?;
            }
        }
        let count = |grade| self.findings.iter().filter(|finding| finding.grade == grade).count();
        writeln!(
            out,
            "{} looked at: {} errors, {} warnings, {} notes",
            self.findings.len(),
            count(Grade::Error),
            count(Grade::Warning),
            count(Grade::Note)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_last_and_is_the_exit_code() {
        let finding = |grade| Finding { grade, ..Finding::fine("disk", "a disk", "it turns") };
        for (grades, code) in [
            (&[][..], 0),
            (&[Grade::Note, Grade::Fine], 0),
            (&[Grade::Warning, Grade::Note], 1),
            (&[Grade::Error, Grade::Fine, Grade::Warning], 2),
        ] {
            let diagnosis = Diagnosis::new(grades.iter().copied().map(finding).collect());
            assert_eq!(diagnosis.worst.exit_code(), code, "{grades:?}");
            assert!(diagnosis.findings.is_sorted_by_key(|finding| finding.grade));
        }
    }
}
