//! What clients mean, and what becomes of each attempt.

use nevertwice_api::{Answer, Failure, Level, Reading, Request};
use nevertwice_core::model::Step;
use nevertwice_core::{Query, ShardId};
use tokio::task::AbortHandle;

use crate::http::{Http, Reply, Told};

/// What is asked, and of whom.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// A command, put before the backend.
    Command(Request),
    /// A read, put before the backend.
    Read(ShardId, Query, Option<Level>),
    /// A request of the HTTP API.
    Http(Http),
}

/// What one client means once.
pub(crate) struct Intent {
    pub(crate) ask: Ask,
    /// What the lines of the trace call it.
    pub(crate) name: String,
    /// When it is given up.
    pub(crate) expires_at: Option<i64>,
    /// The step of the workload that it comes from.
    pub(crate) step: Option<Step>,
    /// What it is for the people at the desk.
    pub(crate) errand: Option<super::desk::Errand>,
    /// How often it was sent.
    pub(crate) attempts: u32,
    /// Whether it has been refused, and asks once more after its end, to be sure.
    pub(crate) is_last_try: bool,
    /// Whether its client knows enough.
    pub(crate) is_done: bool,
    /// What its client heard, in order.
    pub(crate) told: Vec<Told>,
}

impl Intent {
    pub(crate) const fn new(ask: Ask, name: String) -> Self {
        Self { ask, name, expires_at: None, step: None, errand: None, attempts: 0, is_last_try: false, is_done: false, told: Vec::new() }
    }

    /// Whether it only looks.
    pub(crate) const fn is_read(&self) -> bool {
        match &self.ask {
            Ask::Command(_) => false,
            Ask::Read(..) => true,
            Ask::Http(http) => http.body.is_none(),
        }
    }
}

/// What the process made of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Command(Result<Answer, Failure>),
    Read(Result<Reading, Failure>),
    Http(Reply),
    /// Nobody was there.
    Unreachable,
}

/// A request on its way, and its reply.
pub(crate) struct Visit {
    /// For what: several in a batch.
    pub(crate) intents: Vec<usize>,
    /// The batch as it is sent.
    pub(crate) batch: Option<Http>,
    /// Its work in the process.
    pub(crate) task: Option<AbortHandle>,
    pub(crate) outcome: Option<Outcome>,
}
