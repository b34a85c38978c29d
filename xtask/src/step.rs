//! The steps of CI, and how one of them fails.

use std::fmt;

use clap::Subcommand;

use crate::workspace::Workspace;
use crate::{clients, licences, lints, lua, schemathesis, simulate, suite, tidy, walls};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Step {
    /// Is every file formatted as rustfmt does it?
    Fmt,
    /// Rules of this project's own: banned words and calls, dead files, broken links
    Tidy,
    /// The Lua scripts: the shape that keeps them whole, and a linter for the language
    Lua,
    /// Does every crate stay away from what it must never reach?
    Walls,
    /// Does every dependency carry a licence that we accept?
    Licences,
    /// Clippy over all targets and features, warnings denied
    Clippy,
    /// The documentation of every crate, warnings denied
    Docs,
    /// Install what the tests need, run all of them, count them
    Test,
    /// Ask a running server what its OpenAPI document lets one ask, and hold its answers to it
    Schemathesis,
    /// The clients in other languages, against a script and against a running server behind a network that loses replies
    Clients,
    /// Seeds of the simulator that must find nothing, and planted bugs that it must find
    SimulateAll,
}

impl Step {
    /// In the order that `ci` runs them: what is cheap first.
    pub(crate) const ALL: [Self; 11] = [
        Self::Fmt,
        Self::Tidy,
        Self::Lua,
        Self::Walls,
        Self::Licences,
        Self::Clippy,
        Self::Docs,
        Self::Schemathesis,
        Self::Clients,
        Self::SimulateAll,
        Self::Test,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Tidy => "tidy",
            Self::Lua => "lua",
            Self::Walls => "walls",
            Self::Licences => "licences",
            Self::Clippy => "clippy",
            Self::Docs => "docs",
            Self::Test => "test",
            Self::Schemathesis => "schemathesis",
            Self::Clients => "clients",
            Self::SimulateAll => "simulate-all",
        }
    }

    /// Runs the step. The text of a success says what was looked at, so that a step that looked at nothing is seen.
    pub(crate) fn run(self, workspace: &Workspace) -> Report {
        let verdict = match self {
            Self::Fmt => lints::fmt(workspace),
            Self::Tidy => tidy::run(workspace),
            Self::Lua => lua::run(workspace),
            Self::Walls => walls::run(workspace),
            Self::Licences => licences::run(workspace),
            Self::Clippy => lints::clippy(workspace),
            Self::Docs => lints::docs(workspace),
            Self::Schemathesis => schemathesis::run(workspace),
            Self::Clients => clients::run(workspace),
            Self::SimulateAll => simulate::run(workspace),
            Self::Test => return suite::run(workspace),
        };
        Report { verdict, closing: None }
    }
}

/// What a step has to say.
pub(crate) struct Report {
    pub(crate) verdict: Result<String, Failure>,
    /// The line that must come last of all, whatever the verdict.
    pub(crate) closing: Option<String>,
}

/// What went wrong, and what whoever reads it should do.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    remedy: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  what to do: {}", self.what, self.remedy)
    }
}
