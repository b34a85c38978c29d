//! The list of targets.

use crate::targets;

/// What a reader made of an input that broke no property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was refused, as it should be.
    Refused,
    /// It was read.
    Accepted,
}

impl Verdict {
    /// Accepted or not.
    #[must_use]
    pub const fn of(accepted: bool) -> Self {
        if accepted { Self::Accepted } else { Self::Refused }
    }
}

/// A reader of foreign bytes, and how hard it is tried without a fuzzer.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its fuzz target and of its folder of inputs.
    pub name: &'static str,
    /// Reads the input; panics if a property does not hold.
    pub run: fn(&[u8]) -> Verdict,
    /// Seeded mutations that one run of the tests tries, over all inputs together.
    pub mutations: u64,
    /// Words that inputs are made of.
    pub words: &'static [&'static str],
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "entry", run: targets::entry::run, mutations: 60_000, words: &[] },
    Target { name: "record", run: targets::record::run, mutations: 60_000, words: &[] },
    Target { name: "history", run: targets::history::run, mutations: 4_000, words: &[] },
    Target { name: "state", run: targets::state::run, mutations: 6_000, words: &[] },
    Target { name: "segment", run: targets::segment::run, mutations: 600, words: &["nvtJ"] },
    Target { name: "folder", run: targets::folder::run, mutations: 400, words: &[] },
    Target { name: "snapshot", run: targets::snapshot::run, mutations: 4_000, words: &["nvtS"] },
    Target { name: "key_change", run: targets::key_change::run, mutations: 40_000, words: &[] },
    Target { name: "marker", run: targets::marker::run, mutations: 40_000, words: targets::marker::WORDS },
    Target { name: "manifest", run: targets::manifest::run, mutations: 10_000, words: targets::manifest::WORDS },
    Target { name: "following", run: targets::following::run, mutations: 40_000, words: targets::following::WORDS },
    Target { name: "note", run: targets::note::run, mutations: 40_000, words: targets::note::WORDS },
    Target { name: "audit", run: targets::audit::run, mutations: 400, words: &["nvtA"] },
    Target { name: "answers", run: targets::answers::run, mutations: 400, words: &[] },
    Target { name: "headers", run: targets::headers::run, mutations: 40_000, words: targets::headers::WORDS },
    Target { name: "body", run: targets::body::run, mutations: 60_000, words: targets::body::WORDS },
    Target { name: "fingerprint", run: targets::fingerprint::run, mutations: 40_000, words: targets::body::WORDS },
    Target { name: "batch", run: targets::batch::run, mutations: 10_000, words: targets::body::WORDS },
    Target { name: "configuration", run: targets::configuration::run, mutations: 4_000, words: targets::configuration::WORDS },
    Target { name: "credential", run: targets::credential::run, mutations: 40_000, words: targets::credential::WORDS },
    Target { name: "keys_file", run: targets::keys_file::run, mutations: 10_000, words: targets::keys_file::WORDS },
    Target { name: "jwks", run: targets::jwks::run, mutations: 30_000, words: targets::jwks::WORDS },
    Target { name: "query", run: targets::query::run, mutations: 40_000, words: targets::query::WORDS },
    Target { name: "key_header", run: targets::key_header::run, mutations: 60_000, words: targets::key_header::WORDS },
    Target { name: "header_lines", run: targets::header_lines::run, mutations: 40_000, words: &[] },
    Target { name: "traceparent", run: targets::traceparent::run, mutations: 60_000, words: targets::traceparent::WORDS },
    Target { name: "proxy", run: targets::proxy::run, mutations: 10_000, words: targets::proxy::WORDS },
    Target { name: "multipart", run: targets::multipart::run, mutations: 40_000, words: targets::multipart::WORDS },
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
