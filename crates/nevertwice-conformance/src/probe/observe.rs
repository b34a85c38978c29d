//! Looks at what has happened to an echo endpoint.

use std::time::Duration;

use hyper::Method;
use tokio::time::{Instant, sleep};

use super::{Failed, Probe};
use crate::control::State;
use crate::http::{ANSWER_TIME, Ask};

/// How long it waits before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

impl Probe {
    /// What has happened to the endpoint.
    pub(crate) async fn state(&self) -> Result<State, Failed> {
        let answer = self.command(&Ask::new(Method::GET, format!("/control/{}", self.name)), 200).await?;
        serde_json::from_slice(&answer.body).map_err(|error| Failed::new(format!("{answer}: {error}"), "runs, waiting and body_bytes"))
    }

    /// Looks until the endpoint is as it should be.
    pub(crate) async fn wait_until(&self, is_so: impl Fn(&State) -> bool, expected: &str) -> Result<State, Failed> {
        let end = Instant::now() + ANSWER_TIME;
        loop {
            let state = self.state().await?;
            if is_so(&state) {
                return Ok(state);
            }
            if Instant::now() >= end {
                return Err(Failed::new(format!("the endpoint ran {} times, and {} wait", state.runs, state.waiting), expected));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until one run stands at the gate.
    pub(crate) async fn wait_at_gate(&self) -> Result<(), Failed> {
        self.wait_until(|state| state.waiting > 0, "one run that waits at the gate").await.map(|_| ())
    }

    /// Whether the effect happened so often.
    pub(crate) async fn check_runs(&self, runs: u64) -> Result<(), Failed> {
        let state = self.state().await?;
        if state.runs == runs {
            return Ok(());
        }
        Err(Failed::new(format!("the effect happened {}", times(state.runs)), times(runs)))
    }
}

fn times(count: u64) -> String {
    match count {
        0 => "not at all".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}
